"""Operands of intrinsics as closures: values, elements of memory, local arrays, tiles, tensors, fragments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.interpret.errors import BoundsError, DivergenceError, UninitialisedError
from prism.interpret.frame import Frame, Local
from prism.interpret.lanes import anywhere, everywhere, first_outside
from prism.interpret.pointers import address_of
from prism.interpret.regions import Reference
from prism.interpret.scope import Scope
from prism.interpret.shares import parts_of
from prism.interpret.tensors import tensor_operand, tile_operand
from prism.interpret.values import dtype_of
from prism.lang import tree
from prism.lang.intrinsics.declaration import Parameter
from prism.lang.types.perspective import Level

Operand = Callable[[Frame, Any], Any]
"""What an operand is for the active threads, which are given."""


class _Rows(np.ndarray[Any, Any]):
    """A local array as an intrinsic sees it, (active, length), with where it came from."""

    local: Local
    lanes: Any
    where: tuple[Any, ...]


def operand_of(scope: Scope, parameter: Parameter, argument: tree.Expr) -> Operand:  # noqa: C901
    """Return the closure of an operand, for the threads that are active."""
    if parameter.kind == "element" and isinstance(argument, tree.Element):
        locate, parts = address_of(scope, argument), parts_of(argument.symbol)

        def reference(frame: Frame, lanes: Any) -> Reference:
            region, index = locate(frame)
            picked = index[lanes] if isinstance(index, np.ndarray) else np.full(len(lanes), index)
            return Reference(region, picked.astype(np.int64), parts=region.parts + parts)

        return reference
    if parameter.kind == "array":
        return _array_operand(scope, parameter, argument)
    if parameter.kind in ("tensor", "map"):
        return tensor_operand(scope, argument)
    if isinstance(argument, tree.Var) and isinstance(argument.type, tree.Fragment):
        slot = scope.slot(argument.symbol)
        return lambda frame, lanes: frame.values[slot]
    if parameter.kind == "tile":
        return tile_operand(scope, argument)
    if isinstance(argument, tree.Item) and parameter.kind == "element":
        raise TypeError(f"`{parameter.name}` takes an element of memory, not of a local array")
    value = scope.evaluate(argument)
    dtype = dtype_of(argument.type)

    def picked(frame: Frame, lanes: Any) -> Any:
        found = value(frame)
        if not isinstance(found, np.ndarray):
            return np.asarray(found, dtype)[()]
        if isinstance(argument.type, tree.Vector) and found.ndim == 1:
            return np.broadcast_to(found, (len(lanes), len(found)))
        return found if frame.mask is True else found[lanes]

    return picked


def _array_operand(scope: Scope, parameter: Parameter, argument: tree.Expr) -> Operand:
    """A local array, or a row of one."""
    assert isinstance(argument, tree.Item | tree.Var)
    slot = scope.slot(argument.symbol)
    indices = [scope.evaluate(index) for index in argument.indices] if isinstance(argument, tree.Item) else []
    reads = scope.check and parameter.effect != "write"

    def rows(frame: Frame, lanes: Any) -> Any:
        picked = (index(frame) for index in indices)
        where = tuple(k[lanes] if isinstance(k, np.ndarray) else k for k in picked)
        local: Local = frame.values[slot]
        _check_rows(frame, argument, local, where, lanes, reads)
        return _rows(local, where, lanes)

    return rows


def _check_rows(
    frame: Frame, argument: tree.Var | tree.Item, local: Local, where: tuple[Any, ...], lanes: Any, reads: bool
) -> None:
    name, extents = argument.symbol.name, local.data.shape
    perspective, block = argument.perspective, frame.block.number
    for k, extent in zip(where, extents, strict=False):
        if (found := first_outside(k, extent, lanes)) is not None:
            text = f"index {found[0]} is outside `{name}`, which has {extent} rows there"
            raise BoundsError(
                text, argument.span, here="this row", thread=found[1], perspective=perspective, block=block
            )
    if reads and local.initialised is not None:
        known = _gather(local, local.initialised, where, lanes)
        if not everywhere(known):
            lane = int(lanes[int(np.argmin(known.all(axis=1)))])
            text = f"`{name}` is read where nothing was written"
            raise UninitialisedError(
                text, argument.span, here="read here", thread=lane, perspective=perspective, block=block
            )


def _gather(local: Local, data: Any, where: tuple[Any, ...], lanes: Any) -> Any:
    """Return a row of an array for each of these threads, flat."""
    if not local.each:
        found = data[where]
        varies = any(isinstance(k, np.ndarray) for k in where)
        return found.reshape(len(lanes), -1) if varies else np.repeat(found.reshape(1, -1), len(lanes), axis=0)
    if any(isinstance(k, np.ndarray) for k in where):
        rest = (slice(None),) * (data.ndim - 1 - len(where))
        return np.moveaxis(data, -1, len(where))[(*where, lanes, *rest)].reshape(len(lanes), -1)
    found = data[where]
    return found.reshape(-1, found.shape[-1]).T[lanes]


def _rows(local: Local, where: tuple[Any, ...], lanes: Any) -> Any:
    rows = np.array(_gather(local, local.data, where, lanes), order="C").view(_Rows)
    rows.local, rows.lanes, rows.where = local, lanes, where
    return rows


def write_back(rows: Any) -> None:
    """Store what an intrinsic wrote to a local array."""
    local, lanes, where = rows.local, rows.lanes, rows.where
    values = np.asarray(rows)
    if local.each:
        moved = np.moveaxis(local.data, -1, len(where))
        rest = (slice(None),) * (moved.ndim - 1 - len(where))
        moved[(*where, lanes, *rest)] = values.reshape(len(lanes), *moved.shape[len(where) + 1 :])
        if local.initialised is not None:
            np.moveaxis(local.initialised, -1, len(where))[(*where, lanes, *rest)] = True
        return
    first = tuple(k[0] if isinstance(k, np.ndarray) else k for k in where)
    local.data[first] = values[0].reshape(local.data[first].shape)
    if local.initialised is not None:
        local.initialised[first] = True


def whole_units(frame: Frame, node: tree.Apply) -> None:
    """Report a unit of which only a part runs a collective."""
    if frame.mask is True or node.intrinsic.requires.level != Level.THREAD:
        return
    rows = frame.mask.reshape(-1, node.intrinsic.requires.size)
    if anywhere(rows.any(axis=1) != rows.all(axis=1)):
        raise divergence(frame, node, rows)


def divergence(frame: Frame, node: tree.Apply, rows: Any) -> DivergenceError:
    """Return the error of a unit of which not all run a collective."""
    unit = int((rows.any(axis=1) != rows.all(axis=1)).argmax())
    lane = unit * rows.shape[1] + int(np.argmin(rows[unit]))
    return DivergenceError(
        f"`{node.intrinsic.name}` needs all threads of {node.intrinsic.requires}, and some don't run it",
        node.span,
        here=f"thread {lane} is not here",
        perspective=node.intrinsic.requires,
        thread=lane,
        block=frame.block.number,
    )
