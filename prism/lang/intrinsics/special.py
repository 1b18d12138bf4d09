"""Special functions, thread by thread. None is fast-math unless its name says so; the doc lines give the accuracy on the GPU.

Floats of 16 bits are computed as float32 and rounded once.

The reference machine computes with NumPy, so it may differ from the GPU within that accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import scalar_of
from prism.lang.types import BFLOAT16, BOOL, FLOAT32, Scalar
from prism.lang.types.shorts import round_bf16

Values = np.ndarray[Any, Any]
GUIDE = "CUDA C++ Programming Guide, mathematical functions"


def _floating(scalar: Scalar) -> bool:
    return scalar.kind == "float" and not scalar.stored


def _quiet(function: Callable[..., Any], rounds: bool) -> Callable[..., Any]:
    """Return a meaning that says nothing of overflow and invalid values, as the GPU; floats of 16 bits by way of float32."""

    def meaning(binding: Binding, *operands: Any) -> Any:
        scalar = scalar_of(binding)
        with np.errstate(all="ignore"):
            if not scalar.short:
                return function(*operands)
            found = function(*(np.asarray(x, np.float32) for x in operands))
            if not rounds:
                return found
            return round_bf16(found) if scalar == BFLOAT16 else found.astype(np.float16)

    return meaning


def _function(
    name: str,
    doc: str,
    numpy: Callable[..., Any],
    body: Callable[[Scalar], str],
    *,
    operands: tuple[str, ...] = ("x",),
    result: Scalar | str = "T",
    only32: bool = False,
    source: str = GUIDE,
    **facts: Any,
) -> Intrinsic:
    """Return an elementwise function of floats; `body(scalar)` is its C++ expression in terms of the operands' names."""

    def preamble(binding: Binding) -> str:
        scalar = FLOAT32 if scalar_of(binding).short else scalar_of(binding)
        formals = ", ".join(f"{scalar.cuda} {operand}" for operand in operands)
        returns = result.cuda if isinstance(result, Scalar) else scalar.cuda
        return f"static __device__ __forceinline__ {returns} px_{name}({formals}) {{ {body(scalar)} }}\n"

    def cuda(binding: Binding, *texts: str) -> str:
        scalar = scalar_of(binding)
        if scalar.short:
            call = f"px_{name}({', '.join(f'(float)({text})' for text in texts)})"
            return call if isinstance(result, Scalar) else f"({scalar.cuda})({call})"
        return f"px_{name}({', '.join(f'({scalar.cuda})({text})' for text in texts)})"

    return Intrinsic(
        name=name, doc=doc, parameters=tuple(Parameter(operand) for operand in operands), result=result, cuda=cuda,
        preamble=preamble, meaning=_quiet(numpy, result == "T"), result_unit=None, source=source,
        allows=(lambda scalar: scalar == FLOAT32) if only32 else _floating,
        allows_text="float32" if only32 else "a float of 16 bits or more", **facts,
    )  # fmt: skip


def _call(name: str, *operands: str) -> Callable[[Scalar], str]:
    """Return the body that calls a function of C: `expf` for float, `exp` for double."""
    given = ", ".join(operands or ("x",))
    return lambda scalar: f"return {name}{'f' if scalar.bits == 32 else ''}({given});"


def _exactly(body: str) -> Callable[[Scalar], str]:
    return lambda scalar: body


exp = _function("exp", "exp(x): e to the x, within 2 ulp (float64: 1).", np.exp, _call("exp"))
exp2 = _function("exp2", "exp2(x): 2 to the x, within 2 ulp (float64: 1).", np.exp2, _call("exp2"))
log = _function("log", "log(x): the natural logarithm, within 1 ulp.", np.log, _call("log"))
log2 = _function("log2", "log2(x): the logarithm to base 2, within 1 ulp.", np.log2, _call("log2"))
sqrt = _function("sqrt", "sqrt(x): the square root, correctly rounded.", np.sqrt, _call("sqrt"))
rsqrt = _function(
    "rsqrt", "rsqrt(x): 1 / sqrt(x), within 2 ulp (float64: 1).",
    lambda x: (1 / np.sqrt(np.asarray(x).astype(np.longdouble))).astype(np.asarray(x).dtype), _call("rsqrt"),
)  # fmt: skip
sin = _function("sin", "sin(x): the sine of x radians, within 2 ulp.", np.sin, _call("sin"))
cos = _function("cos", "cos(x): the cosine of x radians, within 2 ulp.", np.cos, _call("cos"))
tanh = _function("tanh", "tanh(x): the hyperbolic tangent, within 2 ulp (float64: 1).", np.tanh, _call("tanh"))
pow_ = _function(
    "pow", "pow(x, y): x to the y, within 4 ulp (float64: 2).", np.power, _call("pow", "x", "y"), operands=("x", "y"),
)  # fmt: skip
floor = _function("floor", "floor(x): the largest whole number <= x.", np.floor, _call("floor"))
ceil = _function("ceil", "ceil(x): the least whole number >= x.", np.ceil, _call("ceil"))
round_ = _function("round_", "round_(x): the nearest whole number; halves to the even one.", np.rint, _call("rint"))
trunc = _function("trunc", "trunc(x): x without its fraction.", np.trunc, _call("trunc"))
reciprocal = _function(
    "reciprocal", "reciprocal(x): 1 / x, correctly rounded.", lambda x: np.asarray(x).dtype.type(1) / x,
    lambda scalar: f"return __{'f' if scalar.bits == 32 else 'd'}rcp_rn(x);",
)  # fmt: skip
is_nan = _function("is_nan", "is_nan(x): whether x is NaN.", np.isnan, _exactly("return x != x;"), result=BOOL)
is_inf = _function(
    "is_inf", "is_inf(x): whether x is infinite, of either sign.", np.isinf, _exactly("return x - x != 0 && x == x;"),
    result=BOOL,
)  # fmt: skip
is_finite = _function(
    "is_finite", "is_finite(x): whether x is neither infinite nor NaN.", np.isfinite,
    _exactly("return x - x == 0;"), result=BOOL,
)  # fmt: skip
sign_bit = _function(
    "sign_bit", "sign_bit(x): whether x is negative, -0 and negative NaNs included.", np.signbit,
    lambda scalar: f"return {'__float_as_int' if scalar.bits == 32 else '__double_as_longlong'}(x) < 0;", result=BOOL,
)  # fmt: skip


# -- more of C's functions, by C's names --------------------------------------------------------------------------------


def _one_by_one(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """Return a function of `math`'s, which NumPy lacks, as one of arrays."""

    def meaning(x: Any) -> Any:
        return np.array([function(value) for value in x.ravel().tolist()], np.float64).reshape(x.shape)

    return meaning


def _in(wide: type[np.floating[Any]], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a meaning that is computed in a wider type and rounded once: NumPy's own in float32 are off by several ulp."""

    def meaning(*operands: Any) -> Any:
        kind = np.result_type(*operands)
        return np.asarray(function(*(np.asarray(x, wide) for x in operands))).astype(kind)[()]

    return meaning


def _gamma(x: float) -> float:
    """Return what C's tgamma gives, also where Python raises."""
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:  # a pole: 0 has a side, the negative integers have none
        return math.copysign(math.inf, x) if x == 0 else math.nan


def _log_gamma(x: float) -> float:
    """Return what C's lgamma gives, also where Python raises: both are infinite there."""
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


def _more(name: str, numpy: Callable[..., Any], words: str, *operands: str) -> Intrinsic:
    given = operands or ("x",)
    doc = f"{name}({', '.join(given)}): {words}."
    wide = np.longdouble if name == "cbrt" else np.float64  # glibc's cbrt of float64 is off by 4 ulp
    return _function(name, doc, _in(wide, numpy), _call(name, *given), operands=given)


tan = _more("tan", np.tan, "the tangent of x radians, within 4 ulp (float64: 2)")
asin = _more("asin", np.arcsin, "the arc sine of x, in radians, within 2 ulp; NaN where |x| > 1")
acos = _more("acos", np.arccos, "the arc cosine of x, in radians, within 2 ulp; NaN where |x| > 1")
atan = _more("atan", np.arctan, "the arc tangent of x, in radians, within 2 ulp")
atan2 = _more("atan2", np.arctan2, "the angle of the point (x, y), from -pi to pi, within 3 ulp (float64: 2)", "y", "x")
sinh = _more("sinh", np.sinh, "the hyperbolic sine, within 3 ulp (float64: 2)")
cosh = _more("cosh", np.cosh, "the hyperbolic cosine, within 2 ulp (float64: 1)")
expm1 = _more("expm1", np.expm1, "e to the x, less 1, within 1 ulp, also where x is near 0")
log1p = _more("log1p", np.log1p, "the natural logarithm of 1 + x, within 1 ulp, also where x is near 0")
erf = _more("erf", _one_by_one(math.erf), "the error function, within 2 ulp")
erfc = _more("erfc", _one_by_one(math.erfc), "1 - erf(x), within 4 ulp (float64: 5), also where that is near 0")
tgamma = _more("tgamma", _one_by_one(_gamma), "the gamma function, within 5 ulp (float64: 10)")
lgamma = _more(
    "lgamma", _one_by_one(_log_gamma),
    "the logarithm of |tgamma(x)|, within 6 ulp (float64: 4) for x > -2; more where it crosses 0 below",
)  # fmt: skip
cbrt = _more("cbrt", np.cbrt, "the cube root, within 1 ulp")
hypot = _more("hypot", np.hypot, "sqrt(x * x + y * y) without overflow on the way, within 3 ulp (float64: 2)", "x", "y")
fmod = _more("fmod", np.fmod, "the remainder of x / y, with the sign of x: exact", "x", "y")


# -- fused multiply-add -----------------------------------------------------------------------------------------------


def _two_sum(a: Values, b: Values) -> tuple[Values, Values]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Values, b: Values) -> tuple[Values, Values]:
    def halves(x: Values) -> tuple[Values, Values]:
        big = 134217729.0 * x
        high = big - (big - x)
        return high, x - high

    product = a * b
    (ah, al), (bh, bl) = halves(a), halves(b)
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def odd_sum(a: Any, b: Any) -> Values:
    """Return a + b in float64, rounded to odd: rounding it once more to fewer bits is then right."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    away = (error > 0) == (total > 0)
    inexact = (error != 0) & (bits & 1 == 0) & np.isfinite(total)
    return np.where(inexact, np.where(away, bits + 1, bits - 1), bits).view(np.float64)


def fused_multiply_add(a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c with one rounding (float64: barring overflow and underflow of the product's halves)."""
    kind = np.result_type(a, b, c)
    a, b, c = (np.atleast_1d(np.asarray(x, np.float64)) for x in np.broadcast_arrays(a, b, c))
    plain = a * b + c
    if kind == np.float32:
        found = odd_sum(a * b, c)
    else:
        product, low = _two_product(a, b)
        rest, lost = _two_sum(c, low)
        total, error = _two_sum(product, rest)
        found = total + odd_sum(lost, error)
    right = np.isfinite(plain) & np.isfinite(found) & (found != 0)  # of zeros the sign is the plain one's
    return np.where(right, found, plain).astype(kind)


fma = _function(
    "fma", "fma(a, b, c): a * b + c with one rounding.",
    lambda a, b, c: fused_multiply_add(a, b, c).reshape(np.broadcast_shapes(*(np.shape(x) for x in (a, b, c)))),
    _call("fma", "a", "b", "c"), operands=("a", "b", "c"), source="PTX ISA, fma.rn",
)  # fmt: skip


# -- fast-math --------------------------------------------------------------------------------------------------------


def _approximate(instruction: str) -> Callable[[Scalar], str]:
    return _exactly(f'float y; asm("{instruction}.f32 %0, %1;" : "=f"(y) : "f"(x)); return y;')


def _flush(values: Any) -> Any:
    """Return float32 without denormals: zeros of their signs in place of them."""
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), values), values)


def _fast(name: str, doc: str, numpy: Callable[..., Any], body: Callable[[Scalar], str], **facts: Any) -> Intrinsic:
    return _function(f"fast_{name}", doc, numpy, body, only32=True, source="PTX ISA, *.approx.f32", **facts)


fast_exp = _fast("exp", "fast_exp(x): e to the x, within 2 + |1.16 x| ulp.", np.exp, _exactly("return __expf(x);"))
fast_exp2 = _fast(
    "exp2", "fast_exp2(x): 2 to the x, within 2 ulp. Results below 2^-126 are kept, as denormals, for a few more instructions.",
    np.exp2, _approximate("ex2.approx"),
)  # fmt: skip
fast_exp2_flush = _fast(
    "exp2_flush", "fast_exp2_flush(x): 2 to the x, within 2 ulp, in one instruction; 0 where that is below 2^-126.",
    lambda x: _flush(np.exp2(x)), _approximate("ex2.approx.ftz"),
)  # fmt: skip
fast_log = _fast(
    "log", "fast_log(x): the natural logarithm; off by at most 2^-21.4 for x in [0.5, 2], 3 ulp elsewhere.", np.log,
    _exactly("return __logf(x);"),
)  # fmt: skip
fast_log2 = _fast(
    "log2", "fast_log2(x): the logarithm to base 2; off by at most 2^-22 for x in [0.5, 2], 2 ulp elsewhere.", np.log2,
    _exactly("return __log2f(x);"),
)  # fmt: skip
fast_sin = _fast(
    "sin", "fast_sin(x): the sine; off by at most 2^-21.4 for x in [-pi, pi], more elsewhere.", np.sin,
    _exactly("return __sinf(x);"),
)  # fmt: skip
fast_cos = _fast(
    "cos", "fast_cos(x): the cosine; off by at most 2^-21.2 for x in [-pi, pi], more elsewhere.", np.cos,
    _exactly("return __cosf(x);"),
)  # fmt: skip
fast_tanh = _fast(
    "tanh", "fast_tanh(x): the hyperbolic tangent, with a relative error of at most 2^-11.", np.tanh,
    _approximate("tanh.approx"), min_arch="sm_75",
)  # fmt: skip
fast_sqrt = _fast("sqrt", "fast_sqrt(x): the square root, within 2^-23 relative.", np.sqrt, _approximate("sqrt.approx"))
fast_reciprocal = _fast(
    "reciprocal", "fast_reciprocal(x): 1 / x, within 1 ulp.", lambda x: np.float32(1) / x, _approximate("rcp.approx"),
)  # fmt: skip
fast_divide = _fast(
    "divide", "fast_divide(x, y): x / y, within 2 ulp; 0 where |y| > 2^126.", np.divide,
    _exactly("return __fdividef(x, y);"), operands=("x", "y"),
)  # fmt: skip

SPECIAL = (
    exp, exp2, expm1, log, log2, log1p, sqrt, rsqrt, cbrt, hypot, pow_, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh,
    tanh, erf, erfc, tgamma, lgamma, fmod, floor, ceil, round_, trunc, reciprocal, fma, is_nan, is_inf, is_finite, sign_bit,
    fast_exp, fast_exp2, fast_exp2_flush, fast_log, fast_log2, fast_sin, fast_cos, fast_tanh, fast_sqrt, fast_reciprocal,
    fast_divide,
)  # fmt: skip
