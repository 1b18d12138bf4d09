"""Bulk reductions: the copy engine combines a shared tile with global memory, element by element, each in one atomic step.

They go on after the statement that issues them, as stores do. Among themselves they are in no order, and need none: any block may
add to any place. Threads' own atomic accesses go another way to memory, and are not atomic to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lang.intrinsics.asynchronous import Transfer
from prism.lang.intrinsics.copies import (
    BULK_BYTES,
    CACHE,
    CACHE_TEXT,
    HEAD,
    bulk_bytes,
    bulk_problem,
    cache_of,
    coordinates,
    hint_name,
    pieces,
    slabs_of,
    tensor_problem,
    whole_of,
)
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.types import INT32, INT64, Mailbox, Scalar, Vector
from prism.lang.types.structs import Struct

OPS = ("add", "min", "max", "and", "or", "xor")
OP = Parameter("op", "static", default="add", optional=True, choices=OPS)


def _least(before: Any, value: Any) -> Any:
    """Return the lesser of each two: of a NaN and a number the number, of two zeros the negative one. Measured on an H200."""
    if before.dtype.kind != "f":
        return np.minimum(before, value)
    zeros = (before == 0) & (value == 0)
    return np.where(zeros & np.signbit(before), before, np.where(zeros, value, np.fmin(before, value)))


def _greatest(before: Any, value: Any) -> Any:
    """Return the greater of each two, in the same way."""
    return -_least(-before, -value) if before.dtype.kind == "f" else np.maximum(before, value)


_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "min": _least, "max": _greatest, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_TEXT = (
    "`op`: add (of integers of 32 or 64 bits, and floats of 16, 32 or 64), min, max (of these integers, and floats of 16 bits; "
    "of a NaN and a number the number), and, or, xor (of these integers). Each element is combined in one step with what is "
    "there, whoever else does so: blocks may reduce into one place, in no fixed order, so sums of floats may differ in their "
    "last bits from run to run."
)


def op_of(binding: Binding) -> str:
    """Return the operation that an application asks for."""
    return str(binding.statics.get("op") or "add")


def step_of(binding: Binding, element: Scalar) -> Callable[[Any, Any], Any]:
    """Return what is written where `before` stood and `value` comes, both of them arrays of the element's values."""
    step = _STEPS[op_of(binding)]

    def change(before: Any, value: Any) -> Any:
        with np.errstate(all="ignore"):
            return step(before, value)

    return change


def element_problem(op: str, element: Scalar | Vector | Mailbox) -> str:
    """Return why the engine does not combine such elements so, or the empty string."""
    if not isinstance(element, Scalar) or isinstance(element, Struct):
        return f"`op={op!r}` combines numbers, not {element}"
    if element.integral and element.bits in (32, 64):
        return ""
    if op == "add":
        floats = element.kind == "float" and element.bits >= 16
        return (
            "" if floats else f"there is no sum of {element}: of floats of 16, 32 or 64 bits, and integers of 32 or 64"
        )
    if op in ("min", "max"):
        return (
            "" if element.short else f"`op={op!r}` combines integers of 32 or 64 bits, and floats of 16, not {element}"
        )
    return f"`op={op!r}` combines integers of 32 or 64 bits, not {element}"


def _type(binding: Binding, element: Scalar) -> str:
    """Return the instruction's operation and type. Sums of integers do not depend on the sign."""
    op = op_of(binding)
    if op in ("and", "or", "xor"):
        return f"{op}.b{element.bits}"
    if element.kind == "float":
        rounded = ".noftz" * (op == "add" and element.bits == 16)
        return f"{op}{rounded}.{'bf16' if element.name == 'bfloat16' else f'f{element.bits}'}"
    signed = element.kind == "int" and op != "add"
    return f"{op}.{'s' if signed else 'u'}{element.bits}"


# -- of memory that follows one another ----------------------------------------------------------------------------------


def _element(binding: Binding) -> Scalar:
    element = binding.tiles["source"].element
    assert isinstance(element, Scalar)
    return element


def _bulk_problem(binding: Binding) -> str:
    return bulk_problem("source")(binding) or element_problem(op_of(binding), binding.tiles["source"].element)


def _bulk_name(binding: Binding) -> str:
    return hint_name(f"px_bulk_{op_of(binding)}_{_element(binding).name}", cache_of(binding))


def _bulk_cuda(binding: Binding, destination: str, source: str, n: str = "") -> str:
    return f"{_bulk_name(binding)}({destination}, {source}, {bulk_bytes(binding, 'source', n)})"


def _bulk_preamble(binding: Binding) -> str:
    cache = cache_of(binding)
    hint, policy = (".L2::cache_hint", f', "l"(px_policy_{cache}())') if cache else ("", "")
    what = f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}.{_type(binding, _element(binding))}"
    return pieces(cache, f"""\
{HEAD} void {_bulk_name(binding)}(void* to, const void* from, unsigned int bytes) {{
    if (bytes)
        asm volatile("{what} [%0], [%1], %2{", %3" if cache else ""};"
                     :: "l"(__cvta_generic_to_global(to)), "r"(px_smem(from)), "r"(bytes){policy} : "memory");
}}
""")  # fmt: skip


def _bulk_meaning(binding: Binding, transfer: Transfer, destination: Any, source: Any, n: Any = None) -> None:
    element = _element(binding)
    size, count = element.bytes, whole_of(binding, "source") if n is None else n
    if n is not None:
        transfer.require(n >= 0, "`n` is negative")
        transfer.require(n * size % BULK_BYTES == 0, f"`n` times {size} bytes is no multiple of 16 bytes")
    transfer.align(destination, BULK_BYTES)
    transfer.align(source, BULK_BYTES)
    transfer.reduce(destination, source, count, step_of(binding, element))


bulk_reduce = Intrinsic(
    name="bulk_reduce",
    doc=(
        'bulk_reduce(p[j], s, n=elements, op="add", cache=""): combine p[j : j + n] with the shared tile s, or s[i :], by '
        f"default all of it; n elements and both addresses are multiples of 16 bytes. {_TEXT} {CACHE_TEXT}"
    ),
    parameters=(
        Parameter("destination", "element", effect="update", atomic=True, exact=False, space="global"),
        Parameter("source", "tile", exact=False),
        Parameter("n", "value", INT32, optional=True),
        OP,
        CACHE,
    ),
    cuda=_bulk_cuda,
    preamble=_bulk_preamble,
    meaning=_bulk_meaning,
    problem=_bulk_problem,
    min_arch="sm_90",
    asynchronous="bulk",
    source="PTX ISA 9.7.9.25.4.2 cp.reduce.async.bulk",
)


# -- of tiles of a tensor ------------------------------------------------------------------------------------------------


def _tensor_problem(binding: Binding) -> str:
    op, element = op_of(binding), binding.maps["tensor"].element
    if found := tensor_problem(binding) or element_problem(op, element):
        return found
    if element == INT64 and op in ("min", "max"):
        return f"a tensor map has int64 as its bits, without a sign: `bulk_reduce` has `op={op!r}` of it"
    return ""


def _tensor_name(binding: Binding) -> str:
    return hint_name(f"px_tma_{op_of(binding)}_{len(binding.maps['tensor'].box)}d", cache_of(binding))


def _tensor_cuda(binding: Binding, map: str, *operands: str) -> str:
    return f"{_tensor_name(binding)}{slabs_of(binding)}({', '.join([operands[-1], map, *operands[:-1]])})"


def _tensor_preamble(binding: Binding) -> str:
    rank, cache = len(binding.maps["tensor"].box), cache_of(binding)
    formals, given, actual = coordinates(rank, 2)
    what = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{op_of(binding)}.tile.bulk_group"
    what += ".L2::cache_hint" * bool(cache)
    more, policy = (f", %{2 + rank}", f', "l"(px_policy_{cache}())') if cache else ("", "")
    return pieces(cache, f"""\
template <int COUNT, int BYTES, int COLUMNS>
{HEAD} void {_tensor_name(binding)}(const void* tile, const void* map, {formals}) {{
#pragma unroll
    for (int s = 0; s < COUNT; ++s)
        asm volatile("{what} [%1, {given}], [%0]{more};"
                     :: "r"(px_smem(tile) + s * BYTES), "l"(map), {actual}{policy} : "memory");
}}
""")  # fmt: skip


def _tensor_meaning(binding: Binding, transfer: Transfer, tensor: Any, tile: Any) -> None:
    transfer.reduce_tile(tensor, tile, step_of(binding, binding.maps["tensor"].element))


tma_reduce = Intrinsic(
    name="tma_reduce",
    doc=(
        'tma_reduce(map[i, j], s, op="add", cache=""): combine the tile of the tensor that begins at [i, j] with the shared tile '
        f"s; what is outside the tensor is left alone. {_TEXT} {CACHE_TEXT}"
    ),
    parameters=(
        Parameter("tensor", "tensor", effect="update", atomic=True),
        Parameter("tile", "tile", exact=False),
        OP,
        CACHE,
    ),
    cuda=_tensor_cuda,
    preamble=_tensor_preamble,
    meaning=_tensor_meaning,
    problem=_tensor_problem,
    min_arch="sm_90",
    asynchronous="bulk",
    source="PTX ISA 9.7.9.25.5.4 cp.reduce.async.bulk.tensor",
)

REDUCTIONS = (bulk_reduce, tma_reduce)
