"""Arithmetic whose result C++ leaves open, in a checked run: signed overflow, division by zero, shifts by too many bits.

The GPU's compiler takes it for granted that none of them happens, and drops tests that could only fail after one.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from prism.interpret.errors import UndefinedError
from prism.interpret.frame import Frame
from prism.interpret.lanes import anywhere
from prism.interpret.scope import Eval
from prism.interpret.values import Operation, dtype_of
from prism.lang.tree import Binary, Const, Expr, Scalar, Unary

_EXACT = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_WIDE = {"+": np.add, "-": np.subtract, "*": np.multiply}
_WORDS = {"+": "the sum", "-": "the difference", "*": "the product", "/": "the quotient", "%": "the quotient"}
UNSIGNED = "compute in an unsigned type, whose results wrap, or in a wider one"


def may_be_undefined(op: str, scalar: Scalar) -> bool:
    """Whether an operator on two values of a type has arguments that C++ gives no result. Narrow ones are computed in `int`."""
    if op in ("/", "%", "<<", ">>"):
        return scalar.integral
    return op in _EXACT and scalar.kind == "int" and scalar.bits >= 32


def defined_binary(node: Binary, scalar: Scalar, left: Eval, right: Eval, apply: Operation) -> Eval:
    """Return the closure that checks the operands of the threads at hand, and then applies the operator."""
    faulty = {"<<": _far, ">>": _far, "/": _no_quotient, "%": _no_quotient}.get(node.op, _overflows)
    if isinstance(node.right, Const) and faulty is not _overflows and _harmless(node.op, node.right.value, scalar):
        return lambda frame: apply(left(frame), right(frame))
    if isinstance(node.right, Const) and node.op in ("+", "-"):
        return _moved(node, scalar, left, int(node.right.value), apply)
    exact, half, array = _EXACT.get(node.op), 1 << (scalar.bits - 1), np.ndarray
    wide, times = (_WIDE.get(node.op) if scalar.bits == 32 else None), node.op == "*"

    def evaluate(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        if exact is not None and type(a) is int and type(b) is int and -half <= (fits := exact(a, b)) < half:
            return fits
        # In 64 bits the result is exact: where 32 hold all of it, it is what the operator gives, and none is looked for.
        if wide is not None and (type(b) is array or (times and type(a) is array)):
            whole = wide(a, b, dtype=np.int64)
            found = whole.astype(np.int32)
            if not anywhere(found != whole):
                return found
        bad = faulty(node.op, a, b, scalar)
        if bad is not False and (lane := _lane(frame, bad)) is not None:
            _report(frame, node, scalar, lane, a, b)
        return apply(a, b)

    return evaluate


def _moved(node: Binary, scalar: Scalar, left: Eval, by: int, apply: Operation) -> Eval:
    """Return the closure of a sum with a constant: it moves all values by as much, so one comparison with one number tells."""
    least, most, up = _least(scalar), _most(scalar), by if node.op == "+" else -by
    beyond, last = (operator.gt, most - up) if up >= 0 else (operator.lt, least - up)

    def evaluate(frame: Frame) -> Any:
        a = left(frame)
        if type(a) is int and least <= (fits := a + up) <= most:
            return fits
        bad = beyond(a, last)
        if bad is not False and (lane := _lane(frame, bad)) is not None:
            _report(frame, node, scalar, lane, a, by)
        return apply(a, by)

    return evaluate


def _harmless(op: str, b: Any, scalar: Scalar) -> bool:
    """Whether a divisor, or a count of a shift, is right for every left operand."""
    return bool(0 <= b < max(scalar.bits, 32)) if op in ("<<", ">>") else b not in (0, -1)


def defined_negation(node: Unary, scalar: Scalar, operand: Eval, apply: Any) -> Eval:
    """Return the closure of `-a`: the smallest number has no opposite."""

    def evaluate(frame: Frame) -> Any:
        a = operand(frame)
        bad = a == _least(scalar)
        if bad is not False and (lane := _lane(frame, bad)) is not None:
            _fail(frame, node, lane, f"the opposite of {_of(a, lane)} is no {scalar}", "negated here", UNSIGNED)
        return apply(a)

    return evaluate


def _least(scalar: Scalar) -> int:
    return -(1 << (scalar.bits - 1))


def _most(scalar: Scalar) -> int:
    return (1 << (scalar.bits - 1)) - 1


def _overflows(op: str, a: Any, b: Any, scalar: Scalar) -> Any:
    """Where a sum, difference or product doesn't fit."""
    half = 1 << (scalar.bits - 1)
    if not isinstance(b, np.ndarray):
        if not isinstance(a, np.ndarray):
            return not -half <= _EXACT[op](int(a), int(b)) < half
        if op != "*":  # one comparison tells: what is added moves all values by as much, to one end of the type
            by = int(b) if op == "+" else -int(b)
            return a > half - 1 - by if by >= 0 else a < -half - by
    dtype = dtype_of(scalar)
    a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    if op == "*" and scalar.bits == 32:
        exact = np.multiply(a, b, dtype=np.int64)
        return (exact < -half) | (exact >= half)
    found = _EXACT[op](a, b)
    if op == "*":
        divisor = np.where((a == 0) | (a == -1), 1, a)
        return np.where(a == -1, b == -half, (a != 0) & (found // divisor != b))
    return (found < a if op == "+" else found > a) != (b < 0)


def _no_quotient(_: str, a: Any, b: Any, scalar: Scalar) -> Any:
    """Where the divisor is zero, or the quotient doesn't fit."""
    zero = b == 0
    return zero if scalar.kind == "uint" else zero | ((b == -1) & (a == _least(scalar)))


def _far(_: str, __: Any, b: Any, scalar: Scalar) -> Any:
    """Where a count is none of the type's bits."""
    return (b < 0) | (b >= max(scalar.bits, 32))


def _lane(frame: Frame, bad: Any) -> int | None:
    """Return the first of the active threads for which something is bad."""
    if not (bad if isinstance(bad, bool) else anywhere(bad)):
        return None
    active = np.logical_and(bad, frame.mask)
    if not anywhere(active):
        return None
    return int(np.argmax(active)) if active.ndim else 0


def _of(value: Any, lane: int) -> int:
    return int(value[lane]) if isinstance(value, np.ndarray) and value.ndim else int(value)


def _report(frame: Frame, node: Binary, scalar: Scalar, lane: int, a: Any, b: Any) -> None:
    one, two = _of(a, lane), _of(b, lane)
    if node.op in ("<<", ">>"):
        what, here = f"a shift of {scalar} by {two} bits", "shifted here"
        advice = "shift by fewer bits than the type has"
    elif node.op in ("/", "%") and two == 0:
        what, here = f"{one} is divided by zero", "divided here"
        advice = "test the divisor first: `a / b if b != 0 else 0`"
    else:
        what, here = (
            f"{_WORDS[node.op]} of {one} and {two} does not fit in {scalar}",
            "signed numbers must not overflow",
        )
        advice = UNSIGNED
    _fail(frame, node, lane, what, here, advice)


def require_step(frame: Frame, node: Expr, step: Any) -> None:
    """Report a loop's step of 0: the loop would not end, checked or not."""
    bad = step == 0
    if bad is not False and (lane := _lane(frame, bad)) is not None:
        _fail(frame, node, lane, "the step of a loop is 0", "the loop would not end", "a step above or below 0")


def counts_past(type_: Scalar, step: Expr) -> bool:
    """Whether a loop's index may go past its type on the way to the end: not by ones, of which the last is the end itself."""
    return type_.bits <= 64 and not (isinstance(step, Const) and abs(step.value) == 1)


def require_end(frame: Frame, node: Expr, type_: Scalar, bounds: tuple[Any, Any, Any]) -> None:
    """Report a loop whose index, one step past the last trip's, does not fit in its type: on a GPU it need not end."""
    if any(isinstance(bound, np.ndarray) for bound in bounds):
        if type_.bits > 32:
            return
        start, stop, step = (np.asarray(bound).astype(np.int64) for bound in bounds)
        step = np.where(step == 0, 1, step)
        after = start + np.maximum(-((start - stop) // step), 0) * step
    else:
        start, stop, step = bounds
        after = start + len(range(start, stop, step)) * step if step else start
    least, most = (0, 2**type_.bits - 1) if type_.kind == "uint" else (_least(type_), -_least(type_) - 1)
    bad = (after < least) | (after > most)
    if (lane := _lane(frame, bad)) is not None:
        what = f"the index of the loop would be {_of(after, lane)} at its end, which is no {type_}"
        _fail(frame, node, lane, what, "the index goes past the end by so much", "an index of a wider type, as `int64`")


def _fail(frame: Frame, node: Expr, lane: int, what: str, here: str, advice: str) -> None:
    raise UndefinedError(
        what, node.span, here=here, perspective=node.perspective, thread=lane, block=frame.block.number, barrier=advice,
        notes=("C++ leaves the result open, and the GPU's compiler assumes that this does not happen",),
    )  # fmt: skip
