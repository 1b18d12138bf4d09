"""Arithmetic that has no operator, thread by thread. Conversions are not here: `T(x)` is a cast of the checker's."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import scalar_of
from prism.lang.types import BFLOAT16, Scalar
from prism.lang.types.shorts import round_bf16

_CHOOSE = """\
template <typename T> static __device__ __forceinline__ T px_{name}(T a, T b) {{
    return (a {op} b || a != a) ? a : b;
}}
#if __CUDA_ARCH__ >= 800
template <> __device__ __forceinline__ float px_{name}<float>(float a, float b) {{
    float r;
    asm("{ptx}.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}}
#endif
"""


def _extremum(name: str, ptx: str, doc: str, op: str, meaning: Any) -> Intrinsic:
    def cuda(binding: Binding, a: str, b: str) -> str:
        return f"px_{name}<{scalar_of(binding).cuda}>({a}, {b})"

    return Intrinsic(
        name=name,
        doc=doc,
        parameters=(Parameter("a"), Parameter("b")),
        result="T",
        cuda=cuda,
        preamble=lambda binding: _CHOOSE.format(name=name, op=op, ptx=ptx),
        meaning=lambda binding, a, b: meaning(a, b),
        result_unit=None,
        allows=lambda scalar: not scalar.stored,
        allows_text="any scalar other than a float of 8 bits",
        source="numpy: NaN wins; PTX ISA, 9.7.3 `min`, `max` (`.NaN`)",
    )


minimum = _extremum(
    "minimum", "min", "minimum(a, b): the smaller; NaN if either is NaN, as numpy.minimum.", "<", np.minimum
)
maximum = _extremum(
    "maximum", "max", "maximum(a, b): the larger; NaN if either is NaN, as numpy.maximum.", ">", np.maximum
)


def _number(scalar: Scalar) -> bool:
    return scalar.kind != "bool" and not scalar.stored


def _absolute_preamble(binding: Binding) -> str:
    scalar = scalar_of(binding)
    if scalar.short:
        value = f"{scalar.cuda}_of(a.bits & 0x7fff)"
    elif scalar.kind == "float":
        value = f"{'fabsf' if scalar.bits == 32 else 'fabs'}(a)"
    elif scalar.kind == "uint":
        value = "a"
    else:
        word = "unsigned long long" if scalar.bits == 64 else "unsigned int"
        value = f"a < 0 ? ({scalar.cuda})(0u - ({word})a) : a"
    return f"static __device__ __forceinline__ {scalar.cuda} px_absolute({scalar.cuda} a) {{ return {value}; }}\n"


absolute = Intrinsic(
    name="absolute",
    doc="absolute(a): a without its sign; the least integer stays what it is, as numpy.absolute.",
    parameters=(Parameter("a"),),
    result="T",
    cuda=lambda binding, a: f"px_absolute(({scalar_of(binding).cuda})({a}))",
    preamble=_absolute_preamble,
    meaning=lambda binding, a: np.absolute(a),
    result_unit=None,
    allows=_number,
    allows_text="a number other than a float of 8 bits",
)


def _wrapping(name: str, op: str, words: str, function: Any) -> Intrinsic:
    def cuda(binding: Binding, a: str, b: str) -> str:
        scalar = scalar_of(binding)
        if scalar.kind == "float":
            return f"({a} {op} {b})"
        word = "unsigned long long" if scalar.bits == 64 else "unsigned int"
        return f"({scalar.cuda})(({word})({a}) {op} ({word})({b}))"

    def meaning(binding: Binding, a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            found = function(a, b)
        return round_bf16(found) if scalar_of(binding) == BFLOAT16 else found

    return Intrinsic(
        name=name,
        doc=f"{name}(a, b): {words}; of integers modulo 2^bits, signed ones too. Of floats it is `a {op} b`.",
        parameters=(Parameter("a"), Parameter("b")),
        result="T",
        cuda=cuda,
        meaning=meaning,
        result_unit=None,
        allows=_number,
        allows_text="a number other than a float of 8 bits",
    )


wrapping_add = _wrapping("wrapping_add", "+", "the sum", np.add)
wrapping_subtract = _wrapping("wrapping_subtract", "-", "the difference", np.subtract)
wrapping_multiply = _wrapping("wrapping_multiply", "*", "the product", np.multiply)

ARITHMETIC = (minimum, maximum, absolute, wrapping_add, wrapping_subtract, wrapping_multiply)
