"""Activations and what else is often done to a result: functions of numbers, as `prism.lib.epilogues` has them.

All are of float32, within a few units of its last place where nothing else is said.
"""

from prism.lang import (
    fast_divide, fast_exp2_flush, fast_tanh, float32, int32, prism, requires, thread, uint32, uint64, wrapping_add,
    wrapping_multiply,
)


@prism.device
@requires(thread[1])
def relu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The larger of x and 0."""
    return max(x, 0.0)


@prism.device
@requires(thread[1])
def relu_squared(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The square of x where that is above 0, else 0."""
    y: float32 = max(x, 0.0)
    return y * y


@prism.device
@requires(thread[1])
def clamp(x: float32 @ thread[1], low: float32 @ thread[1], high: float32 @ thread[1]) -> float32 @ thread[1]:
    """The nearest to x of what is between `low` and `high`."""
    return min(max(x, low), high)


@prism.device
@requires(thread[1])
def sigmoid(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """1 / (1 + e^-x)."""
    return fast_divide(1.0, 1.0 + fast_exp2_flush(-1.4426950408889634 * x))


@prism.device
@requires(thread[1])
def silu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """x / (1 + e^-x): SiLU, or swish."""
    return fast_divide(x, 1.0 + fast_exp2_flush(-1.4426950408889634 * x))


@prism.device
@requires(thread[1])
def log_odds(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The logarithm to base 2 of the odds that a number of the normal distribution is above x.

    It is x times a polynomial of x^2, up to 6, where the odds are 10^-9; beyond it grows on.
    """
    t: float32 = x * x
    u: float32 = 1.8117837940578536e-07 + -1.6768277771899648e-09 * t
    u = -7.2967220809002906e-06 + u * t
    u = 0.00012309367026073652 + u * t
    u = 0.00023392080622725727 + u * t
    u = -0.10504679285137317 + u * t
    u = -2.3021182744827833 + u * t
    return x * u


@prism.device
@requires(thread[1])
def gelu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """x times the normal distribution's share below x: GELU, off by at most 2^-19, and up to 6 by 2^-6 of itself.

    By `log_odds`: the error function takes twice as many instructions.
    """
    return fast_divide(x, 1.0 + fast_exp2_flush(log_odds(x)))


@prism.device
@requires(thread[1])
def gelu_tanh(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """GELU by tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), as `approximate="tanh"` of torch's."""
    return fast_divide(x, 1.0 + fast_exp2_flush(x * (-2.302208198144325 - 0.10294323 * (x * x))))


@prism.device
@requires(thread[1])
def silu_fast(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """As `silu`, off by at most 2^-12 of x: by one instruction for tanh."""
    half: float32 = 0.5 * x
    return half + half * fast_tanh(half)


@prism.device
@requires(thread[1])
def gelu_fast(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """As `gelu_tanh`, off by at most 2^-12 of x: by one instruction for tanh."""
    half: float32 = 0.5 * x
    return half + half * fast_tanh(x * (0.7978845608028654 + 0.035677408136300125 * (x * x)))


@prism.device
@requires(thread[1])
def swiglu(gate: float32 @ thread[1], up: float32 @ thread[1]) -> float32 @ thread[1]:
    """`silu(gate) * up`, of the sums of two products."""
    return silu(gate) * up


@prism.device
@requires(thread[1])
def geglu(gate: float32 @ thread[1], up: float32 @ thread[1]) -> float32 @ thread[1]:
    """`gelu(gate) * up`, of the sums of two products."""
    return gelu(gate) * up


@prism.device
@requires(thread[1])
def random_bits(row: int32 @ thread[1], column: int32 @ thread[1], seed: int32 @ thread[1]) -> uint32 @ thread[1]:
    """32 bits that follow from an element's place and a seed: the same on every machine. SplitMix64, of the two and the seed."""
    z: uint64 = wrapping_add(uint64(row) * uint64(4294967296), uint64(uint32(column)))
    z = wrapping_add(z, wrapping_multiply(wrapping_add(uint64(uint32(seed)), uint64(1)), uint64(11400714819323198485)))
    z = wrapping_multiply(z ^ (z >> 30), uint64(13787848793156543929))
    z = wrapping_multiply(z ^ (z >> 27), uint64(10723151780598845931))
    return uint32((z ^ (z >> 31)) >> 32)


@prism.device
@requires(thread[1])
def dropout(
    x: float32 @ thread[1], row: int32 @ thread[1], column: int32 @ thread[1], share: float32 @ thread[1],
    seed: int32 @ thread[1],
) -> float32 @ thread[1]:  # fmt: skip
    """0 for a `share` of the elements, which follows from their place and the seed; the others divided by 1 - `share`."""
    return x / (1.0 - share) if float32(random_bits(row, column, seed) >> 8) >= share * 16777216.0 else 0.0
