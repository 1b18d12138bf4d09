"""Records of constants: frozen dataclasses and named tuples of Python's, given as one template argument."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def is_record_class(kind: object) -> bool:
    """Whether a class makes records of constants: a dataclass that is frozen, or a `NamedTuple`."""
    if not isinstance(kind, type):
        return False
    if is_dataclass(kind):
        return bool(getattr(kind, "__dataclass_params__").frozen)  # noqa: B009 - it has no declared type
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def items_of(record: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a record with their values, in the order of their declaration."""
    names = [one.name for one in fields(record)] if is_dataclass(record) else record._fields
    return tuple((name, getattr(record, name)) for name in names)


def spell(value: Any) -> str:
    """Return a template argument as one would write it: a function by its name, a record by its class and its fields."""
    if is_record_class(type(value)):
        return f"{type(value).__name__}({', '.join(f'{name}={spell(each)}' for name, each in items_of(value))})"
    return str(getattr(value, "__name__", value))
