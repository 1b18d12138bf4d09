"""The order that elements are merged in."""

from __future__ import annotations

from typing import Any

from prism.kernels import merge as kernels
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
        return Kind(scalar, values, less)
    if scalar in ("complex64", "complex128"):
        return Kind(scalar, values, kernels.complex_greater if descending else kernels.complex_less)
    if scalar == "bool":
        scalar = "uint8"
    if scalar not in SUPPORTED:
        hint = ": a struct takes `less`, a device function" if given.dtype.names else ""
        raise TypeError(f"`{name}` has dtype {given.dtype}, which {function} does not support{hint}")
    return Kind(scalar, values, kernels.greater if descending else kernels.less)


__all__ = ["comparator_of", "kind_of"]
