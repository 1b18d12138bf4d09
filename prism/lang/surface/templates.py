"""Template parameters: what their names are to Python, and their defaults.

A default is a value, or a function of the parameters before it: `constexpr(int, default=lambda BM: BM // 2)`.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from prism.lang.keep.bases import Value


class TemplateName(Value):
    """What a template parameter's name is in a file of kernels: Python can evaluate annotations and bounds that use it.

    Its own fields are private, as `CUT.name` and `CUT.steps` are attributes of the record that `CUT` stands for.
    """

    _name: str
    _steps: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, _: object) -> TemplateName:
        return self

    __iter__ = None  # not a sequence, for all its subscript

    def __getattr__(self, name: str) -> TemplateName:
        if name.startswith("_"):
            raise AttributeError(name)
        return TemplateName(self._name, (*self._steps, (".", name)))

    def __mul__(self, factor: object) -> TemplateName:
        return self if factor == 1 else self._then("*", factor)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: object) -> TemplateName:
        return self._then("/", divisor)

    __truediv__ = __floordiv__  # as in the body of a kernel

    def __add__(self, term: object) -> TemplateName:
        return self._then("+", term)

    __radd__ = __add__

    def __sub__(self, term: object) -> TemplateName:
        return self._then("-", term)

    def __rfloordiv__(self, dividend: object) -> TemplateName:
        return self._then("of /", dividend)

    __rtruediv__ = __rfloordiv__

    def __rsub__(self, minuend: object) -> TemplateName:
        return self._then("of -", minuend)

    def _then(self, op: str, operand: object) -> TemplateName:
        return TemplateName(self._name, (*self._steps, (op, operand)))

    def __str__(self) -> str:
        text = self._name
        for op, step in self._steps:
            if op == ".":
                text = f"{text}.{step}"
            else:
                text = f"({text})" if " " in text else text
                text = f"{step} {op[3:]} {text}" if op.startswith("of ") else f"{text} {op} {step}"
        return text


class _Names(dict[str, Any]):
    """What names mean in a text: template parameters, all of them."""

    def __missing__(self, name: str) -> TemplateName:
        return TemplateName(name)


def read_size(text: str) -> Any:
    """Return what a text of a bound is, as in `thread["BM * BN // 64"]`: a number, or what template parameters give one.

    Raises:
        TypeError: it is no arithmetic with names of template parameters.
    """
    try:
        return eval(text.strip(), {"__builtins__": {}}, _Names())
    except Exception:
        raise TypeError(
            f'{text!r} is no size: write a template parameter\'s name, as in `thread["THREADS"]`, or an expression of such'
        ) from None


_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "*": operator.mul, "/": operator.floordiv, "+": operator.add, "-": operator.sub,
    "of /": lambda value, dividend: dividend // value, "of -": lambda value, minuend: minuend - value,
}  # fmt: skip


def template_name(of: TemplateName) -> str:
    """Return the name of the template parameter itself."""
    return of._name


def evaluate(of: TemplateName, template: Mapping[str, Any], attribute: Callable[[object, str, str], object]) -> object:
    """Return the number that it stands for under these template arguments; or what is no number, for the caller to refuse.

    `attribute` reads an attribute of an object that is written so: it is given the object, the text and the name.
    """
    value, text = template[of._name], of._name
    for op, operand in of._steps:
        if op == ".":
            value, text = attribute(value, text, operand), f"{text}.{operand}"
            continue
        if isinstance(operand, TemplateName):
            operand = evaluate(operand, template, attribute)
        if not (isinstance(value, int) and isinstance(operand, int)):
            return value
        value = _ARITHMETIC[op](value, operand)
    return int(value) if isinstance(value, int) else value


def check_default(name: str, default: Any, before: list[str]) -> None:
    """Refuse a default that cannot be computed of the template parameters before it alone.

    Raises:
        TypeError: it is made of another parameter's name, or is a function of anything but parameters before it.
    """
    if not isinstance(default, FunctionType):
        if isinstance(default, TemplateName):
            raise TypeError(f"@template: the default of `{name}` is computed: write `default=lambda BM: BM // 2`")
        return
    code = default.__code__
    plain = not (code.co_flags & 0x0C or code.co_kwonlyargcount or code.co_freevars or default.__defaults__)
    if not plain or not set(_names(default)) <= set(before):
        have = ", ".join(before) or "none"
        raise TypeError(
            f"@template: the default of `{name}` is a function of parameters before it ({have}), which are its own parameters"
        )


def compute_default(default: Any, bound: Mapping[str, object]) -> object:
    """Return a default, given the template arguments before it. What it is a function of, it is alone: it sees no globals.

    Raises whatever such a function raises.
    """
    if not isinstance(default, FunctionType):
        return default
    return FunctionType(default.__code__, {"__builtins__": builtins})(*(bound[name] for name in _names(default)))


def _names(function: FunctionType) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]
