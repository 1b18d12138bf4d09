"""Vectors of floats under operators: `a + b`, `2 * a`, `-a`, `fma(a, b, c)`, component by component, as NumPy's arrays.

Each operation is rounded by itself, in every copy of a text: nothing makes `a * b + c` one operation that is not written `fma`.
From sm_100 on two floats go in one instruction. Found by the operands' types, not by name: not in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import VECTOR, scalar_of
from prism.lang.intrinsics.special import fused_multiply_add
from prism.lang.types import FLOAT32, FLOAT64, Scalar
from prism.lang.types.shorts import round_to

_NAMES = {"+": "add", "-": "sub", "*": "mul", "/": "div", "fma": "fma", "negated": "neg"}
_SIGNS = {name: sign for sign, name in _NAMES.items()}
_ROUNDED = {
    FLOAT32: {"add": "__fadd_rn", "sub": "__fsub_rn", "mul": "__fmul_rn", "fma": "__fmaf_rn"},
    FLOAT64: {"add": "__dadd_rn", "sub": "__dsub_rn", "mul": "__dmul_rn", "fma": "__fma_rn"},
}
_PAIRED = {"add": "__fadd2_rn", "mul": "__fmul2_rn", "fma": "__ffma2_rn"}
"""What sm_100 does to two floats at once."""


def _text(operation: str, scalar: Scalar, *operands: str) -> str:
    """Return one component's operation in C++."""
    if operation == "neg":
        return f"-{operands[0]}"
    if (name := _ROUNDED.get(scalar, {}).get(operation)) is not None:
        return f"{name}({', '.join(operands)})"
    return f" {_SIGNS[operation]} ".join(operands)


def _helper(operation: str, scalar: Scalar) -> str:
    return f"px_vector_{operation}_{scalar.name}"


def _preamble(operation: str, scalar: Scalar, count: int) -> str:
    names, kind = "abc"[:count], f"px_vector<{scalar.cuda}, N>"
    one = _text(operation, scalar, *(f"{x}.item[i]" for x in names))
    every = f"#pragma unroll\n    for (int i = 0; i < N; ++i) v.item[i] = {one};"
    if scalar == FLOAT32 and operation in _PAIRED:
        pair = ", ".join(f"make_float2({x}.item[i], {x}.item[i + 1])" for x in names)
        every = f"""\
#if __CUDA_ARCH__ >= 1000
#pragma unroll
    for (int i = 0; i + 1 < N; i += 2) {{
        const float2 two = {_PAIRED[operation]}({pair});
        v.item[i] = two.x;
        v.item[i + 1] = two.y;
    }}
    for (int i = N & ~1; i < N; ++i) v.item[i] = {one};
#else
{every}
#endif"""
    formals = ", ".join(f"const {kind}& {x}" for x in names)
    return f"""\
{VECTOR}
template <int N> static __device__ __forceinline__ {kind} {_helper(operation, scalar)}({formals}) {{
    {kind} v;
{every}
    return v;
}}
"""


def _operation(sign: str, numpy: Callable[..., Any], count: int) -> Intrinsic:
    operation, names = _NAMES[sign], "abc"[:count]

    def cuda(binding: Binding, *operands: str) -> str:
        return f"{_helper(operation, scalar_of(binding))}({', '.join(operands)})"

    def meaning(binding: Binding, *operands: Any) -> Any:
        scalar = scalar_of(binding)
        with np.errstate(all="ignore"):
            found = numpy(*operands)
        return round_to(found, scalar) if scalar.coded else found

    return Intrinsic(
        name=sign,
        doc=f"`{sign}` of vectors, component by component.",
        parameters=tuple(Parameter(name, "vector") for name in names),
        result="T",
        cuda=cuda,
        preamble=lambda binding: _preamble(operation, scalar_of(binding), count),
        meaning=meaning,
        result_unit=None,
    )


def _fused(a: Any, b: Any, c: Any) -> Any:
    a, b, c = np.broadcast_arrays(a, b, c)
    return fused_multiply_add(a, b, c).reshape(a.shape)


OPERATORS: Mapping[str, Intrinsic] = {
    "+": _operation("+", np.add, 2),
    "-": _operation("-", np.subtract, 2),
    "*": _operation("*", np.multiply, 2),
    "/": _operation("/", np.divide, 2),
}
NEGATED = _operation("negated", np.negative, 1)
FUSED = _operation("fma", _fused, 3)
