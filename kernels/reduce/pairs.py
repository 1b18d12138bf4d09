"""Elements with their positions, as structs of a value `f0` and an int64 `f1`: the better of two, and where it is."""

from prism.lang import dtype, int64, prism, requires, template, thread
from prism.lib.thread.operators import higher, lower


@prism.device
@requires(thread[1])
@template(T=dtype)
def larger_or_first(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The one with the larger value, NaN being the largest; of equal ones that of the lower position. One may have none, -1."""
    if b.f1 < 0 or (a.f1 >= 0 and (higher(a.f0, b.f0) or (not higher(b.f0, a.f0) and a.f1 < b.f1))):
        return a
    return b


@prism.device
@requires(thread[1])
@template(T=dtype)
def smaller_or_first(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The one with the smaller value, NaN being the smallest; of equal ones that of the lower position. One may have none, -1."""
    if b.f1 < 0 or (a.f1 >= 0 and (lower(a.f0, b.f0) or (not lower(b.f0, a.f0) and a.f1 < b.f1))):
        return a
    return b


@prism.device
@requires(thread[1])
@template(T=dtype)
def position_of(x: T @ thread[1]) -> int64 @ thread[1]:
    """The position."""
    return x.f1
