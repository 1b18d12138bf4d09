"""What a row, or a part of one, comes to where that is more than one number."""

from prism.lang import constexpr, dtype, float32, float64, fma, prism, requires, struct, template, thread, warp
from prism.lib.thread import operators


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
class Moments:
    """How many elements there are, their sum, and the sum of the squares of what they are off their mean."""

    count: float32
    total: float32
    squares: float32


@struct
class WideMoments:
    """The same of float64."""

    count: float64
    total: float64
    squares: float64


@struct
class Weighed:
    """How many elements there are, their sum, and the sum of the weighed gradients of as many."""

    count: float32
    total: float32
    weighed: float32


@struct
class WideWeighed:
    """The same of float64."""

    count: float64
    total: float64
    weighed: float64


@struct
class Slopes:
    """`Weighed`, with sums of squares and of products with weighed gradients of what elements are off their mean."""

    count: float32
    total: float32
    weighed: float32
    squares: float32
    products: float32


@struct
class WideSlopes:
    """The same of float64."""

    count: float64
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
@template(S=dtype)
def add_weighed(a: S @ thread[1], b: S @ thread[1]) -> S @ thread[1]:
    """What two parts' `Weighed` are together."""
    return S(a.count + b.count, a.total + b.total, a.weighed + b.weighed)


@prism.device
@requires(thread[1])
@template(F=dtype)
def add_moments(a: F @ thread[1], b: F @ thread[1]) -> F @ thread[1]:
    """All sums of `Moments`."""
    return F(a.count + b.count, a.total + b.total, a.squares + b.squares)


@prism.device
@requires(thread[1])
@template(F=dtype)
def add_slopes(a: F @ thread[1], b: F @ thread[1]) -> F @ thread[1]:
    """All sums of `Slopes`."""
    return F(
        a.count + b.count, a.total + b.total, a.weighed + b.weighed, a.squares + b.squares, a.products + b.products,
    )


@prism.device
@requires(thread[1])
@template(A=dtype)
def median(a: A @ thread[1], b: A @ thread[1], c: A @ thread[1]) -> A @ thread[1]:
    """The middle one of three numbers."""
    return max(min(a, b), min(max(a, b), c))


@prism.device
@requires(thread[32])
@template(S=dtype, F=dtype, N=constexpr(int))
def join_moments(a: S @ thread[1], parts: F[N] @ thread[1]) -> F @ thread[1]:
    """The `Moments` of a whole from those of its parts.

    Perspective: warp, of which each lane has `N` of the parts; of those that have no elements it has zeros.
    """
    found: F @ thread[1] = F(0, 0, 0)
    for k in range(N):
        found = F(found.count + parts[k].count, found.total + parts[k].total, 0)
    found.count = warp.reduce_near(found.count, 5, OP=operators.add)
    found.total = warp.reduce_near(found.total, 5, OP=operators.add)
    mean: F @ thread[1] = F(1, found.total / max(found.count, 1), 0)
    for k in range(N):
        off: F @ thread[1] = F(parts[k].count, parts[k].total - parts[k].count * mean.total, 0)
        found.squares = found.squares + parts[k].squares + off.total * off.total / max(off.count, 1)
    found.squares = warp.reduce_near(found.squares, 5, OP=operators.add)
    return found


@prism.device
@requires(thread[32])
@template(S=dtype, F=dtype, N=constexpr(int))
def join_slopes(a: S @ thread[1], parts: F[N] @ thread[1]) -> F @ thread[1]:
    """The `Slopes` of a whole from those of its parts: see `join_moments`."""
    found: F @ thread[1] = F(0, 0, 0, 0, 0)
    for k in range(N):
        found.count = found.count + parts[k].count
        found.total = found.total + parts[k].total
        found.weighed = found.weighed + parts[k].weighed
    found.count = warp.reduce_near(found.count, 5, OP=operators.add)
    found.total = warp.reduce_near(found.total, 5, OP=operators.add)
    found.weighed = warp.reduce_near(found.weighed, 5, OP=operators.add)
    mean: F @ thread[1] = F(1, found.total / max(found.count, 1), 0, 0, 0)
    for k in range(N):
        off: F @ thread[1] = F(parts[k].count, parts[k].total - parts[k].count * mean.total, 0, 0, 0)
        each: F @ thread[1] = F(1, off.total / max(off.count, 1), 0, 0, 0)
        found.squares = found.squares + parts[k].squares + off.total * each.total
        found.products = found.products + parts[k].products + parts[k].weighed * each.total
    found.squares = warp.reduce_near(found.squares, 5, OP=operators.add)
    found.products = warp.reduce_near(found.products, 5, OP=operators.add)
    return found
