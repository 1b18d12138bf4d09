"""Template parameters: what their names are to Python, and their defaults.

A default is a value, or a function of the parameters before it: `constexpr(int, default=lambda BM: BM // 2)`.
"""

from __future__ import annotations

import builtins
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

    def __getattr__(self, name: str) -> TemplateName:
        if name.startswith("_"):
            raise AttributeError(name)
        return TemplateName(self._name, (*self._steps, (".", name)))

    def __mul__(self, factor: int) -> TemplateName:
        return self if factor == 1 else TemplateName(self._name, (*self._steps, ("*", factor)))

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> TemplateName:
        return TemplateName(self._name, (*self._steps, ("/", divisor)))

    __truediv__ = __floordiv__  # as in the body of a kernel

    def __str__(self) -> str:
        return self._name + "".join(f".{step}" if op == "." else f" {op} {step}" for op, step in self._steps)


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
        elif isinstance(value, int):
            value = value * operand if op == "*" else value // operand
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
