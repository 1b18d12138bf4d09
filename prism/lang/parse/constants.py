"""What a Python object stands for in a kernel: a number, a type, an object of the language; or why it is none of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from types import BuiltinFunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

from prism.lang import surface
from prism.lang.diagnostics import CompileError, Span
from prism.lang.errors import names as errors
from prism.lang.intrinsics import TABLE
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.intrinsics.namespace import Namespace
from prism.lang.keep.records import is_record_class
from prism.lang.parse import syntax as s
from prism.lang.surface.templates import TemplateName, template_name
from prism.lang.types import SCALARS, Scalar, Vector
from prism.lang.types.perspective import Perspective

PYTHON_TYPES: Mapping[object, Scalar] = {int: SCALARS["int32"], float: SCALARS["float32"], bool: SCALARS["bool"]}
LARGEST_BITS = 4096
"""An exponent beyond it makes no number that a kernel could hold."""
_OBJECTS = (
    Scalar, Vector, surface.VectorCast, surface.LevelName, surface.Construct, surface.Kernel, Intrinsic, Namespace, ModuleType,
)  # fmt: skip


def constant(value: Any, text: str, span: Span) -> s.Expr:
    """Return the tree for a Python object that a kernel may mention, or fail with code `name`."""
    if isinstance(value, Enum) and type(value.value) in (bool, int, float):
        value = value.value
    if isinstance(value, bool | int | float | str):
        return finite(s.Literal(value=value, span=span))
    if isinstance(value, type):
        value = numpy_type(PYTHON_TYPES.get(value, value))
        if value_class(value):
            return s.Resolved(value=value, text=text, span=span)
    if isinstance(value, Perspective):
        return s.Resolved(value=replace(value, named=True), text=text, span=span)
    if isinstance(value, _OBJECTS) or is_record_class(type(value)) or isinstance(value, surface.PrismModule):
        return s.Resolved(value=value, text=text, span=span)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return s.Literal(value=value.item(), span=span)
    no_constant(value, text, span)


def no_constant(value: object, text: str, span: Span) -> NoReturn:
    """Fail: a kernel may not mention the object. Say what to do instead."""
    if isinstance(value, TemplateName):
        fail(errors.TemplateUnbound(span=span, name=template_name(value)))
    if callable(value) and hasattr(value, "__code__"):
        fail(errors.PlainFunction(span=span, name=text))
    host_function(value, text, span)
    array = isinstance(value, list | tuple) or hasattr(value, "shape")
    fail(errors.NotConstant(span=span, name=text, kind=type(value).__name__, array=array))


def numpy_type(value: Any) -> Any:
    """Return the scalar that a type of NumPy's is, as `np.float32`; anything else as it is."""
    own = isinstance(value, type) and issubclass(value, np.generic)
    return SCALARS.get(value.__name__, value) if own else value


def value_class(value: object) -> bool:
    """Whether an object is a class, or an enum, whose numbers a kernel may name: none of NumPy's or of Python's own."""
    return isinstance(value, type) and value.__module__ != "builtins" and not issubclass(value, np.generic)


def host_function(value: object, text: str, span: Span) -> None:
    """Fail where an object is a function or a type of NumPy's, or of `math`: with what it is called here, if it is there."""
    own = str(getattr(value, "__name__", ""))
    if callable(value) and own in ("where", "select"):
        fail(errors.HostFunction(span=span, name=text, change=errors.WHERE))
    if callable(value) and (own in TABLE or own in SCALARS or own in errors.OTHERWISE):
        change = f"write `{errors.OTHERWISE.get(own, own)}`, which `prism.lang` has"
        fail(errors.HostFunction(span=span, name=text, change=change))
    if isinstance(value, BuiltinFunctionType | np.ufunc) or callable(value) and own_module(value) == "numpy":
        fail(errors.HostFunction(span=span, name=text, change=errors.NO_SUCH))


def own_module(value: object) -> str:
    """Return the package that an object is of."""
    return str(getattr(value, "__module__", None) or "").partition(".")[0]


def finite(e: s.Literal) -> s.Literal:
    """Return a literal, if it is of a size that one may compute with: no message and no text could hold a larger one."""
    if isinstance(e.value, int) and e.value.bit_length() > LARGEST_BITS:
        fail(errors.NotFinite(span=e.span))
    return e


def class_attribute(e: s.Attribute, owner: Any) -> s.Expr:
    """Return a number that a class or an enum has a name for: `Mode.FAST`, `Limits.ROWS`."""
    assert isinstance(e.base, s.Resolved)
    text = f"{e.base.text}.{e.name}"
    try:
        value = getattr(owner, e.name)
    except AttributeError:
        fail(errors.NoAttribute(span=e.span, base=e.base.text, name=e.name))
    number = value.value if isinstance(value, Enum) else value
    if type(number) not in (bool, int, float) and not isinstance(number, Scalar):
        fail(errors.ClassAttribute(span=e.span, name=text, kind=type(number).__name__))
    return constant(number, text, e.span)


def is_enum(e: s.Expr) -> bool:
    """Whether an expression names an enum: `.value` of a member is what the member stands for."""
    return isinstance(e, s.Resolved) and isinstance(e.value, type) and issubclass(e.value, Enum)


def fail(error: Any) -> NoReturn:
    """Raise one error."""
    raise CompileError(error)
