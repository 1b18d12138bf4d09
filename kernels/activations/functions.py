"""Activation functions of a number, and their derivatives: what layers of networks are made of."""

from prism.lang import (
    constexpr, dtype, erfc, exp, fast_exp2_flush, fast_reciprocal, float32, prism, requires, template, thread,
)  # fmt: skip
from prism.lib.thread.activations import log_odds

SILU, GELU, GELU_TANH = range(3)
"""x times the sigmoid of x; times the normal distribution's; times what a hyperbolic tangent is near to that."""
ROOT_HALF, ROOT_INVERSE_TAU, LOG2_E = 0.7071067811865476, 0.3989422804014327, 1.4426950408889634
TANH_SCALE, TANH_CUBE = 0.7978845608028654, 0.044715


@prism.device
@requires(thread[1])
@template(A=dtype, FAST=constexpr(int))
def sigmoid(x: A @ thread[1]) -> A @ thread[1]:
    """`1 / (1 + exp(-x))`; `FAST`: of float32, with a relative error below 2^-20."""
    if FAST != 0:
        return fast_reciprocal(float32(1) + fast_exp2_flush(-float32(LOG2_E) * x))
    else:
        return A(1) / (A(1) + exp(-x))


@prism.device
@requires(thread[1])
@template(A=dtype, FAST=constexpr(int))
def normal(x: A @ thread[1]) -> A @ thread[1]:
    """The normal distribution's function; `FAST`: of float32, with an error below 10^-7, and relative of 1 % where it is 10^-5.

    2: with an error below 2^-19, and relative of 2^-6 down to x = -6: a half of the instructions.

    Source: Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26.
    """
    if FAST == 2:
        return fast_reciprocal(float32(1) + fast_exp2_flush(log_odds(x)))
    elif FAST == 1:
        z: float32 = abs(x) * float32(ROOT_HALF)
        t: float32 = fast_reciprocal(float32(1) + float32(0.3275911) * z)
        series: float32 = float32(1.061405429) * t - float32(1.453152027)
        series = series * t + float32(1.421413741)
        series = series * t - float32(0.284496736)
        series = series * t + float32(0.254829592)
        tail: float32 = float32(0.5) * (series * t) * fast_exp2_flush(-float32(LOG2_E) * (z * z))
        return tail if x < 0 else float32(1) - tail
    else:
        return A(0.5) * erfc(-x * A(ROOT_HALF))


@prism.device
@requires(thread[1])
@template(A=dtype, FAST=constexpr(int))
def near_normal(x: A @ thread[1]) -> A @ thread[1]:
    """What is near to the normal distribution's function: `(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`, a sigmoid."""
    return sigmoid(A(2) * A(TANH_SCALE) * (x + A(TANH_CUBE) * x * x * x), FAST=FAST)


@prism.device
@requires(thread[1])
@template(A=dtype, KIND=constexpr(int), FAST=constexpr(int))
def share(x: A @ thread[1]) -> A @ thread[1]:
    """What x is multiplied by."""
    if KIND == SILU:
        return sigmoid(x, FAST=FAST)
    elif KIND == GELU:
        return normal(x, FAST=FAST)
    else:
        return near_normal(x, FAST=FAST)


@prism.device
@requires(thread[1])
@template(A=dtype, KIND=constexpr(int), FAST=constexpr(int))
def slope(x: A @ thread[1], share: A @ thread[1]) -> A @ thread[1]:
    """The derivative of `x * share(x)`, of x and its share."""
    if KIND == SILU:
        return share * (A(1) + x * (A(1) - share))
    elif KIND == GELU:
        if FAST != 0:
            return share + x * float32(ROOT_INVERSE_TAU) * fast_exp2_flush(-float32(0.5 * LOG2_E) * (x * x))
        else:
            return share + x * A(ROOT_INVERSE_TAU) * exp(A(-0.5) * (x * x))
    else:
        inner: A = A(2) * A(TANH_SCALE) * (A(1) + A(3) * A(TANH_CUBE) * x * x)
        return share + x * inner * (share * (A(1) - share))
