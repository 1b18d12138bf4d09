"""The order that elements are merged in."""

from __future__ import annotations

import functools
from typing import Any

from prism.kernels import merge as kernels
from prism.lang.diagnostics import CompileError
from prism.lang.parse import parse
from prism.lang.parse import syntax as s
from prism.lang.parse.lambdas import Parsed, as_function
from prism.lang.parse.views import Written
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lib.algorithms.merge.plan import Kind
from prism.lib.algorithms.sort_rows.plan import SUPPORTED
from prism.lib.lazy.closures import callable_of, is_lambda
from prism.lib.records import is_record
from prism.runtime.arrays import ArrayInfo


def comparator_of(less: Any) -> Kernel | None:
    """Return what `less` is to kernels: a lambda as a device function, the same for the same; None of None.

    Raises:
        TypeError: it is neither a device function nor a lambda.
        CompileError: the lambda has what Prism does not have.
    """
    found = callable_of(less) if is_lambda(less) else less
    if found is not None and (not isinstance(found, Kernel) or found.kind != "device"):
        raise TypeError(f"`less` must be a Prism device function or a lambda, not {type(less).__name__}")
    return found


def usual_order(less: Kernel, scalar: Any) -> bool | None:
    """Whether numbers fall in the order of `less`, where that is `a < b` or `a > b` of both as they are; None of any other.

    Then a sort goes by digits, and a merge has a kernel of its own. NaN, which such an order leaves anywhere, stands last.
    """
    if scalar not in SUPPORTED or scalar not in SCALARS or scalar == "bool":
        return None
    if less in (kernels.less, kernels.greater):
        return less is kernels.greater
    found = _compared(less)
    return found[1] if found is not None and isinstance(found[0], s.Name) else None


@functools.lru_cache(256)
def key_in(less: Kernel) -> tuple[Kernel, bool] | None:
    """Return a function of one element, and whether it falls, where a lambda compares nothing but what it makes of each; or None.

    `lambda a, b: a.day % 7 < b.day % 7` is an order by `lambda a: a.day % 7`.
    """
    found = _compared(less) if isinstance(less, Written) else None
    if found is None:
        return None
    e, falls, name = found
    return as_function(Parsed(((name, e.span),), e, e.span), less.python), falls


@functools.lru_cache(256)
def _compared(less: Kernel) -> tuple[s.Expr, bool, str] | None:
    """Return what a function makes of either parameter and compares, whether it falls, and the parameter's name; or None.

    Of a function that is no lambda both are of one type, whatever it is.
    """
    try:
        found = less.syntax if isinstance(less, Written) else parse(less)
    except CompileError:
        return None  # it is said where it is compiled
    names = tuple(one.name for one in found.parameters)
    types = [one.annotation.name if isinstance(one.annotation, s.Name) else None for one in found.parameters]
    if len(names) != 2 or not (isinstance(less, Written) or (types[0] == types[1] and types[0] in less.template)):
        return None
    match [one for one in found.body if not isinstance(one, s.Pass)]:
        case [s.Return(value=s.Binary(op="<" | ">" as op, left=left, right=right))]:
            for one, other in (names, names[::-1]):
                if _alike(left, right, one, other):
                    return left, (op == ">") == (one == names[0]), one
    return None


def _alike(left: Any, right: Any, one: str, other: str) -> bool:
    """Whether parts of a tree are the same but for parameters, where `other` stands for `one`."""
    if isinstance(left, s.Name) and isinstance(right, s.Name):
        names = left.name, right.name
        return names == (one, other) or (names[0] == names[1] and names[0] not in (one, other))
    if type(left) is not type(right):
        return False
    if isinstance(left, s.Node):
        fields = [field.name for field in type(left)._fields if field.name != "span"]
        return all(_alike(getattr(left, name), getattr(right, name), one, other) for name in fields)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(_alike(*pair, one, other) for pair in zip(left, right, strict=True))
    return bool(left == right)


def kind_of(given: ArrayInfo, values: str, less: Any, descending: bool, name: str, function: str) -> Kind:
    """Return the kind of a merge of elements: in the order of `less`, a device function, or, where it is None, of numbers.

    Raises:
        TypeError: they have no order, or `less` is given with `descending`.
    """
    scalar = given.scalar
    if less is not None:
        if descending:
            raise TypeError("`less` is an order already: it goes without `descending`")
        if scalar not in SCALARS and not is_record(scalar):
            raise TypeError(f"`{name}` has dtype {given.dtype}, which {function} does not support")
        falls = usual_order(less, scalar)
        return Kind(scalar, values, less if falls is None else kernels.greater if falls else kernels.less)
    if scalar in ("complex64", "complex128"):
        return Kind(scalar, values, kernels.complex_greater if descending else kernels.complex_less)
    if scalar == "bool":
        scalar = "uint8"
    if scalar not in SUPPORTED:
        hint = ": a struct takes `less`, a device function" if given.dtype.names else ""
        raise TypeError(f"`{name}` has dtype {given.dtype}, which {function} does not support{hint}")
    return Kind(scalar, values, kernels.greater if descending else kernels.less)


__all__ = ["comparator_of", "kind_of"]
