"""What a row, or a part of one, comes to where that is more than one number."""

from prism.lang import constexpr, dtype, float32, float64, grid, prism, requires, struct, template, thread, warp
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
@requires(thread[32])
@template(F=dtype, D=dtype, N=constexpr(int))
def join_moments(parts: F[N] @ thread[1], share: D @ grid[1]) -> F @ thread[1]:
    """The `Moments` of a row of `1 / share` elements from those of its parts.

    Perspective: warp, of which each lane has `N` of the parts; of those that have no elements it has zeros.
    """
    sum: D @ thread[1] = 0
    for k in range(N):
        sum = sum + parts[k].total
    sum = warp.reduce_near(sum, 5, OP=operators.add)
    mean: D @ thread[1] = sum * share
    squares: D @ thread[1] = 0
    for k in range(N):
        off: D @ thread[1] = parts[k].total - parts[k].count * mean
        squares = squares + parts[k].squares + off * off / max(parts[k].count, D(1))
    return F(1 / share, sum, warp.reduce_near(squares, 5, OP=operators.add))


@prism.device
@requires(thread[32])
@template(F=dtype, D=dtype, N=constexpr(int))
def join_slopes(parts: F[N] @ thread[1], share: D @ grid[1]) -> F @ thread[1]:
    """The `Slopes` of a row of `1 / share` elements from those of its parts: see `join_moments`."""
    sum: D @ thread[1] = 0
    weighed: D @ thread[1] = 0
    for k in range(N):
        sum = sum + parts[k].total
        weighed = weighed + parts[k].weighed
    sum = warp.reduce_near(sum, 5, OP=operators.add)
    mean: D @ thread[1] = sum * share
    squares: D @ thread[1] = 0
    products: D @ thread[1] = 0
    for k in range(N):
        off: D @ thread[1] = parts[k].total - parts[k].count * mean
        each: D @ thread[1] = off / max(parts[k].count, D(1))
        squares = squares + parts[k].squares + off * each
        products = products + parts[k].products + parts[k].weighed * each
    return F(
        1 / share, sum, warp.reduce_near(weighed, 5, OP=operators.add), warp.reduce_near(squares, 5, OP=operators.add),
        warp.reduce_near(products, 5, OP=operators.add),
    )
