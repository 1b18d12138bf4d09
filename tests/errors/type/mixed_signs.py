import prism
from prism.lang import int32, int64, requires, thread, uint8, uint32, uint64


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1], u: uint32 @ thread[1], w: uint64 @ thread[1], b: uint8 @ thread[1]) -> int64 @ thread[1]:
    left: int64 = n - u  # error: type
    right: int64 = w - (n + 1)  # error: type
    if n < u:  # error: type
        return 0
    return n % u + n - b  # error: type
