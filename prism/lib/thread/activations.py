"""Activations and what else is often done to a result: functions of numbers, as `prism.lib.epilogues` has them.

All are of float32, within a few units of its last place where nothing else is said.
"""

from prism.lang import (
    erf, fast_divide, fast_exp, float32, int32, prism, requires, thread, uint32, uint64, wrapping_add, wrapping_multiply,
)


@prism("device")
@requires(thread[1])
def relu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The larger of x and 0."""
    return max(x, 0.0)


@prism("device")
@requires(thread[1])
def relu_squared(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """The square of x where that is above 0, else 0."""
    y: float32 = max(x, 0.0)
    return y * y


@prism("device")
@requires(thread[1])
def clamp(x: float32 @ thread[1], low: float32 @ thread[1], high: float32 @ thread[1]) -> float32 @ thread[1]:
    """The nearest to x of what is between `low` and `high`."""
    return min(max(x, low), high)


@prism("device")
@requires(thread[1])
def sigmoid(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """1 / (1 + e^-x)."""
    return fast_divide(1.0, 1.0 + fast_exp(-x))


@prism("device")
@requires(thread[1])
def silu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """x / (1 + e^-x): SiLU, or swish."""
    return fast_divide(x, 1.0 + fast_exp(-x))


@prism("device")
@requires(thread[1])
def gelu(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """x times the normal distribution's share below x: GELU, by the error function."""
    return 0.5 * x * (1.0 + erf(0.7071067811865476 * x))


@prism("device")
@requires(thread[1])
def gelu_tanh(x: float32 @ thread[1]) -> float32 @ thread[1]:
    """GELU by tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), as `approximate="tanh"` of torch's."""
    return fast_divide(x, 1.0 + fast_exp(x * (-1.5957691216057308 - 0.07135481282700278 * (x * x))))


@prism("device")
@requires(thread[1])
def swiglu(gate: float32 @ thread[1], up: float32 @ thread[1]) -> float32 @ thread[1]:
    """`silu(gate) * up`, of the sums of two products."""
    return fast_divide(gate * up, 1.0 + fast_exp(-gate))


@prism("device")
@requires(thread[1])
def geglu(gate: float32 @ thread[1], up: float32 @ thread[1]) -> float32 @ thread[1]:
    """`gelu(gate) * up`, of the sums of two products."""
    return 0.5 * gate * (1.0 + erf(0.7071067811865476 * gate)) * up


@prism("device")
@requires(thread[1])
def random_bits(row: int32 @ thread[1], column: int32 @ thread[1], seed: int32 @ thread[1]) -> uint32 @ thread[1]:
    """32 bits that follow from an element's place and a seed: the same on every machine. SplitMix64, of the two and the seed."""
    z: uint64 = wrapping_add(uint64(row) * uint64(4294967296), uint64(uint32(column)))
    z = wrapping_add(z, wrapping_multiply(wrapping_add(uint64(uint32(seed)), uint64(1)), uint64(11400714819323198485)))
    z = wrapping_multiply(z ^ (z >> 30), uint64(13787848793156543929))
    z = wrapping_multiply(z ^ (z >> 27), uint64(10723151780598845931))
    return uint32((z ^ (z >> 31)) >> 32)


@prism("device")
@requires(thread[1])
def dropout(
    x: float32 @ thread[1], row: int32 @ thread[1], column: int32 @ thread[1], share: float32 @ thread[1],
    seed: int32 @ thread[1],
) -> float32 @ thread[1]:  # fmt: skip
    """0 for a `share` of the elements, which follows from their place and the seed; the others divided by 1 - `share`."""
    return x / (1.0 - share) if float32(random_bits(row, column, seed) >> 8) >= share * 16777216.0 else 0.0
