"""The order of structs, NumPy's: by their fields, one after the other."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from prism.kernels import merge as kernels
from prism.lang.diagnostics import Span
from prism.lang.parse import syntax as s
from prism.lang.parse.views import Written, as_syntax, call, parameter
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS, Scalar
from prism.lang.types.perspective import THREAD
from prism.lang.types.structs import Struct, scalar_called
from prism.lib.records import is_record
from prism.runtime.arrays import ArrayInfo

_AT = Span("order of structs", 1, 0, 1, 1)


def has_fields(dtype: Any) -> bool:
    """Whether a dtype is one of structs: neither a number's, nor torch's."""
    return bool(getattr(dtype, "names", None))


def comparator_of_fields(info: ArrayInfo, order: Any, descending: bool, name: str) -> Kernel | None:
    """Return the order of an array's elements that `order`, a field's name or several, puts first; None: they are no structs.

    Fields that it does not name decide what is equal in those, as in NumPy.

    Raises:
        TypeError: elements have a size that kernels do not move.
        ValueError: there is no such field, or it is named twice; elements have none.
    """
    struct = scalar_called(info.scalar)
    if not isinstance(struct, Struct) or struct.tag or not is_record(info.scalar):
        if order is not None:
            raise ValueError(f"`order` is of structs, and `{name}` has dtype {info.dtype}, without fields")
        return None
    given = [order] if isinstance(order, str) else [] if order is None else order
    if not isinstance(given, list | tuple):
        raise ValueError(f"`order` must be a field's name, or a sequence of names, not {order!r}")
    for number, field in enumerate(given):
        if field not in struct.names:
            raise ValueError(f"`order`: {name} has no field {field!r}, but {', '.join(struct.names)}")
        if field in given[:number]:
            raise ValueError(f"`order` names {field!r} twice")
    return _comparator(struct, (*given, *(field for field in struct.names if field not in given)), descending)


@lru_cache(maxsize=256)
def _comparator(struct: Struct, names: tuple[str, ...], descending: bool) -> Kernel:
    """Return the device function that says whether a struct stands before another: by fields, the first one first."""
    place, scalars = as_syntax(THREAD, _AT), dict(struct.fields)
    value: s.Expr = s.Literal(value=False, span=_AT)
    for name in reversed(names):
        one, other = (
            _before(name, scalars[name], descending, "a", "b"),
            _before(name, scalars[name], descending, "b", "a"),
        )
        behind = s.Conditional(condition=other, then=s.Literal(value=False, span=_AT), otherwise=value, span=_AT)
        value = s.Conditional(condition=one, then=s.Literal(value=True, span=_AT), otherwise=behind, span=_AT)
    function = s.Function(
        name="before", parameters=tuple(parameter(name, struct, place, _AT) for name in "ab"), result=None, result_place=None,
        body=(s.Return(value=value, span=_AT),), extern=False, decorators=(), length=1, span=_AT,
    )  # fmt: skip
    return Written(function)


def _before(name: str, scalar: Scalar, descending: bool, one: str, other: str) -> s.Expr:
    """Return whether a field of one struct stands before that of another."""
    fields: list[s.Expr] = [s.Attribute(base=s.Name(name=base, span=_AT), name=name, span=_AT) for base in (one, other)]
    if scalar.name == "bool":
        fields = [call(SCALARS["uint8"], (field,), _AT) for field in fields]
    return call(kernels.greater if descending else kernels.less, tuple(fields), _AT)


__all__ = ["comparator_of_fields", "has_fields"]
