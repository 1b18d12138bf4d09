import prism
from prism.lang import id, int32, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int32 @ thread[32]) -> int32 @ thread[1]:
    lane: int32 @ thread[1] = id(0)  # error: id
    return lane + n
