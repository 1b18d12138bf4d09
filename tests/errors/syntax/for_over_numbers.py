import prism
from prism.lang import int32, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1]) -> int32 @ thread[1]:
    total: int32 = n
    for a in (1, 2, 3):  # error: syntax
        total += a
    return total
