"""Which elements of a sorted row a quantile lies between, where only the GPU knows how many there are; as NumPy computes it."""

from prism.lang import dtype, float64, floor, fma, int32, int64, prism, requires, round_, template, thread

LINEAR, SHIFTED, AVERAGED, INVERTED, CLOSEST, LOWER, HIGHER, MIDPOINT, NEAREST, MEDIAN = range(10)
"""How a quantile is defined. `SHIFTED`: by two numbers, `alpha` and `beta`; the others as NumPy names them."""


@prism.device
@requires(thread[1])
@template(Q=dtype)
def ranks_of(
    count: int64 @ thread[1], share: float64 @ thread[1], alpha: float64 @ thread[1], beta: float64 @ thread[1],
    method: int32 @ thread[1],
) -> (int64, int64, float64) @ thread[1]:
    """The ranks of the elements that quantile `share` of `count` lies between, and how far it is from the first one to the other.

    Numerics:    as NumPy, in the type `Q`, which it has of `share`; products are rounded by themselves.
    """
    if count <= 0:
        return int64(0), int64(0), float64(0)
    if method == MEDIAN:
        return (count - 1) // 2, count // 2, float64(0.5)
    n: Q = Q(float64(count))
    q: Q = Q(share)
    most: Q = Q(float64(count - 1))
    at: Q = fma(most, q, Q(0))
    if method == SHIFTED:
        at = fma(n, q, Q(0)) + (Q(alpha) + fma(q, Q(1 - alpha - beta), Q(0))) - Q(1)
    if method == AVERAGED or method == INVERTED:
        at = fma(n, q, Q(0)) - Q(1)
    if method == CLOSEST:
        at = fma(n, q, Q(0)) - Q(1) - Q(0.5)
    below: Q = floor(at)
    rest: Q = at - below
    if method == MIDPOINT:
        at = below + (Q(0.5) if rest > Q(0) else Q(0))
    weight: Q = at - below
    if method == AVERAGED:
        weight = Q(0.5) if rest == Q(0) else Q(1)
    one: bool = method == INVERTED or method == CLOSEST or method == LOWER or method == HIGHER or method == NEAREST
    whole: int64 = int64(round_(at) if method == NEAREST else below)
    if method == INVERTED or method == HIGHER:
        whole = whole + (0 if rest == Q(0) else 1)
    if method == CLOSEST:
        whole = whole + (0 if rest == Q(0) and (whole & 1) == 1 else 1)
    low: int64 = min(max(whole, 0), count - 1)
    high: int64 = low if one else min(max(whole + 1, 0), count - 1)
    if at >= most:
        low = count - 1
        high = count - 1
    if at < Q(0):
        low = 0
        high = 0
    return low, high, float64(weight)


__all__ = [
    "AVERAGED", "CLOSEST", "HIGHER", "INVERTED", "LINEAR", "LOWER", "MEDIAN", "MIDPOINT", "NEAREST", "SHIFTED", "ranks_of",
]
