"""Intrinsics as closures: what their declarations mean, for the threads that are active."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from prism.interpret.errors import BoundsError, DivergenceError, MachineError, NoMeaningError, UninitialisedError
from prism.interpret.frame import Frame, Local, Wait
from prism.interpret.memory import Checker, IntrinsicMemory, Reference
from prism.interpret.pointers import address_of
from prism.interpret.scope import Eval, Scope
from prism.interpret.values import dtype_of
from prism.lang.intrinsics.declaration import Binding, Parameter
from prism.lang.perspective import THREAD, Level
from prism.lang.tree import Apply, Array, Element, Expr, Item, Pointer, Scalar, Var, Vector
from prism.lang.types import Mailbox

Operand = Callable[[Frame, Any], Any]


def compile_apply(scope: Scope, node: Apply) -> Eval:
    """An intrinsic: thread by thread, a collective of a warp, or memory."""
    if node.intrinsic.meaning is None:
        raise no_meaning(node)
    pairs = list(zip((p for p in node.intrinsic.parameters if p.kind != "static"), node.arguments, strict=False))
    binding = _binding(node, pairs)
    if node.intrinsic.touches_memory:
        return _memory(scope, node, binding, pairs)
    if any(parameter.kind == "array" for parameter, _ in pairs):
        return _fragments(scope, node, binding, pairs)
    if node.intrinsic.elementwise or node.intrinsic.requires == THREAD:
        return _elementwise(scope, node, binding)
    return _collective(scope, node, binding)


def _binding(node: Apply, pairs: list[tuple[Parameter, Expr]]) -> Binding:
    scalar = next((_scalar_of(a.type) for p, a in pairs if p.type == "T"), None)
    if scalar is None and isinstance(node.type, Scalar):
        scalar = node.type
    lengths = {}
    for parameter, argument in pairs:
        if isinstance(argument.type, Vector):
            lengths[parameter.name] = argument.type.length
        elif isinstance(argument.type, Array):
            lengths[parameter.name] = argument.type.size
    return Binding(scalar, dict(node.statics), lengths)


def _scalar_of(type_: Any) -> Scalar | None:
    match type_:
        case Scalar():
            return type_
        case Vector() | Array() | Pointer() | Mailbox():
            return _scalar_of(type_.element)
        case _:
            return None


def _finish(node: Apply) -> Callable[[Frame, Any], Any]:
    """Return the function that brings results of all threads to the node's type and perspective."""
    if not isinstance(node.type, Scalar | Vector):
        return lambda frame, found: None
    dtype, uniform, vector = dtype_of(node.type), node.perspective.level > Level.THREAD, isinstance(node.type, Vector)

    def finish(frame: Frame, found: Any) -> Any:
        found = np.asarray(found).astype(dtype, copy=False)
        if found.ndim == (1 if vector else 0):
            return found if vector else found.item()
        if uniform:
            one = found[frame.first()]
            return one if vector else one.item()
        return found

    return finish


def _elementwise(scope: Scope, node: Apply, binding: Binding) -> Eval:
    operands = [(scope.evaluate(a), dtype_of(a.type)) for a in node.arguments]
    meaning, finish = node.intrinsic.meaning, _finish(node)
    assert meaning is not None

    def evaluate(frame: Frame) -> Any:
        return finish(frame, meaning(binding, *[_typed(operand(frame), dtype) for operand, dtype in operands]))

    return evaluate


def _typed(value: Any, dtype: np.dtype[Any]) -> Any:
    return value if isinstance(value, np.ndarray) else dtype.type(value)


def _collective(scope: Scope, node: Apply, binding: Binding) -> Eval:
    intrinsic, finish = node.intrinsic, _finish(node)
    operands = [(scope.evaluate(a), dtype_of(a.type)) for a in node.arguments]
    meaning = intrinsic.meaning
    assert meaning is not None

    def evaluate(frame: Frame) -> Any:
        threads = frame.block.machine.threads
        size = intrinsic.requires.size if intrinsic.requires.level == Level.THREAD else threads
        whole = threads // size * size  # an arm of a warp may stand in a block of 48 threads
        values = [
            np.broadcast_to(np.asarray(operand(frame), dtype), (threads,))[:whole].reshape(-1, size)
            for operand, dtype in operands
        ]
        if frame.mask is True:
            found = np.asarray(meaning(binding, *values))
            found = np.broadcast_to(found, (threads // size, size, *found.shape[2:]))
            return finish(frame, found.reshape(threads, *found.shape[2:]))
        rows = frame.mask[:whole].reshape(-1, size)
        units = rows.any(axis=1)
        if (units != rows.all(axis=1)).any():
            raise _divergence(frame, node, rows)
        found = np.asarray(meaning(binding, *[value[units] for value in values]))
        result = np.zeros((threads, *found.shape[2:]), found.dtype)
        result[:whole].reshape(*rows.shape, *found.shape[2:])[units] = found
        return finish(frame, result)

    return evaluate


def no_meaning(node: Apply) -> MachineError:
    """Return the error of an intrinsic that only the GPU knows."""
    name = node.intrinsic.name
    return NoMeaningError(
        f"`{name}` has no meaning on the reference machine: it was declared without one",
        node.span,
        here="applied here",
        perspective=node.code,
        barrier="give it one, `@intrinsic(..., meaning=...)`, or run the kernel on a GPU",
    )


def _whole(frame: Frame, node: Apply) -> None:
    """Report a unit of which only a part runs a collective."""
    if frame.mask is True or node.intrinsic.requires.level != Level.THREAD:
        return
    rows = frame.mask.reshape(-1, node.intrinsic.requires.size)
    if (rows.any(axis=1) != rows.all(axis=1)).any():
        raise _divergence(frame, node, rows)


def _fragments(scope: Scope, node: Apply, binding: Binding, pairs: list[tuple[Parameter, Expr]]) -> Eval:
    """A collective, or a function of each thread, on local arrays: rows of whole units, some written in place."""
    operands = [_operand(scope, parameter, argument) for parameter, argument in pairs]
    written = [k for k, (parameter, _) in enumerate(pairs) if parameter.kind == "array" and parameter.effect != "read"]
    size, meaning = node.intrinsic.requires.size, node.intrinsic.meaning
    assert meaning is not None

    def evaluate(frame: Frame) -> Any:
        _whole(frame, node)
        lanes = frame.active()
        values = [operand(frame, lanes) for operand in operands]
        units = []
        for (parameter, _), value in zip(pairs, values, strict=True):
            if parameter.kind == "array" or (isinstance(value, np.ndarray) and value.ndim):
                units.append(value.reshape(-1, size, *value.shape[1:]))
            else:
                units.append(np.broadcast_to(value, (len(lanes) // size, size)))
        found = meaning(binding, *units)
        for k in written:
            _write_back(scope, frame, values[k])
        return _spread(
            frame, lanes, None if found is None else np.asarray(found).reshape(len(lanes), *found.shape[2:]), node
        )

    return evaluate


def _divergence(frame: Frame, node: Apply, rows: Any) -> DivergenceError:
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


# -- memory ---------------------------------------------------------------------------------------------------------------


def _memory(scope: Scope, node: Apply, binding: Binding, pairs: list[tuple[Parameter, Expr]]) -> Eval:
    operands = [_operand(scope, parameter, argument) for parameter, argument in pairs]
    checker = Checker(node.span, node.code) if scope.check else None
    dtype = np.dtype("int32") if binding.scalar is None else dtype_of(binding.scalar)
    meaning = node.intrinsic.meaning
    assert meaning is not None
    arrays = [k for k, (parameter, _) in enumerate(pairs) if parameter.kind == "array" and parameter.effect != "read"]

    def prepare(frame: Frame) -> tuple[Any, list[Any], Any]:
        _whole(frame, node)
        lanes = frame.active()
        values = [operand(frame, lanes) for operand in operands]
        return lanes, values, meaning(binding, IntrinsicMemory(frame, lanes, checker, dtype), *values)

    def deliver(frame: Frame, lanes: Any, values: list[Any], found: Any) -> Any:
        for k in arrays:
            _write_back(scope, frame, values[k])
        return _spread(frame, lanes, found, node)

    if not node.intrinsic.blocking:

        def evaluate(frame: Frame) -> Any:
            lanes, values, found = prepare(frame)
            return deliver(frame, lanes, values, found)

        return evaluate
    return _blocking(scope, node, prepare, deliver)


def _blocking(scope: Scope, node: Apply, prepare: Any, deliver: Any) -> Eval:
    """Return the closure of a result that the statement's `waits` have put into a slot of its own."""
    slot = scope.fresh()

    def wait(frame: Frame) -> Generator[None, None, None]:
        lanes, values, steps = prepare(frame)
        state = Wait(node.span, f"`{node.intrinsic.name}` waits", int(lanes[0]))
        frame.block.waits.append(state)
        found = yield from steps
        frame.block.waits.remove(state)
        frame.values[slot] = deliver(frame, lanes, values, found)

    scope.waits.append(wait)
    return lambda frame: frame.values[slot]


class _Rows(np.ndarray[Any, Any]):
    """A local array as an intrinsic sees it, (active, length), with where it came from."""

    local: Local
    lanes: Any
    where: tuple[Any, ...]


def _operand(scope: Scope, parameter: Parameter, argument: Expr) -> Operand:
    if parameter.kind == "element" and isinstance(argument, Element):
        locate = address_of(scope, argument)

        def reference(frame: Frame, lanes: Any) -> Reference:
            region, index = locate(frame)
            picked = index[lanes] if isinstance(index, np.ndarray) else np.full(len(lanes), index)
            return Reference(region, picked.astype(np.int64))

        return reference
    if parameter.kind == "array":
        return _array_operand(scope, parameter, argument)
    if isinstance(argument, Item) and parameter.kind == "element":
        raise TypeError(f"`{parameter.name}` takes an element of memory, not of a local array")
    value = scope.evaluate(argument)
    dtype = dtype_of(argument.type)

    def picked(frame: Frame, lanes: Any) -> Any:
        found = value(frame)
        if not isinstance(found, np.ndarray):
            return dtype.type(found)
        if isinstance(argument.type, Vector) and found.ndim == 1:
            return np.broadcast_to(found, (len(lanes), len(found)))
        return found if frame.mask is True else found[lanes]

    return picked


def _array_operand(scope: Scope, parameter: Parameter, argument: Expr) -> Operand:
    """A local array, or a row of one."""
    assert isinstance(argument, Item | Var)
    slot = scope.slot(argument.symbol)
    indices = [scope.evaluate(index) for index in argument.indices] if isinstance(argument, Item) else []
    reads = scope.check and parameter.effect != "write"

    def rows(frame: Frame, lanes: Any) -> Any:
        picked = (index(frame) for index in indices)
        where = tuple(k[lanes] if isinstance(k, np.ndarray) else k for k in picked)
        local: Local = frame.values[slot]
        _check_rows(frame, argument, local, where, lanes, reads)
        return _rows(local, where, lanes)

    return rows


def _check_rows(
    frame: Frame, argument: Var | Item, local: Local, where: tuple[Any, ...], lanes: Any, reads: bool
) -> None:
    name, extents = argument.symbol.name, local.data.shape
    perspective, block = argument.perspective, frame.block.number
    for k, extent in zip(where, extents, strict=False):
        values = np.broadcast_to(np.asarray(k), lanes.shape)
        bad = (values < 0) | (values >= extent)
        if bad.any():
            at = int(bad.argmax())
            text = f"index {int(values[at])} is outside `{name}`, which has {extent} rows there"
            raise BoundsError(
                text, argument.span, here="this row", thread=int(lanes[at]), perspective=perspective, block=block
            )
    if reads and local.initialised is not None:
        known = _gather(local, local.initialised, where, lanes)
        if not known.all():
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


def _write_back(scope: Scope, frame: Frame, rows: Any) -> None:
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


def _spread(frame: Frame, lanes: Any, found: Any, node: Apply) -> Any:
    if not isinstance(node.type, Scalar | Vector):
        return None
    found = np.asarray(found).astype(dtype_of(node.type), copy=False)
    if node.perspective.level > Level.THREAD:
        return found[0].item() if found.ndim == 1 else found[0]
    if frame.mask is True:
        return found
    result = np.zeros((frame.block.machine.threads, *found.shape[1:]), found.dtype)
    result[lanes] = found
    return result
