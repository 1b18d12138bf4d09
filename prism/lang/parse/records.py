"""Attributes of records of constants, `CUT.BM`: read by Python when a function is instantiated, and no notion of a program's."""

from __future__ import annotations

from prism.lang.diagnostics import CompileError, Span
from prism.lang.errors import records as errors
from prism.lang.keep.records import items_of
from prism.lang.types import Scalar


def is_constant(value: object) -> bool:
    """Whether a record may have a value: an int, a bool, a dtype."""
    return type(value) in (bool, int) or isinstance(value, Scalar)


def read_attribute(record: object, text: str, name: str, span: Span) -> object:
    """Return what a field or a property of a record is; `text` is how the record is written.

    Raises CompileError: `template`, where there is none, it cannot be computed, or is no constant.
    """
    if not hasattr(type(record), name) and name not in dict(items_of(record)):
        fields = [name for name, _ in items_of(record)]
        listed = (each for each in dir(type(record)) if each not in fields and not hasattr(tuple, each))
        have = (*fields, *(each for each in listed if not each.startswith("_")))
        raise CompileError(errors.no_such_attribute(span, text, name, type(record).__name__, have))
    try:
        value = getattr(record, name)
    except Exception as error:  # whatever a property of the user's raises
        fault = f"{type(error).__name__}: {error}"
        raise CompileError(errors.AttributeFault(span=span, base=text, name=name, fault=fault)) from None
    if not is_constant(value):
        raise CompileError(errors.AttributeValue(span=span, base=text, name=name, kind=type(value).__name__))
    return value
