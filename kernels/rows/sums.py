"""What a row, or a part of one, comes to where that is more than one number."""

from prism.lang import dtype, float32, float64, prism, requires, struct, template, thread


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
