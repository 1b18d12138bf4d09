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


@prism.device
@requires(thread[1])
@template(P=dtype)
def add_pairs(a: P @ thread[1], b: P @ thread[1]) -> P @ thread[1]:
    """Both sums."""
    return P(a.first + b.first, a.second + b.second)


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
