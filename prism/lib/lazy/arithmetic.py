"""Arithmetic on lazy arrays, by NumPy's rules for dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from prism.lang.surface.views import Compute
from prism.lang.types import Scalar
from prism.lang.types.structs import Struct, scalar_called
from prism.lib import operators
from prism.lib.lazy.array import BOOL, Lazy, broadcast_all, compute, convert, dtype_of, make, of, of_number

_COMPARES = ("<", "<=", ">", ">=", "==", "!=")
_BITS = ("&", "|", "^")


def arithmetic(op: str, one: Any, other: Any) -> Any:
    """Return `one op other`, at least one of which is a lazy array, by NumPy's rules for dtypes.

    Raises:
        TypeError: the operator is not for these dtypes.
        ValueError: they have no shape in common.
    """
    if any(not isinstance(x, Lazy | bool | int | float | np.generic) and not hasattr(x, "dtype") for x in (one, other)):
        return NotImplemented
    number = next(
        (x for x in (one, other) if isinstance(x, bool | int | float) and not isinstance(x, np.generic)), None
    )
    first, second = (x if x is number else of(x) for x in (one, other))
    kinds: list[Any] = [x.scalar if isinstance(x, Lazy) else type(x) for x in (first, second)]
    scalar = _common(op, *kinds)
    if isinstance(scalar, Struct):  # the language has no operators on them, and the library has two
        function = (operators.add if op == "+" else operators.multiply).function
        return compute(
            function, scalar, broadcast_all([_complex(x, scalar) if x is number else x for x in (first, second)])
        )
    (left, right) = broadcast_all([of_number(x, scalar) if x is number else x for x in (first, second)])
    if scalar == BOOL:
        op = {"+": "|", "*": "&"}.get(op, op)
    found = compute(op, BOOL if op in _COMPARES else scalar, (convert(left, scalar), convert(right, scalar)))
    if op in _COMPARES:
        return found
    return Lazy(make(Compute, scalar, (found.value,)), scalar, found.shape, found.leaves, found.numbers)


@lru_cache(maxsize=1024)
def _common(op: str, *given: Any) -> Scalar:
    """Return the type that both are converted to, of types of elements, or one of a number of Python's."""
    scalars = {one for one in given if isinstance(one, Scalar)}
    structs = [one for one in scalars if isinstance(one, Struct)]
    if structs or any(one.coded for one in scalars):
        if len(scalars) > 1 or (structs and (op not in "+*" or not structs[0].tag)):
            text = " and ".join(sorted(map(str, scalars)))
            raise TypeError(f"`{op}` is not for lazy arrays of {text}: cast them, or map a function of your own")
        return scalars.pop()
    dtype = _result_type([dtype_of(one) if isinstance(one, Scalar) else one for one in given])
    if op == "/":
        dtype = np.true_divide(np.ones(1, dtype), np.ones(1, dtype)).dtype
    if op == "-" and dtype.kind == "b":
        raise TypeError("`-` is not for bools: use `^`")
    if op in _BITS and dtype.kind not in "biu":
        raise TypeError(f"`{op}` is for integers and bools, and not for {dtype}")
    found = scalar_called(dtype.name)
    if found is None:
        raise TypeError(f"`{op}` of these gives {dtype}, which lazy arrays do not have")
    return found


def _complex(value: Any, scalar: Struct) -> Lazy:
    """Return a real number as a complex one."""
    (_, part), _ = scalar.fields
    return compute(scalar, scalar, [of_number(float(value), part), of_number(0.0, part)])


def _result_type(dtypes: Sequence[Any]) -> np.dtype[Any]:
    """Return NumPy's type for both; a Python number takes the other's type, if that is of its kind."""
    (given, *more) = [x for x in dtypes if isinstance(x, np.dtype)]
    if more:
        return np.result_type(given, *more)
    number = next(x for x in dtypes if not isinstance(x, np.dtype))
    if number is bool:
        return given
    if number is int:
        return np.dtype(np.int64) if given.kind == "b" else given
    return given if given.kind in "fc" else np.dtype(np.float64)
