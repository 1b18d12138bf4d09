"""A warp passes a value round."""

from prism.lang import dtype, id, int32, prism, requires, shuffle, template, thread


@prism("device")
@requires(thread[32])
@template(T=dtype)
def rotate(value: T @ thread[1], distance: int32 @ thread[32]) -> T @ thread[1]:
    """The value of the lane `distance` further on, round the warp's end; a negative `distance` is one further back.

    Perspective: warp.
    Cost:        one shuffle; no barrier.
    Source:      PTX ISA, `shfl.sync`.
    Test:        tests/lib/warp/test_shift.py
    """
    lane: int32 @ thread[1] = id()
    return shuffle(value, (lane + distance) & 31)
