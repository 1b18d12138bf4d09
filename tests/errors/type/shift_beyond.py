import prism
from prism.lang import int32, int64, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1]) -> int64 @ thread[1]:
    return n << 40  # error: type
