"""The usual operators, thread by thread: what `prism.lib` and kernels pass as `OP`; and the usual comparisons.

Each is a function of its two arguments alone, so that its result lives at the perspective that both share. Those up to
`bitwise_xor` are associative.
"""

from prism.lang import (
    bitcast, complex64, complex128, dtype, float32, int32, is_nan, prism, requires, template, thread, uint32, wrapping_add,
    wrapping_multiply, wrapping_subtract,
)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def add(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """`a + b`; integers wrap."""
    if T == complex64 or T == complex128:
        return T(a.real + b.real, a.imag + b.imag)
    else:
        return wrapping_add(a, b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def multiply(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """`a * b`; integers wrap."""
    if T == complex64 or T == complex128:
        return T(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)
    else:
        return wrapping_multiply(a, b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def minimum(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The smaller of the two; NaN if either is, of two the first. Complex: by real parts, then by imaginary ones."""
    if T == complex64 or T == complex128:
        numbers: bool = not is_nan(a.imag) and not is_nan(b.imag)
        wins: bool = (a.real < b.real and numbers) or (a.real == b.real and a.imag <= b.imag)
        return a if is_nan(a.real) or is_nan(a.imag) or wins else b
    else:
        return min(a, b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def maximum(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The larger of the two; NaN if either is, of two the first. Complex: by real parts, then by imaginary ones."""
    if T == complex64 or T == complex128:
        numbers: bool = not is_nan(a.imag) and not is_nan(b.imag)
        wins: bool = (a.real > b.real and numbers) or (a.real == b.real and a.imag >= b.imag)
        return a if is_nan(a.real) or is_nan(a.imag) or wins else b
    else:
        return max(a, b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def bitwise_and(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The bits that are set in both."""
    return a & b


@prism("device")
@requires(thread[1])
@template(T=dtype)
def bitwise_or(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The bits that are set in either."""
    return a | b


@prism("device")
@requires(thread[1])
@template(T=dtype)
def bitwise_xor(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The bits that are set in one of the two."""
    return a ^ b


@prism("device")
@requires(thread[1])
@template(T=dtype)
def subtract(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """`a - b`; integers wrap. For differences: it is not associative."""
    if T == complex64 or T == complex128:
        return T(a.real - b.real, a.imag - b.imag)
    else:
        return wrapping_subtract(a, b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def less(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` stands before `b` in ascending order; NaN stands last."""
    return a < b or (a == a and b != b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def greater(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` stands before `b` in descending order; NaN stands last."""
    return a > b or (a == a and b != b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def not_equal(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """`a != b`: NaN differs from itself."""
    return a != b


@prism("device")
@requires(thread[1])
@template(T=dtype)
def lower(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is less than `b`, or NaN where `b` is not: what `argmin` looks for."""
    return a < b or (a != a and b == b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def higher(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is greater than `b`, or NaN where `b` is not: what `argmax` looks for."""
    return a > b or (a != a and b == b)


@prism("device")
@requires(thread[1])
def bits_of_int32(a: int32 @ thread[1]) -> uint32 @ thread[1]:
    """An unsigned integer that is ordered as `a` is: what a radix sort takes as `KEY`."""
    return bitcast(a, uint32) ^ uint32(0x80000000)


@prism("device")
@requires(thread[1])
def bits_of_uint32(a: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """`a` itself: what a radix sort takes as `KEY`."""
    return a


@prism("device")
@requires(thread[1])
def bits_of_float32(a: float32 @ thread[1]) -> uint32 @ thread[1]:
    """An unsigned integer that is ordered as `a` is, -0 below 0: what a radix sort takes as `KEY`."""
    bits: uint32 = bitcast(a, uint32)
    return bits ^ uint32(0xFFFFFFFF) if bits >> 31 != 0 else bits ^ uint32(0x80000000)
