"""Frozen data: the base of the trees' nodes, of types, of spans and of errors."""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C", bound="type[Plain]")


class _Declared(type):
    """Makes a dataclass of a class that declares fields: see `Frozen`.

    `dataclass` compiles five methods for each class: for the compiler's 400 classes, two fifths of the time to import it. Here
    the base has what it can, and a class gets its `__init__` with its first instance, which most errors never have.
    """

    def __new__(
        meta,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        kw_only: bool = False,
        by_value: bool = False,
        **declared: Any,
    ) -> Any:
        cls: Any = super().__new__(meta, name, bases, namespace, **declared)
        if "__dataclass_fields__" in namespace:
            return cls  # `dataclass` makes it a second time, with its slots
        return _declare(cls, kw_only or cls._kw_only, by_value or cls._by_value)


def _declare(cls: Any, kw_only: bool, by_value: bool) -> Any:
    """Return the dataclass of a class that declares fields."""
    cls._kw_only, cls._by_value = kw_only, by_value
    hashed = by_value and vars(cls).get("__hash__") is None
    cls = dataclass(init=False, repr=False, eq=by_value, unsafe_hash=hashed, kw_only=kw_only, slots=True)(cls)
    cls._fields = fields(cls)
    cls.__init__ = _init_first
    return cls


def _init_first(self: Any, *args: Any, **kwargs: Any) -> None:
    """Give the instance's class an `__init__` of its own, and call it."""
    cls = type(self)
    cls.__init__ = _init(cls)
    cls.__init__(self, *args, **kwargs)


def _init(cls: Any) -> Any:
    """Return the `__init__` that `dataclass(frozen=True)` would make."""
    known: dict[str, Any] = {}
    by_position, by_name, body = ["self"], ["*"], ["pass"]
    for one in cls._fields:
        name, value, default = one.name, one.name, ""
        if not one.init and one.default is MISSING and one.default_factory is MISSING:
            continue  # `__post_init__` gives it
        if one.default_factory is not MISSING:
            known[f"new_{name}"] = one.default_factory
            value = f"new_{name}() if {name} is new_{name} else {name}" if one.init else f"new_{name}()"
            default = f"=new_{name}"
        elif one.default is not MISSING:
            known[f"default_{name}"] = one.default
            default = f"=default_{name}"
            value = name if one.init else f"default_{name}"
        if one.init:
            (by_name if one.kw_only else by_position).append(name + default)
        # A third quicker than `object.__setattr__`, which looks for the slot each time.
        known[f"put_{name}"] = _slot(cls, name).__set__
        body.append(f"put_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = by_position + (by_name if len(by_name) > 1 else [])
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body), known)
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _slot(cls: type, name: str) -> Any:
    """Return the slot that holds a field: its class's own, or one of a base."""
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))


class Plain:
    """What `Frozen` is, but with no metaclass: a subclass is declared by `node` or by `value`, and so is each of its own.

    Of a class with a metaclass Python finds out in six times the time that an object is not of it, and of nodes and types that is
    asked all the time: to make a program takes a twentieth longer.
    """

    __slots__ = ()
    _kw_only: bool = False
    _by_value: bool = False
    _fields: tuple[Field[Any], ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    @recursive_repr()
    def __repr__(self) -> str:
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in type(self)._fields if one.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __getstate__(self) -> list[object]:
        return [getattr(self, one.name) for one in type(self)._fields]

    def __setstate__(self, state: list[object]) -> None:
        for one, value in zip(type(self)._fields, state, strict=True):
            object.__setattr__(self, one.name, value)


@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True, field_specifiers=(field,))
def node(cls: C) -> C:
    """Declare a class as `Node` does."""
    declared: C = _declare(cls, True, False)
    return declared


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: C) -> C:
    """Declare a class as `Value` does."""
    declared: C = _declare(cls, False, True)
    return declared


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Frozen(Plain, metaclass=_Declared):
    """A frozen dataclass with slots, compared by identity. A subclass declares its fields, and needs no decorator:

        class Arm(Frozen):
            first: int
            size: int = 1

    `dataclasses.fields` and `replace`, `match`, `copy` and `pickle` take it as any dataclass. A `Node` is given its fields by
    name, a `Value` is compared by them.
    """


@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True, field_specifiers=(field,))
class Node(Frozen, kw_only=True):
    """Frozen data whose fields are given by name: what a subclass adds need have no default after one that has."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Value(Frozen, by_value=True):
    """Frozen data that is compared by its fields, and is a key by them."""
