import prism
from prism.lang import int32, requires, thread


@prism.device
@requires(thread[1])
def case(n: int32 @ thread[1]) -> int32 @ thread[1]:
    total: int32 = n
    for a in (1, 2, 4, 80000000, 16000000000 // 1000, 32, 64):  # error: syntax
        for b in [-1, 0, 1]:  # error: syntax
            for c in (0.5, 0.25):  # error: syntax
                total += a * b * int32(8 * c)
    return total
