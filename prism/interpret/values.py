"""Arithmetic of the language on the CPU: C's, for one value (Python's numbers) and for one value a thread (NumPy's).

A value is a Python bool, int or float where all threads agree, of a struct a tuple of those; else an array with one entry a
thread (vectors have a last axis of components). Every operation takes both, and gives a number unless an operand is an array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lang.types import Scalar, Type, Vector
from prism.lang.types.shorts import round_short, round_to

Operation = Callable[[Any, Any], Any]


def dtype_of(type_: Type) -> np.dtype[Any]:
    """Return NumPy's dtype of a scalar's values, or of a vector's components: those it hasn't are held as float32."""
    if isinstance(type_, Vector):
        return dtype_of(type_.element)
    if isinstance(type_, Scalar):
        return np.dtype(np.float32 if type_.coded else type_.numpy)
    raise TypeError(f"{type_} has no values")


def wrap(scalar: Scalar) -> Callable[[Any], Any]:
    """Return the function that brings a Python number into a scalar type, modulo 2^bits, or rounded."""
    mask, half = (1 << scalar.bits) - 1, 1 << (scalar.bits - 1)
    match scalar.kind:
        case "bool":
            return bool
        case "int":
            return lambda x: ((x + half) & mask) - half
        case "uint":
            return lambda x: x & mask
        case _:
            if scalar.short:
                return lambda x: round_short(x, scalar)
            return (lambda x: float(np.float32(x))) if scalar.bits == 32 else float


def round_results(scalar: Scalar, many: Operation) -> Operation:
    """Return an operation on arrays with its results rounded to the type, where NumPy's own type is wider."""
    return (lambda a, b: round_to(many(a, b), scalar)) if scalar.coded else many


# -- division -------------------------------------------------------------------------------------------------------------


def _divide_int(a: int, b: int) -> int:
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _divide_ints(a: Any, b: Any) -> Any:
    return np.floor_divide(np.subtract(a, np.fmod(a, b)), b)


def _remain_int(a: int, b: int) -> int:
    return a - b * _divide_int(a, b) if b else 0


def _divide_float(a: float, b: float) -> float:
    return a / b if b else float(np.float64(a) / np.float64(b))


def _remain_float(a: float, b: float) -> float:
    return float(np.fmod(np.float64(a), np.float64(b)))


# -- operators ------------------------------------------------------------------------------------------------------------

COMPARISONS: dict[str, tuple[Operation, Operation]] = {
    "==": (operator.eq, np.equal),
    "!=": (operator.ne, np.not_equal),
    "<": (operator.lt, np.less),
    "<=": (operator.le, np.less_equal),
    ">": (operator.gt, np.greater),
    ">=": (operator.ge, np.greater_equal),
}
_ARITHMETIC: dict[str, tuple[Operation, Operation]] = {
    "+": (operator.add, np.add),
    "-": (operator.sub, np.subtract),
    "*": (operator.mul, np.multiply),
    "&": (operator.and_, np.bitwise_and),
    "|": (operator.or_, np.bitwise_or),
    "^": (operator.xor, np.bitwise_xor),
}


def binary(op: str, scalar: Scalar) -> Operation:
    """Return the function of an operator on two values of one scalar type (shift counts may be of another)."""
    return _shift(op, scalar) if op in ("<<", ">>") else _either(*operations(op, scalar))


def operations(op: str, scalar: Scalar) -> tuple[Operation, Operation]:
    """Return the function of an operator, but a shift, on two numbers, and that on values of which one at least is an array."""
    if op in COMPARISONS:
        return COMPARISONS[op]
    if op in ("/", "%"):
        return _division(op, scalar)
    one, many = _ARITHMETIC[op]
    narrow = wrap(scalar)
    return (lambda a, b: narrow(one(a, b))), round_results(scalar, many)


def _either(one: Operation, many: Operation) -> Operation:
    array = np.ndarray

    def apply(a: Any, b: Any) -> Any:
        if type(a) is array or type(b) is array:
            return many(a, b)
        return one(a, b)

    return apply


def _division(op: str, scalar: Scalar) -> tuple[Operation, Operation]:
    narrow = wrap(scalar)
    if scalar.kind == "float":
        one, many = (_divide_float, np.divide) if op == "/" else (_remain_float, np.fmod)
        return (lambda a, b: narrow(one(a, b))), round_results(scalar, many)
    if op == "%":
        return _remain_int, np.fmod
    return (lambda a, b: narrow(_divide_int(a, b))), np.floor_divide if scalar.kind == "uint" else _divide_ints


def _shift(op: str, scalar: Scalar) -> Operation:
    narrow, bits, dtype = wrap(scalar), scalar.bits, dtype_of(scalar)
    step, many = (operator.lshift, np.left_shift) if op == "<<" else (operator.rshift, np.right_shift)

    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return many(np.asarray(a, dtype), np.asarray(b).astype(dtype))
        return narrow(step(a, b if 0 <= b < bits else bits))

    return apply


def unary(op: str, scalar: Scalar) -> Callable[[Any], Any]:
    """Return the function of `-`, `~` or `not`."""
    narrow = wrap(scalar)
    table: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
        "-": (operator.neg, np.negative),
        "~": (operator.invert, np.invert),
        "not": (operator.not_, np.logical_not),
    }
    one, many = table[op]
    return lambda a: many(a) if isinstance(a, np.ndarray) else narrow(one(a))


# -- conversions ----------------------------------------------------------------------------------------------------------


def cast(source: Scalar, target: Scalar) -> Callable[[Any], Any]:
    """Return C's conversion; of floats out of an integer's range it gives what the GPU's instruction does, see `_saturate`."""
    dtype = dtype_of(target)
    if source == target:
        return lambda a: a
    if source.kind == "float" and target.integral:
        double = source.bits == 64
        return lambda a: (
            _saturate(a, dtype, double) if isinstance(a, np.ndarray) else int(_saturate(np.asarray(a), dtype, double))
        )
    if target.kind == "bool":
        return lambda a: a != 0
    if target.coded:
        exact = np.float32 if source.kind == "float" and source.bits < 64 else np.float64
        return lambda a: round_to(a.astype(exact), target) if isinstance(a, np.ndarray) else _round(exact(a), target)
    if target.kind == "float":
        here = dtype_of(source)
        return lambda a: _to_float(a, here, dtype)
    narrow = wrap(target)
    return lambda a: a.astype(dtype) if isinstance(a, np.ndarray) else narrow(int(a))


def _round(value: Any, target: Scalar) -> float:
    return float(round_to(value, target))


def _to_float(value: Any, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    with np.errstate(all="ignore"):
        if isinstance(value, np.ndarray):
            return value.astype(target)
        return float(np.asarray(value, source).astype(target))


def _saturate(values: Any, dtype: np.dtype[Any], double: bool) -> Any:
    """Return floats as integers, as F2I converts them: to 32 bits, or 64, of which narrower integers are the lowest.

    What is out of range saturates there. NaN of a `double`, or to 64 bits, is the integer with the highest bit alone; else 0.
    """
    word = dtype if dtype.itemsize >= 4 else np.dtype(f"{dtype.kind}4")
    info, bits = np.iinfo(word), 8 * word.itemsize
    nothing = np.array(1 << bits - 1, f"u{word.itemsize}").astype(word) if double or bits == 64 else word.type(0)
    whole = np.trunc(values.astype(np.float64))
    low, high, strange = whole <= float(info.min), whole >= float(info.max), np.isnan(whole)
    result = np.where(low | high | strange, 0.0, whole).astype(word)
    result = np.where(low, word.type(info.min), np.where(high, word.type(info.max), result))
    return np.where(strange, nothing, result).astype(dtype)


def merging(type_: Scalar | Vector) -> Callable[[Any, Any, Any], Any]:
    """Return `merge(mask, new, old)`: `new` where `mask` holds, else `old`; both may be one value for all."""
    dtype, vector = dtype_of(type_), isinstance(type_, Vector)
    nothing = np.zeros((), dtype)

    def merge(mask: Any, new: Any, old: Any) -> Any:
        if old is None:
            old = nothing
        return np.where(mask[:, None] if vector else mask, np.asarray(new, dtype), np.asarray(old, dtype))

    return merge
