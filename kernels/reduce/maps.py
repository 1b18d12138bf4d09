"""What a reduction makes of an element before it combines it: what kernels pass as `MAP`."""

from prism.lang import dtype, prism, requires, template, thread


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
    return T(1) if x != 0 else T(0)
