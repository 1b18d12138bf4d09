"""What `help` and `inspect.signature` say of an object that is no function, as an intrinsic and a construct are."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


class Written(str):
    """Part of a program as it is written: shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Doc:
    """`__doc__`: of the class its own text, of an instance what its `help_text` gives."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: Any = None) -> str | None:
        return self.text if instance is None else str(instance.help_text())


class _Signature:
    """`__signature__` of an instance; a class has none, so that its own is told."""

    def __get__(self, instance: Any, owner: Any = None) -> Signature:
        if instance is None:
            raise AttributeError("__signature__")
        found: Signature = instance.help_signature()
        return found


def _bind(self: Any, instance: object, owner: Any = None) -> Any:
    """Be what it is, wherever it is asked for: with it `pydoc` takes an object for a routine, and shows its signature."""
    return self


def tells_help(cls: C) -> C:
    """Let instances of a class be told as functions are, by their `__name__`, `help_text()` and `help_signature()`."""
    told: Any = cls
    told.__doc__ = _Doc(cls.__doc__)
    told.__signature__, told.__get__ = _Signature(), _bind

    def inherit(sub: Any, /, **declared: Any) -> None:
        super(told, sub).__init_subclass__(**declared)
        if isinstance(vars(sub).get("__doc__"), str | None):  # its instances are told as those of its base
            sub.__doc__ = _Doc(vars(sub).get("__doc__"))

    told.__init_subclass__ = classmethod(inherit)
    return cls


def signature(text: str) -> Signature:
    """Return a signature of its text: `x, unit, offset=..., *, races=...`. Names that begin with `*` take any number."""
    found: list[Parameter] = []
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    for word in filter(None, (word.strip() for word in text.split(","))):
        name, _, default = word.partition("=")
        if word == "*":
            kind = Parameter.KEYWORD_ONLY
        elif word.startswith("*"):
            found.append(Parameter(word[1:], Parameter.VAR_POSITIONAL))
            kind = Parameter.KEYWORD_ONLY
        else:
            found.append(Parameter(name, kind, default=Written(default) if default else Parameter.empty))
    return Signature(found)
