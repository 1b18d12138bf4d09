"""The usual associative operators, thread by thread: what `prism.lib` and kernels pass as `OP`.

Each is a function of its two arguments alone, so that its result lives at the perspective that both share.
"""

from prism.lang import dtype, prism, requires, template, thread


@prism("device")
@requires(thread[1])
@template(T=dtype)
def add(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """`a + b`; integers wrap."""
    return a + b


@prism("device")
@requires(thread[1])
@template(T=dtype)
def multiply(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """`a * b`; integers wrap."""
    return a * b


@prism("device")
@requires(thread[1])
@template(T=dtype)
def minimum(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The smaller of the two; NaN if either is."""
    return min(a, b)


@prism("device")
@requires(thread[1])
@template(T=dtype)
def maximum(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The larger of the two; NaN if either is."""
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
