"""Intrinsics as closures: what their declarations mean, for the threads that are active."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from prism.interpret.errors import DivergenceError
from prism.interpret.frame import Frame, Local, Wait
from prism.interpret.memory import Checker, IntrinsicMemory, Reference
from prism.interpret.pointers import address_of
from prism.interpret.scope import Eval, Scope
from prism.interpret.values import dtype_of
from prism.lang.intrinsics.base import Binding, Parameter
from prism.lang.perspective import Level
from prism.lang.tree import Apply, Array, Element, Expr, Item, Pointer, Scalar, Vector
from prism.lang.types import Mailbox

Operand = Callable[[Frame, Any], Any]


def compile_apply(scope: Scope, node: Apply) -> Eval:
    """An intrinsic: thread by thread, a collective of a warp, or memory."""
    if node.intrinsic.meaning is None:
        raise TypeError(f"`{node.intrinsic.name}` has no meaning on the CPU")
    pairs = list(zip((p for p in node.intrinsic.parameters if p.kind != "static"), node.arguments, strict=False))
    binding = _binding(node, pairs)
    if node.intrinsic.touches_memory:
        return _memory(scope, node, binding, pairs)
    if node.intrinsic.elementwise or node.intrinsic.requires.size == 1:
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
        values = [
            np.broadcast_to(np.asarray(operand(frame), dtype), (threads,)).reshape(-1, size)
            for operand, dtype in operands
        ]
        if frame.mask is True:
            return finish(frame, np.asarray(meaning(binding, *values)).reshape(threads))
        rows = frame.mask.reshape(-1, size)
        units = rows.any(axis=1)
        if (units != rows.all(axis=1)).any():
            raise _divergence(frame, node, rows)
        found = np.asarray(meaning(binding, *[value[units] for value in values]))
        result = np.zeros(rows.shape, found.dtype)
        result[units] = found
        return finish(frame, result.reshape(threads))

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
    dtype = np.dtype(binding.scalar.numpy if binding.scalar is not None else "int32")
    meaning = node.intrinsic.meaning
    assert meaning is not None
    arrays = [k for k, (parameter, _) in enumerate(pairs) if parameter.kind == "array"]

    def prepare(frame: Frame) -> tuple[Any, list[Any], Any]:
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


def _operand(scope: Scope, parameter: Parameter, argument: Expr) -> Operand:
    if parameter.kind == "element" and isinstance(argument, Element):
        locate = address_of(scope, argument)

        def reference(frame: Frame, lanes: Any) -> Reference:
            region, index = locate(frame)
            picked = index[lanes] if isinstance(index, np.ndarray) else np.full(len(lanes), index)
            return Reference(region, picked.astype(np.int64))

        return reference
    if isinstance(argument, Item) and parameter.kind == "element":
        raise TypeError(f"`{parameter.name}` takes an element of memory, not of a local array")
    value = scope.evaluate(argument)
    if parameter.kind == "array":
        return lambda frame, lanes: _rows(value(frame), lanes)
    dtype = dtype_of(argument.type)

    def picked(frame: Frame, lanes: Any) -> Any:
        found = value(frame)
        if not isinstance(found, np.ndarray):
            return dtype.type(found)
        if isinstance(argument.type, Vector) and found.ndim == 1:
            return np.broadcast_to(found, (len(lanes), len(found)))
        return found if frame.mask is True else found[lanes]

    return picked


def _rows(local: Local, lanes: Any) -> Any:
    data = local.data
    flat = (
        data.reshape(-1, data.shape[-1]).T[lanes] if local.each else np.repeat(data.reshape(1, -1), len(lanes), axis=0)
    )
    rows = np.ascontiguousarray(flat).view(_Rows)
    rows.local, rows.lanes = local, lanes
    return rows


def _write_back(scope: Scope, frame: Frame, rows: Any) -> None:
    local, lanes = rows.local, rows.lanes
    values = np.asarray(rows)
    if not local.each:
        local.data[...] = values[0].reshape(local.data.shape)
    else:
        local.data.reshape(-1, local.data.shape[-1])[:, lanes] = values.T
    if local.initialised is not None:
        local.initialised[..., lanes if local.each else slice(None)] = True


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
