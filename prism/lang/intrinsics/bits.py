"""Bits and bytes, thread by thread: counting, permuting, reinterpreting, and several small numbers in one word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import VECTOR, scalar_of, vector_cuda
from prism.lang.types import FLOAT32, INT32, UINT32, Scalar, Vector
from prism.lang.types.shorts import bits_of, values_of
from prism.lang.types.structs import Struct

Values = np.ndarray[Any, Any]


def _integral(scalar: Scalar) -> bool:
    return scalar.integral


def _word(scalar: Scalar) -> bool:
    return scalar.integral and scalar.bits == 32


def _simple(
    name: str,
    doc: str,
    operands: tuple[tuple[str, Scalar | str], ...],
    result: Scalar | str,
    body: Callable[[Scalar | None], str],
    meaning: Callable[..., Any],
    **facts: Any,
) -> Intrinsic:
    """Return an elementwise intrinsic; `body(T)` is the C++ function body in terms of the operands' names."""
    generic = result == "T" or any(type_ == "T" for _, type_ in operands)

    def text(type_: Scalar | str, binding: Binding) -> str:
        return type_.cuda if isinstance(type_, Scalar) else scalar_of(binding).cuda

    def preamble(binding: Binding) -> str:
        formals = ", ".join(f"{text(type_, binding)} {operand}" for operand, type_ in operands)
        inner = body(scalar_of(binding) if generic else None)
        return f"static __device__ __forceinline__ {text(result, binding)} px_{name}({formals}) {{ {inner} }}\n"

    def cuda(binding: Binding, *texts: str) -> str:
        given = (f"({text(type_, binding)})({t})" for (_, type_), t in zip(operands, texts, strict=True))
        return f"px_{name}({', '.join(given)})"

    return Intrinsic(
        name=name, doc=doc, parameters=tuple(Parameter(n, "value", t) for n, t in operands), result=result, cuda=cuda,
        preamble=preamble, meaning=lambda binding, *values: meaning(*values), result_unit=None, **facts,
    )  # fmt: skip


# -- counting ---------------------------------------------------------------------------------------------------------


def to_unsigned(value: Any) -> Values:
    """Return integers as uint64, without the sign's copies."""
    value = np.asarray(value)
    return np.asarray(value.view(f"u{value.dtype.itemsize}").astype(np.uint64))


def _popcount(value: Any) -> Values:
    words = np.asarray(to_unsigned(value))[..., None].view(np.uint8)
    return np.asarray(_SET[words].sum(axis=-1, dtype=np.int32))


_SET = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int32)
"""How many bits of each byte are set."""


def _leading(value: Any) -> Values:
    bits, width = to_unsigned(value), 8 * np.asarray(value).dtype.itemsize
    above, below = (bits >> np.uint64(32)).astype(np.float64), (bits & np.uint64(0xFFFFFFFF)).astype(np.float64)
    length = np.where(above > 0, 32 + np.frexp(above)[1], np.frexp(below)[1])  # of 32 bits a float64 has all
    return np.asarray(width - length, np.int32)


def _first(value: Any) -> Values:
    bits = to_unsigned(value)
    lowest = bits & (~bits + np.uint64(1))
    return np.where(bits != 0, 64 - _leading(lowest), 0).astype(np.int32)


def _reverse(value: Any) -> Values:
    value = np.asarray(value)
    bits, width = to_unsigned(value), 8 * value.dtype.itemsize
    found = np.zeros_like(bits)
    for k in range(width):
        found |= ((bits >> np.uint64(k)) & np.uint64(1)) << np.uint64(width - 1 - k)
    return found.astype(f"u{value.dtype.itemsize}").view(value.dtype)


def _as_word(scalar: Scalar | None) -> str:
    """Return `x` in C++ as the unsigned word that holds it, without the sign's copies."""
    assert scalar is not None
    if scalar.bits == 64:
        return "(unsigned long long)x"
    return f"((unsigned int)x & {(1 << scalar.bits) - 1:#x}u)"


def _wide(scalar: Scalar | None) -> bool:
    assert scalar is not None
    return scalar.bits == 64


def _clz_body(scalar: Scalar | None) -> str:
    assert scalar is not None
    if scalar.bits == 64:
        return "return __clzll((long long)x);"
    return f"return __clz((int){_as_word(scalar)}) - {32 - scalar.bits};"


def _reverse_body(scalar: Scalar | None) -> str:
    assert scalar is not None
    if scalar.bits == 64:
        return f"return ({scalar.cuda})__brevll({_as_word(scalar)});"
    return f"return ({scalar.cuda})(__brev({_as_word(scalar)}) >> {32 - scalar.bits});"


_COUNTED = {"allows": _integral, "allows_text": "an integer"}
popcount = _simple(
    "popcount", "popcount(x): how many bits are set.", (("x", "T"),), INT32,
    lambda t: f"return __popc{'ll' if _wide(t) else ''}({_as_word(t)});", _popcount, **_COUNTED,
)  # fmt: skip
clz = _simple(
    "clz", "clz(x): how many zero bits stand above the highest one; the width of x where x is 0.", (("x", "T"),), INT32,
    _clz_body, _leading, **_COUNTED,
)  # fmt: skip
first_set = _simple(
    "first_set", "first_set(x): 1 + the index of the lowest bit that is set; 0 where none is.", (("x", "T"),), INT32,
    lambda t: f"return __ffs{'ll' if _wide(t) else ''}(({'long long' if _wide(t) else 'int'}){_as_word(t)});", _first,
    **_COUNTED,
)  # fmt: skip
reverse_bits = _simple(
    "reverse_bits", "reverse_bits(x): the bits of x, the highest first.", (("x", "T"),), "T", _reverse_body, _reverse,
    **_COUNTED,
)  # fmt: skip


# -- permuting --------------------------------------------------------------------------------------------------------


def _permute(a: Any, b: Any, selector: Any) -> Values:
    both = np.asarray(a, np.uint64) | np.asarray(b, np.uint64) << np.uint64(32)
    selector = np.asarray(selector, np.uint64)
    found = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint64)
    for k in range(4):
        at = (selector >> np.uint64(4 * k)) & np.uint64(7)
        found |= ((both >> (at * np.uint64(8))) & np.uint64(255)) << np.uint64(8 * k)
    return found.astype(np.uint32)


def _permute_or_sign(a: Any, b: Any, selector: Any) -> Values:
    found = _permute(a, b, selector).astype(np.uint64)
    for k in range(4):
        signs = (np.asarray(selector, np.uint64) >> np.uint64(4 * k + 3)) & np.uint64(1) != 0
        byte = np.uint64(255) << np.uint64(8 * k)
        whole = np.where((found >> np.uint64(8 * k + 7)) & np.uint64(1) != 0, found | byte, found & ~byte)
        found = np.where(signs, whole, found)
    return found.astype(np.uint32)


def _funnel(low: Any, high: Any, shift: Any) -> Values:
    both = np.asarray(low, np.uint64) | np.asarray(high, np.uint64) << np.uint64(32)
    return np.asarray((both << (np.asarray(shift, np.uint64) & np.uint64(31))) >> np.uint64(32)).astype(np.uint32)


def _funnel_right(low: Any, high: Any, shift: Any) -> Values:
    both = np.asarray(low, np.uint64) | np.asarray(high, np.uint64) << np.uint64(32)
    return np.asarray(both >> (np.asarray(shift, np.uint64) & np.uint64(31))).astype(np.uint32)


byte_permute = _simple(
    "byte_permute",
    "byte_permute(a, b, selector): four of the eight bytes b:a; byte k is the one that nibble k of selector names (modulo 8).",
    (("a", UINT32), ("b", UINT32), ("selector", UINT32)), UINT32,
    lambda t: "return __byte_perm(a, b, selector);", _permute, source="PTX ISA, prmt",
)  # fmt: skip
byte_permute_or_sign = _simple(
    "byte_permute_or_sign",
    "byte_permute_or_sign(a, b, selector): as byte_permute, without a step that masks the selector; where the upper bit of "
    "nibble k is set, byte k is 255 or 0, by the sign of the one that it names.",
    (("a", UINT32), ("b", UINT32), ("selector", UINT32)), UINT32,
    lambda t: 'unsigned int r; asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector)); return r;',
    _permute_or_sign, source="PTX ISA, prmt",
)  # fmt: skip
funnel_shift_left = _simple(
    "funnel_shift_left", "funnel_shift_left(low, high, shift): the upper word of high:low << (shift modulo 32).",
    (("low", UINT32), ("high", UINT32), ("shift", UINT32)), UINT32,
    lambda t: "return __funnelshift_l(low, high, shift);", _funnel, source="PTX ISA, shf.l.wrap",
)  # fmt: skip
funnel_shift_right = _simple(
    "funnel_shift_right", "funnel_shift_right(low, high, shift): the lower word of high:low >> (shift modulo 32).",
    (("low", UINT32), ("high", UINT32), ("shift", UINT32)), UINT32,
    lambda t: "return __funnelshift_r(low, high, shift);", _funnel_right, source="PTX ISA, shf.r.wrap",
)  # fmt: skip


# -- reinterpreting ---------------------------------------------------------------------------------------------------

_BITCAST = """\
template <typename To, typename From> static __device__ __forceinline__ To px_bitcast(From value) {
    static_assert(sizeof(To) == sizeof(From), "bitcast between types of one size");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}
"""


def _bitcast_problem(binding: Binding) -> str:
    source, to = _bitcast_source(binding), binding.statics["to"]
    for type_ in (source, to):
        element = type_.element if isinstance(type_, Vector) else type_
        fields = [field for _, field in element.fields] if isinstance(element, Struct) else [element]
        if any(field.kind == "bool" for field in fields):
            return "a bool has one bit; compare the number: `x != 0`"
        if sum(field.bytes for field in fields) != element.bytes:
            return f"{element} has bytes that belong to no field"
    return "" if source.bytes == to.bytes else f"{source} has {8 * source.bytes} bits, and {to} {8 * to.bytes}"


def _bitcast_source(binding: Binding) -> Scalar | Vector:
    length = binding.lengths.get("x")
    return scalar_of(binding) if length is None else Vector(scalar_of(binding), length)


def _bitcast_cuda(binding: Binding, x: str) -> str:
    source, to = (
        vector_cuda(type_.element, type_.length) if isinstance(type_, Vector) else type_.cuda
        for type_ in (_bitcast_source(binding), binding.statics["to"])
    )
    return f"px_bitcast<{to}>(({source})({x}))"


def _bitcast_preamble(binding: Binding) -> str:
    vectors = isinstance(binding.statics["to"], Vector) or "x" in binding.lengths
    return f"{VECTOR}\n{_BITCAST}" if vectors else _BITCAST


def _bitcast_meaning(binding: Binding, x: Any) -> Values:
    source, to = scalar_of(binding), binding.statics["to"]
    element = to.element if isinstance(to, Vector) else to
    parts = np.asarray(x) if "x" in binding.lengths else np.asarray(x)[..., None]
    bits = np.ascontiguousarray(bits_of(parts, source) if source.coded else parts)
    found = bits.view(element.numpy)
    found = np.asarray(values_of(found, element)) if element.coded else found
    return found if isinstance(to, Vector) else np.asarray(found[..., 0])


bitcast = Intrinsic(
    name="bitcast",
    doc="bitcast(x, T): the bits of x, taken for a T of the same size: `bitcast(x, uint32)`. Of numbers, vectors and structs.",
    parameters=(Parameter("x", vectors=True), Parameter("to", "static", "type")),
    result="to",
    cuda=_bitcast_cuda,
    preamble=_bitcast_preamble,
    meaning=_bitcast_meaning,
    result_unit=None,
    allows=lambda scalar: scalar.kind != "bool",
    allows_text="a number, or a vector or struct of them",
    problem=_bitcast_problem,
    structs=True,
)


def _reinterpret(name: str, source: Scalar, to: Scalar) -> Intrinsic:
    return _simple(
        name, f"{name}(x): the bits of a {source}, taken for a {to}; CUDA's `__{name}`.", (("x", source),), to,
        lambda t: f"return __{name}(x);", lambda x: np.asarray(x, source.numpy).view(to.numpy),
    )  # fmt: skip


float_as_uint = _reinterpret("float_as_uint", FLOAT32, UINT32)
uint_as_float = _reinterpret("uint_as_float", UINT32, FLOAT32)
float_as_int = _reinterpret("float_as_int", FLOAT32, INT32)
int_as_float = _reinterpret("int_as_float", INT32, FLOAT32)


# -- dot products of bytes --------------------------------------------------------------------------------------------


def lanes(word: Any, bits: int, signed: bool) -> Values:
    """Return the parts of 32-bit words, lowest first, as one more axis of int64."""
    parts = np.ascontiguousarray(np.asarray(word).astype(np.uint32, copy=False)).reshape(*np.shape(word), 1)
    return np.asarray(parts.view(f"{'i' if signed else 'u'}{bits // 8}").astype(np.int64))


def _dot(bytes_of: Callable[[Values], Values], bits: int) -> Callable[..., Values]:
    def meaning(a: Any, b: Any, c: Any) -> Values:
        kind = np.result_type(a, b, c)
        signed = kind.kind == "i"
        products = (lanes(a, bits, signed) * bytes_of(lanes(b, 8, signed))).sum(axis=-1)
        return np.asarray(np.asarray(c, np.int64) + products).astype(np.uint32).view(kind)

    return meaning


_DOT = {"allows": _word, "allows_text": "int32 or uint32", "source": "PTX ISA, dp4a and dp2a"}
_THREE: tuple[tuple[str, Scalar | str], ...] = (("a", "T"), ("b", "T"), ("c", "T"))
dp4a = _simple(
    "dp4a", "dp4a(a, b, c): c plus the products of the four bytes of a and b; signed where they are int32.", _THREE, "T",
    lambda t: "return __dp4a(a, b, c);", _dot(lambda b: b, 8), **_DOT,
)  # fmt: skip
dp2a_lo = _simple(
    "dp2a_lo", "dp2a_lo(a, b, c): c plus the products of the two halves of a and the two low bytes of b.", _THREE, "T",
    lambda t: "return __dp2a_lo(a, b, c);", _dot(lambda b: b[..., :2], 16), **_DOT,
)  # fmt: skip
dp2a_hi = _simple(
    "dp2a_hi", "dp2a_hi(a, b, c): c plus the products of the two halves of a and the two high bytes of b.", _THREE, "T",
    lambda t: "return __dp2a_hi(a, b, c);", _dot(lambda b: b[..., 2:], 16), **_DOT,
)  # fmt: skip

BITS = (
    popcount, clz, first_set, reverse_bits, byte_permute, byte_permute_or_sign, funnel_shift_left, funnel_shift_right, bitcast,
    float_as_uint, uint_as_float, float_as_int, int_as_float, dp4a, dp2a_lo, dp2a_hi,
)  # fmt: skip
