"""The usual operators, thread by thread: what `prism.lib` and kernels pass as `OP`; and the usual comparisons.

Each is a function of its two arguments alone, so that its result lives at the perspective that both share. Those up to
`bitwise_xor` are associative.
"""

from prism.lang import (
    bitcast, complex64, complex128, dtype, float32, int32, int64, is_nan, prism, requires, template, thread, uint32, uint64,
    wrapping_add, wrapping_multiply, wrapping_subtract,
)


@prism.device
@requires(thread[1])
@template(T=dtype)
def add(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """`a + b`; integers wrap."""
    if T == complex64 or T == complex128:
        return T(a.real + b.real, a.imag + b.imag)
    else:
        return wrapping_add(a, b)


@prism.device
@requires(thread[1])
@template(T=dtype)
def multiply(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """`a * b`; integers wrap."""
    if T == complex64 or T == complex128:
        return T(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)
    else:
        return wrapping_multiply(a, b)


@prism.device
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


@prism.device
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


@prism.device
@requires(thread[1])
@template(T=dtype)
def bitwise_and(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The bits that are set in both."""
    return a & b


@prism.device
@requires(thread[1])
@template(T=dtype)
def bitwise_or(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The bits that are set in either."""
    return a | b


@prism.device
@requires(thread[1])
@template(T=dtype)
def bitwise_xor(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The bits that are set in one of the two."""
    return a ^ b


@prism.device
@requires(thread[1])
@template(T=dtype)
def subtract(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """`a - b`; integers wrap. For differences: it is not associative."""
    if T == complex64 or T == complex128:
        return T(a.real - b.real, a.imag - b.imag)
    else:
        return wrapping_subtract(a, b)


@prism.device
@requires(thread[1])
@template(T=dtype)
def less(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` stands before `b` in ascending order; NaN stands last."""
    return a < b or (a == a and b != b)


@prism.device
@requires(thread[1])
@template(T=dtype)
def greater(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` stands before `b` in descending order; NaN stands last."""
    return a > b or (a == a and b != b)


@prism.device
@requires(thread[1])
@template(T=dtype)
def not_equal(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """`a != b`: NaN differs from itself."""
    return a != b


@prism.device
@requires(thread[1])
@template(T=dtype)
def lower(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is less than `b`, or NaN where `b` is not: what `argmin` looks for."""
    return a < b or (a != a and b == b)


@prism.device
@requires(thread[1])
@template(T=dtype)
def higher(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether `a` is greater than `b`, or NaN where `b` is not: what `argmax` looks for."""
    return a > b or (a != a and b == b)


@prism.device
@requires(thread[1])
def bits_of_int32(a: int32 @ thread[1]) -> uint32 @ thread[1]:
    """An unsigned integer that is ordered as `a` is: what a radix sort takes as `KEY`."""
    return bitcast(a, uint32) ^ uint32(0x80000000)


@prism.device
@requires(thread[1])
def bits_of_uint32(a: uint32 @ thread[1]) -> uint32 @ thread[1]:
    """`a` itself: what a radix sort takes as `KEY`."""
    return a


@prism.device
@requires(thread[1])
def bits_of_float32(a: float32 @ thread[1]) -> uint32 @ thread[1]:
    """An unsigned integer that is ordered as `a` is, -0 below 0: what a radix sort takes as `KEY`."""
    bits: uint32 = bitcast(a, uint32)
    return bits ^ uint32(0xFFFFFFFF) if bits >> 31 != 0 else bits ^ uint32(0x80000000)


@prism.device
@requires(thread[1])
def shuffle_position(
    at: int64 @ thread[1], n: int64 @ thread[1], half: int64 @ thread[1], seed: int64 @ thread[1]
) -> int64 @ thread[1]:
    """Where position `at` below `n` goes in an order that follows from `seed`; `n` is at most 2 to the `2 * half`.

    Numerics:    a Feistel network of eight rounds on `2 * half` bits, applied until it gives a number below `n`.
    """
    mask: uint64 = (uint64(1) << uint64(half)) - 1
    place: uint64 = uint64(at)
    outside: bool = True
    while outside:
        left: uint64 = place >> uint64(half)
        right: uint64 = place & mask
        for turn in range(8):
            mixed: uint64 = (right + uint64(seed) + uint64(turn + 1) * 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
            mixed = (mixed ^ mixed >> 29) * 0x94D049BB133111EB
            other: uint64 = left ^ ((mixed ^ mixed >> 32) & mask)
            left = right
            right = other
        place = left << uint64(half) | right
        outside = place >= uint64(n)
    return int64(place)
