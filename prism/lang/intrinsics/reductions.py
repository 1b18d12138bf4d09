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
    CACHE,
    CACHE_TEXT,
    bulk_bytes,
    bulk_count,
    bulk_problem,
    bulk_text,
    cache_of,
    hint_name,
    tensor_problem,
    tile_call,
    tile_text,
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
    kind = _type(binding, _element(binding))
    return bulk_text(
        _bulk_name(binding), "cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}." + kind, cache_of(binding)
    )


def _bulk_meaning(binding: Binding, transfer: Transfer, destination: Any, source: Any, n: Any = None) -> None:
    count = bulk_count(binding, transfer, "source", (destination, source), n)
    transfer.reduce(destination, source, count, step_of(binding, _element(binding)))


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
    return tile_call(_tensor_name(binding), binding, map, *operands)


def _tensor_preamble(binding: Binding) -> str:
    rank = len(binding.maps["tensor"].box)
    what = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{op_of(binding)}.tile.bulk_group"
    return tile_text(_tensor_name(binding), what, binding)


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
