"""Orders of elements that are not given one: of numbers with NaN last, of complex numbers NumPy's."""

from prism.lang import constexpr, dtype, prism, requires, template, thread
from prism.lib.thread import operators


@prism.device
@requires(thread[1])
@template(T=dtype, FALLING=constexpr(bool))
def stands_before(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether a complex number stands before another: by real and then by imaginary parts, those with NaN behind the others."""
    a_real: bool = a.real != a.real
    b_real: bool = b.real != b.real
    a_imag: bool = a.imag != a.imag
    b_imag: bool = b.imag != b.imag
    if a_real != b_real:
        return b_real
    if a_imag != b_imag:
        return b_imag
    if a.real < b.real or b.real < a.real:
        return a.real > b.real if FALLING else a.real < b.real
    return a.imag > b.imag if FALLING else a.imag < b.imag


@prism.device
@requires(thread[1])
@template(T=dtype)
def complex_less(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether a complex number stands before another, from the smallest on."""
    return stands_before(a, b, FALLING=False)


@prism.device
@requires(thread[1])
@template(T=dtype)
def complex_greater(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether a complex number stands before another, from the largest on; those with NaN are last all the same."""
    return stands_before(a, b, FALLING=True)


less, greater = operators.less, operators.greater

__all__ = ["complex_greater", "complex_less", "greater", "less"]
