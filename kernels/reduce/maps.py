"""What a reduction makes of an element before it combines it: what kernels pass as `MAP`."""

from prism.lang import complex64, complex128, dtype, prism, requires, template, thread


@prism("device")
@requires(thread[1])
@template(T=dtype, TI=dtype)
def same(x: TI @ thread[1]) -> T @ thread[1]:
    """The element itself, converted to `T`."""
    return T(x)


@prism("device")
@requires(thread[1])
@template(T=dtype, TI=dtype)
def nonzero(x: TI @ thread[1]) -> T @ thread[1]:
    """1 where the element is not zero (so for NaN), else 0."""
    if TI == complex64 or TI == complex128:
        return T(1) if x.real != 0 or x.imag != 0 else T(0)
    else:
        return T(1) if x != 0 else T(0)
