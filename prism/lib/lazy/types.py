"""Of which types lazy arrays are, and which one arithmetic on two of them gives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from prism.lang.types import Scalar
from prism.lang.types.structs import Struct, scalar_called
from prism.runtime import arrays as known_arrays

WHOLE = ("//", "%", "**")
_BITS = ("&", "|", "^")


@lru_cache(maxsize=256)
def dtype_of(scalar: Scalar) -> np.dtype[Any]:
    """Return NumPy's dtype of a kernel's type; bfloat16's own name for it."""
    if isinstance(scalar, Struct):
        return scalar.dtype
    found: np.dtype[Any] = known_arrays.CODED.get(scalar.name, np.dtype(scalar.numpy))
    return found


@lru_cache(maxsize=1024)
def common_type(op: str, *given: Any) -> Scalar:
    """Return the type that both are converted to, of types of elements, or one of a number of Python's.

    Raises:
        TypeError: the operator is not for these.
    """
    scalars = {one for one in given if isinstance(one, Scalar)}
    if op in ("==", "!=") and any(isinstance(one, Struct) and one.tag for one in scalars):
        found = scalar_called(_result_type([dtype_of(one) if isinstance(one, Scalar) else one for one in given]).name)
        scalars = scalars if found is None else {found}
    structs = [one for one in scalars if isinstance(one, Struct)]
    if structs or any(one.coded for one in scalars):
        if len(scalars) > 1 or op in WHOLE or (structs and (op not in ("+", "*", "==", "!=") or not structs[0].tag)):
            text = " and ".join(sorted(map(str, scalars)))
            raise TypeError(f"`{op}` is not for lazy arrays of {text}: cast them, or map a function of your own")
        return scalars.pop()
    dtype = _result_type([dtype_of(one) if isinstance(one, Scalar) else one for one in given])
    if op == "/":
        dtype = np.true_divide(np.ones(1, dtype), np.ones(1, dtype)).dtype
    if op in WHOLE and dtype.kind == "b":
        dtype = np.dtype(np.int8)
    if op in ("//", "%") and dtype.kind == "f":
        raise TypeError(f"`{op}` is for integers, and not for {dtype}: map a function of your own")
    if op == "-" and dtype.kind == "b":
        raise TypeError("`-` is not for bools: use `^`")
    if op in _BITS and dtype.kind not in "biu":
        raise TypeError(f"`{op}` is for integers and bools, and not for {dtype}")
    found = scalar_called(dtype.name)
    if found is None:
        raise TypeError(f"`{op}` of these gives {dtype}, which lazy arrays do not have")
    return found


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
