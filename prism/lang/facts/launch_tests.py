"""What a kernel assumes of its launch, as a text that needs no source: tested on the host before each launch.

A condition's `code` is made of tuples of words and numbers, as JSON takes them:

    ("number", value)                               a literal, a template argument
    ("argument", position)                          a scalar argument
    ("count", blocks, threads, times, size, type)   units: the numbers of blocks and of threads a block, where these are true,
                                                    times `times`, in units of `size`
    (operator, type, operand, ...)                  `+ - * / % << >> & | ^`, `neg`, `~`, `minimum`, `maximum`, `cast`
    (operator, operand, ...)                        `== != < <= > >=`, `and`, `or`, `not`, `if`, `strides_nest`

It is computed as the machine computes it, with no number lost on the way: what is signed, of 32 bits or more, must fit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from prism.lang.intrinsics.layouts import nest
from prism.lang.keep.bases import Value

Code: TypeAlias = tuple[Any, ...]
Launch: TypeAlias = tuple[int, int, Sequence[Any]]
"""Blocks, threads a block, and the arguments."""
Test: TypeAlias = Callable[[Launch], int]

_SIGNED = {f"int{bits}": bits for bits in (8, 16, 32, 64)}
_UNSIGNED = {f"uint{bits}": bits for bits in (8, 16, 32, 64)}
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_EXACT: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "minimum": min, "maximum": max,
}  # fmt: skip
_DEEPEST = 200
"""Operators in operators, of a condition that is tested."""


class Undefined(ArithmeticError):
    """A value that C++ leaves open: an overflow, a quotient by zero, a shift by too many bits. `str` says which."""


class Assumed(Value):
    """One `assume` that speaks of the launch alone: its text, its line, and what is tested.

    Raises:
        ValueError: the code is none.
    """

    text: str
    line: int
    code: Code

    def __post_init__(self) -> None:
        compile_test(self.code)

    def to_json(self) -> list[Any]:
        """Return what `json.dumps` takes."""
        return [self.text, self.line, lists(self.code)]

    @classmethod
    def from_json(cls, found: Any) -> Assumed:
        """Return what `to_json` wrote.

        Raises:
            ValueError, TypeError: it is nothing of the kind.
        """
        text, line, code = found
        if type(text) is not str or type(line) is not int:
            raise TypeError(f"expected a text and a line, found {text!r} and {line!r}")
        return cls(text, line, tuples(code))

    def arguments(self) -> tuple[int, ...]:
        """Return the positions of the arguments that it speaks of, in order."""
        return arguments_of(self.code)

    def shape_terms(self) -> tuple[bool, bool]:
        """Return whether it speaks of the number of blocks, and of that of threads."""
        counts = [node for node in nodes(self.code) if node[0] == "count"]
        return any(node[1] for node in counts), any(node[2] for node in counts)


def compile_test(code: Code) -> Test:
    """Return what computes a condition for a launch; it raises `Undefined`.

    Raises:
        ValueError: the code is none.
    """
    return _compile_test(code, 0)


def _compile_test(code: Code, depth: int) -> Test:
    match code:
        case ("number", int(value)):
            return lambda launch: value
        case ("argument", int(position)) if position >= 0:
            return lambda launch: int(launch[2][position])
        case ("count", bool(blocks), bool(threads), int(times), int(size), str(type_)) if size > 0 and _bits(type_):
            return _count(blocks, threads, times, size, type_)
        case (str(op), *rest) if depth < _DEEPEST:
            typed = bool(rest) and isinstance(rest[0], str)
            operands = [_compile_test(each, depth + 1) for each in rest[1 if typed else 0 :]]
            found = _typed(op, rest[0], operands) if typed else _plain(op, operands)
            if found is not None:
                return found
        case _:
            pass
    raise ValueError(f"no condition as Prism writes it: {code!r}")


def _count(blocks: bool, threads: bool, times: int, size: int, type_: str) -> Test:
    def count(launch: Launch) -> int:
        found = (launch[0] if blocks else 1) * (launch[1] if threads else 1) * times // size
        return _require_fit(type_, found, lambda: f"a count of {found}")

    return count


def _plain(op: str, operands: Sequence[Test]) -> Test | None:
    match op, operands:
        case "strides_nest", _ if operands and len(operands) % 2 == 0:
            return lambda launch: _nest([one(launch) for one in operands])
        case "not", (one,):
            return lambda launch: not one(launch)
        case "and", (one, two):
            return lambda launch: one(launch) and two(launch)
        case "or", (one, two):
            return lambda launch: one(launch) or two(launch)
        case "if", (condition, one, two):
            return lambda launch: one(launch) if condition(launch) else two(launch)
        case _, (one, two) if op in _COMPARE:
            compare = _COMPARE[op]
            return lambda launch: compare(one(launch), two(launch))
        case _:
            return None


def _nest(values: Sequence[int]) -> bool:
    """Whether strides nest; `values`: an extent and a stride for each axis."""
    return nest(tuple(zip(values[::2], values[1::2], strict=True)))


def _typed(op: str, type_: str, operands: Sequence[Test]) -> Test | None:
    if not _bits(type_):
        return None
    match op, operands:
        case "cast", (one,):
            return lambda launch: _wrap(type_, one(launch))
        case "~", (one,):
            return lambda launch: _wrap(type_, ~one(launch))
        case "neg", (one,):
            return lambda launch: _negative(type_, one(launch))
        case _, (one, two) if op in _EXACT or op in ("/", "%", "<<", ">>"):
            apply = {"/": _quotient, "%": _quotient, "<<": _shift, ">>": _shift}.get(op, _compute)
            return lambda launch: apply(op, type_, one(launch), two(launch))
        case _:
            return None


def _negative(type_: str, a: int) -> int:
    return _require_fit(type_, -a, lambda: f"the opposite of {a}")


def _compute(op: str, type_: str, a: int, b: int) -> int:
    return _require_fit(type_, _EXACT[op](a, b), lambda: f"{a} {op} {b}")


def _quotient(op: str, type_: str, a: int, b: int) -> int:
    if b == 0:
        raise Undefined(f"{a} is divided by zero")
    quotient = abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))
    whole = _require_fit(type_, quotient, lambda: f"{a} / {b}")
    return whole if op == "/" else _wrap(type_, a - quotient * b)


def _shift(op: str, type_: str, a: int, b: int) -> int:
    if not 0 <= b < max(32, _bits(type_)):
        raise Undefined(f"{type_} is shifted by {b} bits")
    return _wrap(type_, a << b if op == "<<" else a >> b)


def _require_fit(type_: str, value: int, what: Callable[[], str]) -> int:
    """Return a result as its type has it; a signed one of 32 bits or more must fit."""
    found = _wrap(type_, value)
    if found != value and _SIGNED.get(type_, 0) >= 32:
        raise Undefined(f"{what()} does not fit in {type_}")
    return found


def _wrap(type_: str, value: int) -> int:
    """Return a number modulo a type's range."""
    if type_ == "bool":
        return value != 0
    bits = _bits(type_)
    value &= (1 << bits) - 1
    return value - (1 << bits) if type_ in _SIGNED and value >> (bits - 1) else value


def _bits(type_: str) -> int:
    return 8 if type_ == "bool" else _SIGNED.get(type_) or _UNSIGNED.get(type_, 0)


def arguments_of(code: Code) -> tuple[int, ...]:
    """Return the positions of the arguments that a code speaks of, in order."""
    return tuple(sorted({node[1] for node in nodes(code) if node[0] == "argument"}))


def nodes(code: Any) -> list[Code]:
    """Return a code and all codes in it."""
    return [code, *(node for part in code for node in nodes(part))] if isinstance(code, tuple) else []


def lists(code: Any) -> Any:
    """Return a code as `json.dumps` takes it."""
    return [lists(part) for part in code] if isinstance(code, tuple) else code


def tuples(code: Any) -> Any:
    """Return a code that `lists` made lists of."""
    return tuple(tuples(part) for part in code) if isinstance(code, list) else code
