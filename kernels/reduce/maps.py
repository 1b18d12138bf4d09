"""What a reduction makes of an element before it combines it: what kernels pass as `MAP`. And two extremes at once."""

from prism.lang import complex64, complex128, dtype, prism, requires, template, thread, uint16


@prism.device
@requires(thread[1])
@template(T=dtype, TI=dtype)
def same(x: TI @ thread[1]) -> T @ thread[1]:
    """The element itself, converted to `T`."""
    return T(x)


@prism.device
@requires(thread[1])
@template(T=dtype, TI=dtype)
def nonzero(x: TI @ thread[1]) -> T @ thread[1]:
    """1 where the element is not zero (so for NaN), else 0."""
    if TI == complex64 or TI == complex128:
        return T(1) if x.real != 0 or x.imag != 0 else T(0)
    else:
        return T(1) if x != 0 else T(0)


@prism.device
@requires(thread[1])
@template(T=dtype)
def half_nonzero(x: uint16 @ thread[1]) -> T @ thread[1]:
    """As `nonzero`, of a float of 16 bits, whichever: all of its bits but the sign say so."""
    return T(1) if x & 32767 != 0 else T(0)


@prism.device
@requires(thread[1])
@template(T=dtype, TI=dtype)
def as_pair(x: TI @ thread[1]) -> T @ thread[1]:
    """The element as the smallest and the largest: a struct of the fields `f0` and `f1`."""
    return T(x, x)


@prism.device
@requires(thread[1])
@template(T=dtype, TI=dtype)
def truth_as_pair(x: TI @ thread[1]) -> T @ thread[1]:
    """As `as_pair`, of 1 where the element is not zero, else 0."""
    return T(1 if x != 0 else 0, 1 if x != 0 else 0)


@prism.device
@requires(thread[1])
@template(T=dtype)
def extremes(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The smaller of the two `f0`, and the larger of the two `f1`; NaN where either is."""
    return T(min(a.f0, b.f0), max(a.f1, b.f1))
