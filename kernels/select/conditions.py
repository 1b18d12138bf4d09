"""What is asked of elements: what kernels pass as `TEST`."""

from prism.lang import complex64, complex128, dtype, prism, requires, template, thread


@prism.device
@requires(thread[1])
@template(T=dtype)
def is_set(x: T @ thread[1]) -> bool @ thread[1]:
    """Whether an element is not zero; so it is of NaN."""
    if T == complex64 or T == complex128:
        return x.real != 0 or x.imag != 0
    else:
        return x != 0


@prism.device
@requires(thread[1])
@template(T=dtype)
def differs(x: T @ thread[1], before: T @ thread[1]) -> bool @ thread[1]:
    """Whether an element is not equal to the one before; so it is of NaN."""
    if T == complex64 or T == complex128:
        return x.real != before.real or x.imag != before.imag
    else:
        return x != before
