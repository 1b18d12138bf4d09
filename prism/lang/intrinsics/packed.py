"""Two 16-bit numbers in a 32-bit word, in one instruction; between such words and float32, conversions; and four of 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lang.intrinsics.bits import lanes
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.special import odd_sum
from prism.lang.types import FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT32, INT32, UINT32, Scalar
from prism.lang.types.shorts import bf16_bits, bf16_values, bits_of

Values = np.ndarray[Any, Any]


def pack(parts: Any) -> Values:
    """Return 16-bit parts, lowest first along the last axis, as 32-bit words."""
    parts = np.asarray(parts).astype(np.int64) & 0xFFFF
    return np.asarray(parts[..., 0] | parts[..., 1] << 16).astype(np.uint32)


def to_float(bits: Any, kind: str) -> Values:
    """Return 16-bit patterns of `f16` or `bf16` as float32."""
    if kind == "bf16":
        return np.asarray(bf16_values(bits))
    return np.ascontiguousarray(np.asarray(bits).astype(np.uint16)).view(np.float16).astype(np.float32)


def from_float(value: Any, kind: str) -> Values:
    """Return floats rounded to the nearest `f16` or `bf16` (halves to even), as 16-bit patterns."""
    if kind == "bf16":
        return np.asarray(bf16_bits(value))
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(np.asarray(value).astype(np.float16)).view(np.uint16)


def _packed(name: str, doc: str, instruction: str, operands: int, meaning: Callable[..., Any], arch: str) -> Intrinsic:
    names = ("a", "b", "c")[:operands]
    formals = ", ".join(f"unsigned int {operand}" for operand in names)
    given = ", ".join(f"%{k}" for k in range(1, operands + 1))
    inputs = ", ".join(f'"r"({operand})' for operand in names)
    text = (
        f"static __device__ __forceinline__ unsigned int px_{name}({formals}) {{\n    unsigned int d;\n"
        f'    asm("{instruction} %0, {given};" : "=r"(d) : {inputs});\n    return d;\n}}\n'
    )
    return Intrinsic(
        name=name, doc=doc, parameters=tuple(Parameter(operand, "value", UINT32) for operand in names), result=UINT32,
        cuda=lambda binding, *texts: f"px_{name}({', '.join(texts)})", preamble=lambda binding: text,
        meaning=lambda binding, *values: meaning(*values), result_unit=None, min_arch=arch,
        source=f"PTX ISA, {instruction}",
    )  # fmt: skip


def _integers(function: Callable[..., Any], signed: bool) -> Callable[..., Any]:
    return lambda *words: pack(function(*(lanes(word, 16, signed) for word in words)))


def _floats(function: Callable[..., Any], kind: str) -> Callable[..., Any]:
    def meaning(*words: Any) -> Values:
        with np.errstate(all="ignore"):
            values = [to_float(lanes(word, 16, False), kind).astype(np.float64) for word in words]
            return pack(from_float(function(*values), kind))

    return meaning


def _halves(name: str, doc: str, function: str, meaning: Callable[..., Any]) -> Intrinsic:
    """One of CUDA's functions of both 16-bit halves: one instruction on sm_90, a few elsewhere."""
    return Intrinsic(
        name=name, doc=doc, parameters=(Parameter("a", "value", UINT32), Parameter("b", "value", UINT32)), result=UINT32,
        cuda=lambda binding, a, b: f"{function}({a}, {b})", meaning=lambda binding, a, b: meaning(a, b), result_unit=None,
        source=f"CUDA Math API, SIMD intrinsics, {function}; PTX ISA, 9.7.2 `.u16x2`, `.s16x2`",
    )  # fmt: skip


add_u16x2 = _halves(
    "add_u16x2",
    "add_u16x2(a, b): the sums of both 16-bit halves, each modulo 2^16.",
    "__vadd2",
    _integers(np.add, False),
)
min_s16x2, max_s16x2, min_u16x2, max_u16x2 = (
    _halves(
        f"{which}_{kind}16x2", f"{which}_{kind}16x2(a, b): the {word} of both 16-bit halves, {sign}.",
        f"__v{which}{kind}2", _integers(function, kind == "s"),
    )
    for kind, sign in (("s", "signed"), ("u", "unsigned"))
    for which, word, function in (("min", "smaller", np.minimum), ("max", "larger", np.maximum))
)  # fmt: skip


def _float_functions(kind: str, add_arch: str, fma_arch: str) -> tuple[Intrinsic, ...]:
    """Return add, sub, mul, fma, min and max of one type."""
    long, rn = ("float16", "") if kind == "f16" else ("bfloat16", ".rn")
    return (
        _packed(f"add_{kind}x2", f"add_{kind}x2(a, b): the sums of both {long} halves, each rounded.",
                f"add{rn}.{kind}x2", 2, _floats(np.add, kind), add_arch),
        _packed(f"sub_{kind}x2", f"sub_{kind}x2(a, b): the differences of both {long} halves, each rounded.",
                f"sub{rn}.{kind}x2", 2, _floats(np.subtract, kind), add_arch),
        _packed(f"mul_{kind}x2", f"mul_{kind}x2(a, b): the products of both {long} halves, each rounded.",
                f"mul{rn}.{kind}x2", 2, _floats(np.multiply, kind), add_arch),
        _packed(f"fma_{kind}x2", f"fma_{kind}x2(a, b, c): a * b + c of both {long} halves, rounded once.",
                f"fma.rn.{kind}x2", 3, _floats(lambda a, b, c: odd_sum(a * b, c), kind), fma_arch),
        _packed(f"min_{kind}x2", f"min_{kind}x2(a, b): the smaller of both {long} halves; NaN loses.",
                f"min.{kind}x2", 2, _floats(np.fmin, kind), "sm_80"),
        _packed(f"max_{kind}x2", f"max_{kind}x2(a, b): the larger of both {long} halves; NaN loses.",
                f"max.{kind}x2", 2, _floats(np.fmax, kind), "sm_80"),
    )  # fmt: skip


add_f16x2, sub_f16x2, mul_f16x2, fma_f16x2, min_f16x2, max_f16x2 = _float_functions("f16", "sm_75", "sm_75")
add_bf16x2, sub_bf16x2, mul_bf16x2, fma_bf16x2, min_bf16x2, max_bf16x2 = _float_functions("bf16", "sm_90", "sm_80")


# -- conversions ------------------------------------------------------------------------------------------------------


def _pack(kind: str) -> Intrinsic:
    name = f"pack_{kind}x2"
    text = (
        f"static __device__ __forceinline__ unsigned int px_{name}(float low, float high) {{\n    unsigned int d;\n"
        f'    asm("cvt.rn.{kind}x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));\n    return d;\n}}\n'
    )

    def meaning(binding: Binding, low: Any, high: Any) -> Values:
        return pack(np.stack(np.broadcast_arrays(from_float(low, kind), from_float(high, kind)), axis=-1))

    long = "float16" if kind == "f16" else "bfloat16"
    return Intrinsic(
        name=name, doc=f"{name}(low, high): two floats rounded to {long}, in one word.",
        parameters=(Parameter("low", "value", FLOAT32), Parameter("high", "value", FLOAT32)), result=UINT32,
        cuda=lambda binding, low, high: f"px_{name}({low}, {high})", preamble=lambda binding: text, meaning=meaning,
        result_unit=None, min_arch="sm_80", source=f"PTX ISA, cvt.rn.{kind}x2.f32",
    )  # fmt: skip


def _unpack(kind: str) -> Intrinsic:
    name = f"unpack_{kind}x2"
    convert = (
        'float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(half)); return f;'
        if kind == "f16"
        else "return __uint_as_float((unsigned int)half << 16);"
    )
    text = (
        f"static __device__ __forceinline__ float px_{name}(unsigned int word, int part) {{\n"
        f"    const unsigned short half = (unsigned short)(word >> (16 * part));\n    {convert}\n}}\n"
    )
    long = "float16" if kind == "f16" else "bfloat16"
    return Intrinsic(
        name=name, doc=f"{name}(word, part): the low (0) or high (1) {long} of a word, as a float.",
        parameters=(Parameter("word", "value", UINT32), Parameter("part", "static", INT32, choices=(0, 1))),
        result=FLOAT32, cuda=lambda binding, word: f"px_{name}({word}, {binding.statics['part']})",
        preamble=lambda binding: text, result_unit=None,
        meaning=lambda binding, word: to_float(lanes(word, 16, False)[..., binding.statics["part"]], kind),
    )  # fmt: skip


def _pack_four(kind: str, scalar: Scalar) -> Intrinsic:
    name, of = f"pack_{kind}x4", f"px_{kind}"
    bytes_ = " | ".join(f"(unsigned int){of}({x}).bits << {8 * k}" for k, x in enumerate("abcd"))
    text = (
        f"static __device__ __forceinline__ unsigned int px_{name}(float a, float b, float c, float d) {{\n"
        f"#if __CUDA_ARCH__ >= 890\n    unsigned int word;\n"
        f'    asm("{{\\n\\t.reg .b16 low, high;\\n\\tcvt.rn.satfinite.{kind}x2.f32 low, %2, %1;\\n\\t"\n'
        f'        "cvt.rn.satfinite.{kind}x2.f32 high, %4, %3;\\n\\tmov.b32 %0, {{low, high}};\\n\\t}}"\n'
        f'        : "=r"(word) : "f"(a), "f"(b), "f"(c), "f"(d));\n    return word;\n'
        f"#else\n    return {bytes_};\n#endif\n}}\n"
    )

    def meaning(binding: Binding, *values: Any) -> Values:
        parts = [np.asarray(bits_of(value, scalar)).astype(np.uint32) << 8 * k for k, value in enumerate(values)]
        return np.asarray(parts[0] | parts[1] | parts[2] | parts[3])

    return Intrinsic(
        name=name, doc=f"{name}(a, b, c, d): four floats rounded to {scalar.name}, in one word; they saturate.",
        parameters=tuple(Parameter(one, "value", FLOAT32) for one in "abcd"), result=UINT32,
        cuda=lambda binding, *texts: f"px_{name}({', '.join(texts)})", preamble=lambda binding: text, meaning=meaning,
        result_unit=None, source=f"PTX ISA, cvt.rn.satfinite.{kind}x2.f32",
    )  # fmt: skip


pack_e4m3x4, pack_e5m2x4 = _pack_four("e4m3", FLOAT8_E4M3FN), _pack_four("e5m2", FLOAT8_E5M2)
pack_f16x2, pack_bf16x2, unpack_f16x2, unpack_bf16x2 = _pack("f16"), _pack("bf16"), _unpack("f16"), _unpack("bf16")

PACKED = (
    add_u16x2, min_s16x2, max_s16x2, min_u16x2, max_u16x2,
    add_f16x2, sub_f16x2, mul_f16x2, fma_f16x2, min_f16x2, max_f16x2,
    add_bf16x2, sub_bf16x2, mul_bf16x2, fma_bf16x2, min_bf16x2, max_bf16x2,
    pack_f16x2, pack_bf16x2, unpack_f16x2, unpack_bf16x2, pack_e4m3x4, pack_e5m2x4,
)  # fmt: skip
