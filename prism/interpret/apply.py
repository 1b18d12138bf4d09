"""Intrinsics as closures: what their declarations mean, for the threads that are active."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np

from prism.interpret.checker import Checker
from prism.interpret.errors import MachineError, NoMeaningError, index_refused
from prism.interpret.frame import Frame, Wait
from prism.interpret.lanes import anywhere
from prism.interpret.memory import IntrinsicMemory
from prism.interpret.operands import divergence, operand_of, whole_units, write_back
from prism.interpret.regions import Reference
from prism.interpret.scope import Eval, Scope
from prism.interpret.transfers import compile_transfer
from prism.interpret.values import dtype_of
from prism.interpret.wgmma import compile_wgmma
from prism.lang.intrinsics.declaration import Binding, Parameter
from prism.lang.tree import Apply, Expr, Scalar, Vector
from prism.lang.tree.bind import binding_of, operands_of
from prism.lang.types.perspective import THREAD, Level


def compile_apply(scope: Scope, node: Apply) -> Eval:
    """An intrinsic: thread by thread, a collective of a warp, or memory."""
    if node.intrinsic.meaning is None:
        raise no_meaning(node)
    if any(parameter.kind == "map" for parameter in node.intrinsic.parameters) or _needs_nobody(scope, node):
        return lambda frame: None
    pairs = operands_of(node)
    binding = binding_of(node)
    if binding.scalar is None and isinstance(node.type, Scalar):
        binding = replace(binding, scalar=node.type)
    if node.intrinsic.asynchronous == "wgmma":
        return compile_wgmma(scope, node)
    if node.intrinsic.asynchronous:
        return compile_transfer(scope, node)
    if node.intrinsic.touches_memory:
        return _memory(scope, node, binding, pairs)
    if any(parameter.kind == "array" for parameter, _ in pairs):
        return _fragments(scope, node, binding, pairs)
    if node.intrinsic.elementwise or node.intrinsic.requires == THREAD:
        return _elementwise(scope, node, binding)
    return _collective(scope, node, binding)


def _needs_nobody(scope: Scope, node: Apply) -> bool:
    """Whether it is a hint to the hardware (`set_registers`), which the roles of one unit may each give for themselves."""
    operands = [p for p in node.intrinsic.parameters if p.kind != "static"]
    return scope.shop.mode.apart and node.intrinsic.result is None and not operands and not node.intrinsic.orders


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
    return value if isinstance(value, np.ndarray) else np.asarray(value, dtype)[()]


def _collective(scope: Scope, node: Apply, binding: Binding) -> Eval:
    intrinsic, finish = node.intrinsic, _finish(node)
    operands = [(scope.evaluate(a), dtype_of(a.type)) for a in node.arguments]
    vectors = [(a.type.length,) if isinstance(a.type, Vector) else () for a in node.arguments]
    meaning = intrinsic.meaning
    assert meaning is not None

    def evaluate(frame: Frame) -> Any:
        threads = frame.block.machine.threads
        size = intrinsic.requires.size if intrinsic.requires.level == Level.THREAD else threads
        whole = threads // size * size  # an arm of a warp may stand in a block of 48 threads
        values = []
        for (operand, dtype), components in zip(operands, vectors, strict=True):
            value = np.asarray(operand(frame), dtype)
            if value.shape != (threads, *components):
                value = np.full((threads, *components), value)
            values.append(value[:whole].reshape(-1, size, *components))
        if frame.mask is True:
            found = np.asarray(meaning(binding, *values))
            if found.shape[:2] != (threads // size, size):
                found = np.broadcast_to(found, (threads // size, size, *found.shape[2:]))
            return finish(frame, found.reshape(threads, *found.shape[2:]))
        rows = frame.mask[:whole].reshape(-1, size)
        units = rows.any(axis=1)
        if anywhere(units != rows.all(axis=1)):
            raise divergence(frame, node, rows)
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


def _fragments(scope: Scope, node: Apply, binding: Binding, pairs: list[tuple[Parameter, Expr]]) -> Eval:
    """A collective, or a function of each thread, on local arrays: rows of whole units, some written in place."""
    operands = [operand_of(scope, parameter, argument) for parameter, argument in pairs]
    written = [k for k, (parameter, _) in enumerate(pairs) if parameter.kind == "array" and parameter.effect != "read"]
    size, meaning = node.intrinsic.requires.size, node.intrinsic.meaning
    assert meaning is not None

    def evaluate(frame: Frame) -> Any:
        whole_units(frame, node)
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
            write_back(values[k])
        return _spread(
            frame, lanes, None if found is None else np.asarray(found).reshape(len(lanes), *found.shape[2:]), node
        )

    return evaluate


# -- memory ---------------------------------------------------------------------------------------------------------------


def _memory(scope: Scope, node: Apply, binding: Binding, pairs: list[tuple[Parameter, Expr]]) -> Eval:
    operands = [operand_of(scope, parameter, argument) for parameter, argument in pairs]
    checker = Checker(node.span, node.code) if scope.check else None
    dtype = np.dtype("int32") if binding.scalar is None else dtype_of(binding.scalar)
    meaning = node.intrinsic.meaning
    assert meaning is not None
    arrays = [k for k, (parameter, _) in enumerate(pairs) if parameter.kind == "array" and parameter.effect != "read"]
    near = binding.statics.get("scope") == "block"

    def prepare(frame: Frame) -> tuple[Any, list[Any], Any]:
        whole_units(frame, node)
        lanes = frame.active()
        values = [operand(frame, lanes) for operand in operands]
        try:
            return lanes, values, meaning(binding, IntrinsicMemory(frame, lanes, checker, dtype, near), *values)
        except IndexError as error:
            raise index_refused(node.intrinsic.name, error, node.span, node.code, frame.block.number) from None

    def deliver(frame: Frame, lanes: Any, values: list[Any], found: Any) -> Any:
        for k in arrays:
            write_back(values[k])
        return _spread(frame, lanes, found, node)

    if not node.intrinsic.blocking:

        def evaluate(frame: Frame) -> Any:
            lanes, values, found = prepare(frame)
            return deliver(frame, lanes, values, found)

        return evaluate
    return _blocking(scope, node, prepare, deliver)


def _describe_boxes(boxes: list[Reference]) -> str:
    """Name the first elements that the first thread asks for."""
    return " and ".join(f"`{box.region.name}[{int(box.index[0])}]`" for box in boxes)


def _blocking(scope: Scope, node: Apply, prepare: Any, deliver: Any) -> Eval:
    """Return the closure of a result that the statement's `waits` have put into a slot of its own."""
    slot = scope.fresh()

    def wait(frame: Frame) -> Generator[None, None, None]:
        lanes, values, steps = prepare(frame)
        boxes = [value for value in values if isinstance(value, Reference)]
        state = Wait(
            node.span,
            f"`{node.intrinsic.name}` waits",
            int(lanes[0]),
            needs=lambda: _describe_boxes(boxes),
            calls=frame.calls,
        )
        frame.block.waits.append(state)
        try:
            found = yield from steps
        except IndexError as error:
            raise index_refused(node.intrinsic.name, error, node.span, node.code, frame.block.number) from None
        frame.block.waits.remove(state)
        frame.values[slot] = deliver(frame, lanes, values, found)

    scope.waits.append(wait)
    return lambda frame: frame.values[slot]


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
