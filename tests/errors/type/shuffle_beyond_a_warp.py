import prism
from prism.lang import int32, requires, shuffle_down, shuffle_xor, thread


@prism("device")
@requires(thread[32])
def case(v: int32 @ thread[1]) -> int32 @ thread[1]:
    above: int32 @ thread[1] = shuffle_down(v, 40)  # error: type
    other: int32 @ thread[1] = shuffle_xor(v, -1)  # error: type
    return v
