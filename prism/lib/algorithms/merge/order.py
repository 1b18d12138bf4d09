"""The order that elements are merged in."""

from __future__ import annotations

import functools
from typing import Any

from prism.kernels import merge as kernels
from prism.lang.diagnostics import CompileError
from prism.lang.parse import parse
from prism.lang.parse import syntax as s
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
    return _compared(less)


@functools.lru_cache(256)
def _compared(less: Kernel) -> bool | None:
    """Whether a function is `a > b` of its parameters, of one type whatever it is; None where it isn't `a < b` either."""
    try:
        found = less.syntax if isinstance(less, Written) else parse(less)
    except CompileError:
        return None  # it is said where it is compiled
    names = tuple(one.name for one in found.parameters)
    types = [one.annotation.name if isinstance(one.annotation, s.Name) else None for one in found.parameters]
    written = isinstance(less, Written)  # a lambda's parameters are of the types that it is given
    if len(names) != 2 or not (written or (types[0] == types[1] and types[0] in less.template)):
        return None
    body = [one for one in found.body if not isinstance(one, s.Pass)]
    match body:
        case [s.Return(value=s.Binary(op="<" | ">" as op, left=s.Name(name=left), right=s.Name(name=right)))]:
            if {left, right} == set(names):
                return (op == ">") == (left == names[0])
    return None


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
