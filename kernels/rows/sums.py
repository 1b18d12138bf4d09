"""What a row, or a part of one, comes to where that is more than one number."""

from prism.lang import (
    const, constexpr, dtype, float32, float64, fma, grid, int32, int64, prism, ptr, requires, shuffle, shuffle_xor, struct,
    template, thread,
)


@struct
class Pair:
    """Two sums, or the largest element and a sum."""

    first: float32
    second: float32


@struct
class WidePair:
    """The same of float64."""

    first: float64
    second: float64


@struct
class Three:
    """Three elements of a row."""

    first: float32
    second: float32
    third: float32


@struct
class Slopes:
    """Of a part of a row: sums of elements, of weighed gradients, of elements' squares, and of products of both; or means."""

    total: float32
    weighed: float32
    squares: float32
    products: float32


@struct
class WideSlopes:
    """The same of float64."""

    total: float64
    weighed: float64
    squares: float64
    products: float64


@prism.device
@requires(thread[1])
@template(A=dtype, CENTRED=constexpr(bool), SHORT=constexpr(bool))
def normal(value: A @ thread[1], mean: A @ thread[1], scale: A @ thread[1]) -> A @ thread[1]:
    """What an element is off the mean, times `scale`; of an element of 16 bits (`SHORT`) by one instruction.

    That is off by half a bit of `mean * scale` then, which numbers of 16 bits are off by far more.
    """
    if CENTRED and SHORT:
        return fma(value, scale, -(mean * scale))
    else:
        return ((value - mean) if CENTRED else value) * scale


@prism.device
@requires(thread[1])
@template(P=dtype)
def add_pairs(a: P @ thread[1], b: P @ thread[1]) -> P @ thread[1]:
    """Both sums."""
    return P(a.first + b.first, a.second + b.second)


@prism.device
@requires(thread[1])
@template(F=dtype)
def add_slopes(a: F @ thread[1], b: F @ thread[1]) -> F @ thread[1]:
    """All four sums."""
    return F(a.total + b.total, a.weighed + b.weighed, a.squares + b.squares, a.products + b.products)


@prism.device
@requires(thread[32])
@template(D=dtype, F=dtype)
def spread_slopes(slopes: F @ thread[1], lane: int32 @ thread[1]) -> D @ thread[1]:
    """One of the four sums, number `lane % 4`, added up over each 4 lanes of a warp that follow one another."""
    odd: bool @ thread[1] = lane % 2 == 1
    upper: bool @ thread[1] = lane % 4 >= 2
    low: D @ thread[1] = slopes.total if odd else slopes.weighed
    high: D @ thread[1] = slopes.squares if odd else slopes.products
    low = (slopes.weighed if odd else slopes.total) + shuffle_xor(low, 1)
    high = (slopes.products if odd else slopes.squares) + shuffle_xor(high, 1)
    other: D @ thread[1] = low if upper else high
    return (high if upper else low) + shuffle_xor(other, 2)


@prism.device
@requires(thread[32])
@template(D=dtype, F=dtype)
def gather_slopes(own: D @ thread[1]) -> F @ thread[1]:
    """The four sums that the first lanes of a warp have one each of, for all lanes."""
    return F(shuffle(own, 0), shuffle(own, 1), shuffle(own, 2), shuffle(own, 3))


@prism.device
@requires(thread[1])
@template(T=dtype, G=dtype, CENTRED=constexpr(bool), MORE=constexpr(bool))
def guess_mean(
    x: ptr(const(T)) @ grid[1], at: int64 @ thread[1], other: ptr(const(T)) @ grid[1], behind: int64 @ thread[1],
    n: int32 @ grid[1],
) -> G @ thread[1]:
    """The first element of the row at `x[at]`, as it is, so that nobody waits for it yet; `Three` elements of 4 bytes or more.

    `MORE`: of the sums with the row at `other[behind]`, rounded. Where not `CENTRED`, nothing is asked: zeros.

    Numerics: where the guess is off by so many deviations, sums of squares off it lose the square of that of their bits: at most
              `n`, where one element is far from all others. Numbers of 16 bits have none of them. Of three `middle` is not that.
    """
    if not CENTRED:
        return G(T(0), T(0), T(0)) if T.bytes > 2 else T(0)
    else:
        some: T[3]
        for k in range(3 if T.bytes > 2 else 1):
            place: int64 = int64(k) * (n - 1) // 2
            some[k] = x[at + place]
            if MORE:
                some[k] = T(float32(some[k]) + float32(other[behind + place])) if T.bytes < 8 else some[k] + other[behind + place]
        if T.bytes > 2:
            return G(some[0], some[1], some[2])
        else:
            return some[0]


@prism.device
@requires(thread[1])
@template(G=dtype, A=dtype, ONE=constexpr(bool))
def middle(guessed: G @ thread[1]) -> A @ thread[1]:
    """The middle one of three numbers; of `ONE`, that."""
    if ONE:
        return A(guessed)
    else:
        a: A = A(guessed.first)
        b: A = A(guessed.second)
        return max(min(a, b), min(max(a, b), A(guessed.third)))
