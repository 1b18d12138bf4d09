"""Typed expressions as closures over a frame."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np

from prism.interpret.apply import compile_apply
from prism.interpret.calls import compile_call
from prism.interpret.checker import Checker
from prism.interpret.errors import UninitialisedError, index_refused
from prism.interpret.fragments import compile_place
from prism.interpret.frame import Frame
from prism.interpret.items import compile_item
from prism.interpret.lanes import both, first_outside, minus, take, unwrap
from prism.interpret.pointers import access_each_part, address_of, pointer_value
from prism.interpret.regions import mix_pointers
from prism.interpret.scope import Eval, Scope
from prism.interpret.undefined_arithmetic import defined_binary, defined_negation, may_be_undefined
from prism.interpret.values import Operation, binary, cast, dtype_of, merging, operations, unary, wrap
from prism.lang import tree
from prism.lang.types.perspective import Level
from prism.lang.types.shorts import bits_of, values_of
from prism.lang.types.structs import Struct


def compile_expression(scope: Scope, expression: tree.Expr) -> Eval:  # noqa: C901
    """Return the closure that evaluates an expression for the threads that are active in a frame."""
    node = typing.cast(tree.AnyExpr, expression)
    match node:
        case tree.Const():
            return compile_const(node)
        case tree.Var():
            return compile_var(scope, node)
        case tree.Unary():
            return compile_unary(scope, node)
        case tree.Binary():
            return compile_binary(scope, node)
        case tree.Select():
            return compile_select(scope, node)
        case tree.Cast():
            return compile_cast(scope, node)
        case tree.Item():
            return compile_item(scope, node)
        case tree.Element():
            return compile_element(scope, node)
        case tree.Component():
            return compile_component(scope, node)
        case tree.Id():
            return compile_id(scope, node)
        case tree.Count():
            return compile_count(node)
        case tree.Place():
            return compile_place(scope, node)
        case tree.Call():
            return compile_call(scope, node)
        case tree.Apply():
            return compile_apply(scope, node)


def scalar_type(node: tree.Expr) -> tree.Scalar:
    """Return the type of a scalar expression."""
    if not isinstance(node.type, tree.Scalar):
        raise TypeError(f"{node.type} is no scalar")
    return node.type


def is_pure(scope: Scope, node: tree.Expr) -> bool:
    """Whether evaluating it for threads that don't need it is harmless."""
    risky: tuple[type, ...] = (tree.Element, tree.Item, tree.Apply, tree.Call)
    if scope.check:
        risky = (*risky, tree.Var)
    return not isinstance(node, risky) and all(is_pure(scope, part) for part in tree.operands(node))


def compile_const(node: tree.Const) -> Eval:
    """A literal."""
    value = wrap(node.type)(node.value) if isinstance(node.type, tree.Scalar) else node.value
    return lambda frame: value


def compile_var(scope: Scope, node: tree.Var) -> Eval:
    """A variable, an array by reference, or a pointer."""
    symbol = node.symbol
    if symbol in scope.bound:
        return scope.bound[symbol]
    if isinstance(symbol.type, tree.Pointer):
        return pointer_value(scope, symbol)
    slot = scope.slot(symbol)
    if not scope.check or isinstance(symbol.type, tree.Array | tree.Fragment | tree.TensorMap):
        return lambda frame: frame.values[slot]
    name, span, perspective = symbol.name, node.span, node.perspective

    def checked(frame: Frame) -> Any:
        if slot in frame.holes:
            missing = minus(frame.mask, frame.holes[slot])
            if missing is not False:
                lane = 0 if missing is True else int(np.argmax(missing))
                raise UninitialisedError(
                    f"`{name}` is read before it has a value", span, here="read here", perspective=perspective, thread=lane,
                    block=frame.block.number,
                )  # fmt: skip
        return frame.values[slot]

    return checked


def compile_unary(scope: Scope, node: tree.Unary) -> Eval:
    """`-`, `~`, `not`."""
    operand, scalar = scope.evaluate(node.operand), scalar_type(node)
    apply = unary(node.op, scalar)
    if scope.check and may_be_undefined(node.op, scalar):
        return defined_negation(node, scalar, operand, apply)
    return lambda frame: apply(operand(frame))


def compile_binary(scope: Scope, node: tree.Binary) -> Eval:
    """An operator; `and` and `or` evaluate their right side only where it decides."""
    left, right = scope.evaluate(node.left), scope.evaluate(node.right)
    if node.op in ("and", "or"):
        return _logical(node.op == "and", left, right, is_pure(scope, node.right))
    scalar = scalar_type(node.left)
    apply = binary(node.op, scalar)
    if node.op in ("/", "%") and scalar.integral and isinstance(node.right, tree.Const) and int(node.right.value) > 0:
        return _divide(node.op == "/", left, wrap(scalar)(node.right.value), apply)
    if scope.check and may_be_undefined(node.op, scalar):
        return defined_binary(node, scalar, left, right, apply)
    if node.op in ("<<", ">>"):
        return lambda frame: apply(left(frame), right(frame))
    return _operator(left, right, *operations(node.op, scalar))


def _operator(left: Eval, right: Eval, one: Operation, many: Operation) -> Eval:
    """An operator on numbers, or on arrays: most of what runs, so without another call."""
    array = np.ndarray

    def evaluate(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        return many(a, b) if type(a) is array or type(b) is array else one(a, b)

    return evaluate


def _divide(quotient: bool, left: Eval, by: int, apply: Operation) -> Eval:
    """A quotient or remainder by a positive number, which is the commonest: of an index, for all threads at once."""

    def evaluate(frame: Frame) -> Any:
        a = left(frame)
        if type(a) is int and a >= 0:
            return a // by if quotient else a % by
        return apply(a, by)

    return evaluate


def _logical(conjunction: bool, left: Eval, right: Eval, pure: bool) -> Eval:
    combine = np.logical_and if conjunction else np.logical_or

    def evaluate(frame: Frame) -> Any:
        first = left(frame)
        if not isinstance(first, np.ndarray):
            return right(frame) if bool(first) is conjunction else first
        if pure:
            return combine(first, right(frame))
        mask = frame.mask
        needed = both(mask, first if conjunction else ~first)
        if needed is False:
            return first
        frame.mask = needed
        second = right(frame)
        frame.mask = mask
        return combine(first, second)

    return evaluate


def compile_select(scope: Scope, node: tree.Select) -> Eval:
    """`then if condition else otherwise`."""
    condition = scope.evaluate(node.condition)
    then, otherwise = scope.evaluate(node.then), scope.evaluate(node.otherwise)
    pure = is_pure(scope, node.then) and is_pure(scope, node.otherwise)
    type_ = node.type
    if isinstance(type_, tree.Pointer):
        return _select_pointer(condition, then, otherwise)
    assert isinstance(type_, tree.Scalar | tree.Vector)
    merge = merging(type_)

    def evaluate(frame: Frame) -> Any:
        chosen = condition(frame)
        if not isinstance(chosen, np.ndarray):
            return then(frame) if chosen else otherwise(frame)
        if pure:
            return merge(chosen, then(frame), otherwise(frame))
        mask = frame.mask
        yes = both(mask, chosen)
        no = minus(mask, yes)
        if yes is False or no is False:
            return otherwise(frame) if yes is False else then(frame)
        frame.mask = yes
        first = then(frame)
        frame.mask = no
        second = otherwise(frame)
        frame.mask = mask
        return merge(chosen, first, second)

    return evaluate


def _select_pointer(condition: Eval, then: Eval, otherwise: Eval) -> Eval:
    def chosen(frame: Frame) -> Any:
        which = condition(frame)
        if not isinstance(which, np.ndarray):
            return then(frame) if which else otherwise(frame)
        return mix_pointers((which, then(frame)), (~which, otherwise(frame)))

    return chosen


def compile_cast(scope: Scope, node: tree.Cast) -> Eval:
    """A conversion."""
    operand, convert = scope.evaluate(node.operand), cast(scalar_type(node.operand), scalar_type(node))
    return lambda frame: convert(operand(frame))


def compile_id(scope: Scope, node: tree.Id) -> Eval:
    """The index of a unit inside the current one; in a view's lambda, inside the one that opened the view."""
    origin = scope.origin
    if node.unit.level == Level.GRID:
        return lambda frame: 0
    if origin is not None:
        inner = _id(node)
        return lambda frame: inner(frame.values[origin])
    return _id(node)


def _id(node: tree.Id) -> Eval:
    size, code, dtype = node.unit.size, node.code, dtype_of(node.type).type
    if node.unit.level == Level.BLOCK:
        return lambda frame: frame.bid // size
    if code.level == Level.THREAD or (code.level == Level.BLOCK and code.size == 1):
        return lambda frame: frame.lanes.ids(size)

    def through_blocks(frame: Frame) -> Any:
        first = dtype(frame.bid * frame.block.machine.threads)
        return (frame.lanes.index.astype(dtype, copy=False) + first) // dtype(size)

    return through_blocks


def compile_count(node: tree.Count) -> Eval:
    """The number of units in the current one."""
    size, code = node.unit.size, node.code
    if node.unit.level == Level.GRID or code.level == Level.THREAD:
        return lambda frame: 1 if node.unit.level == Level.GRID else code.size // size

    def counted(frame: Frame) -> int:
        machine = frame.block.machine
        blocks = machine.blocks if code.level == Level.GRID else code.size
        return blocks // size if node.unit.level == Level.BLOCK else blocks * machine.threads // size

    return counted


def field_of(node: tree.Component) -> tuple[str, Any]:
    """Return the name of the field that a component is, and the function from its values to what is stored."""
    struct = node.vector.type
    assert isinstance(struct, Struct) and isinstance(node.index, tree.Const)
    name, scalar = struct.fields[int(node.index.value)]
    return name, (lambda found: bits_of(found, scalar)) if scalar.coded else lambda found: found


def compile_field(scope: Scope, node: tree.Component) -> Eval:
    """A field of a struct."""
    whole, (name, _) = scope.evaluate(node.vector), field_of(node)
    assert isinstance(node.index, tree.Const)
    at, scalar = int(node.index.value), node.type
    assert isinstance(scalar, tree.Scalar)

    def field(frame: Frame) -> Any:
        found = whole(frame)
        one = found[name] if isinstance(found, np.ndarray) else found[at]
        if scalar.kind == "bool" and isinstance(one, np.ndarray):
            return np.ascontiguousarray(one).view(np.uint8) != 0
        if not scalar.coded:
            return one
        return values_of(one, scalar) if isinstance(one, np.ndarray) else values_of(one, scalar).item()

    return field


def compile_component(scope: Scope, node: tree.Component) -> Eval:
    """A vector's component, or a struct's field."""
    if isinstance(node.vector.type, Struct):
        return compile_field(scope, node)
    vector, index = scope.evaluate(node.vector), component_index(scope, node)

    def component(frame: Frame) -> Any:
        whole, k = vector(frame), index(frame)
        if not isinstance(k, np.ndarray):
            return whole[:, k] if whole.ndim == 2 else whole[k].item()
        whole = np.broadcast_to(whole, (len(k), whole.shape[-1]))
        return np.take_along_axis(whole, np.clip(k, 0, whole.shape[-1] - 1)[:, None], axis=1)[:, 0]

    return component


def component_index(scope: Scope, node: tree.Component) -> Eval:
    """Which component, of those that the vector has: the threads that don't run may ask for any."""
    index = scope.evaluate(node.index)
    if isinstance(node.index, tree.Const):
        return index
    assert isinstance(node.vector.type, tree.Vector)
    checker, length = Checker(node.span, node.perspective), node.vector.type.length
    name = (
        node.vector.symbol.name
        if isinstance(node.vector, tree.Var | tree.Item | tree.Element)
        else str(node.vector.type)
    )

    def checked(frame: Frame) -> Any:
        k = index(frame)
        if type(k) is int and 0 <= k < length:
            return k
        lanes = frame.active()
        asked = k[lanes] if isinstance(k, np.ndarray) else k
        if (found := first_outside(asked, length, lanes)) is not None:
            checker.bounds_error(frame, name, found[0], length, found[1])
        return k

    return checked


# -- arrays and memory ----------------------------------------------------------------------------------------------------


def compile_element(scope: Scope, node: tree.Element) -> Eval:
    """A read of memory."""
    address = address_of(scope, node)
    checker = Checker(node.span, node.perspective) if scope.check else None

    def load(frame: Frame) -> Any:
        region, index = address(frame)
        if checker is not None:
            lanes = frame.active()
            if isinstance(index, np.ndarray):
                checker.access(frame, region, index[lanes], lanes, "read")
            else:
                checker.read_one(frame, region, int(index), lanes)
        data = region.data
        try:
            if not isinstance(index, np.ndarray):
                found = data[unwrap(index)]
                return found.copy() if data.ndim == 2 else found.item()
            if frame.mask is True:
                return take(data, index)
            lanes = frame.active()
            result = np.zeros((len(index), *data.shape[1:]), data.dtype)
            result[lanes] = take(data, index[lanes])
            return result
        except IndexError as error:
            raise index_refused(region.name, error, node.span, node.perspective, frame.block.number) from None

    return access_each_part(scope, node, load)
