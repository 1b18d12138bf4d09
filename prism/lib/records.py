"""Elements that are no numbers of one word: structs, and complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang.types.structs import Struct, scalar_called
from prism.lib.operators import BY_NAME, Operator
from prism.runtime.arrays import BFLOAT16, ArrayInfo

_RECORD_BYTES = (1, 2, 4, 8, 16)


def is_record(scalar: str) -> bool:
    """Whether a type is a struct that the kernels move, or a complex one.

    Raises:
        TypeError: it is a struct of another size.
    """
    found = scalar_called(scalar)
    if not isinstance(found, Struct):
        return False
    if found.bytes not in _RECORD_BYTES:
        raise TypeError(f"structs are of 1, 2, 4, 8 or 16 bytes here, and {found.dtype} has {found.bytes}: add a field")
    return True


def require_numbers(operator: Operator, scalar: str) -> None:
    """Check that an operator that has a name takes a type.

    Raises:
        TypeError: it is for numbers, and the type is a struct; or for real ones, and it is complex.
    """
    struct = scalar_called(scalar)
    if not isinstance(struct, Struct) or operator not in BY_NAME.values():
        return
    if not struct.tag:
        raise TypeError(f"`op`: `{operator.name}` is for numbers: a struct takes a prism.lib.Operator of your own")
    if operator.integral:
        raise TypeError(f"`op`: `{operator.name}` is not for complex numbers, and the dtype is {scalar}")


def common_dtype(given: np.dtype[Any], result: np.dtype[Any]) -> np.dtype[Any]:
    """Return what numbers are added up in where only the dtype of `out` is known: NumPy's for both."""
    one, other = (each if each == BFLOAT16 else each.newbyteorder("=") for each in (given, result))
    if BFLOAT16 not in (one, other):
        found: np.dtype[Any] = np.result_type(one, other)
        return found
    wider = other if one == BFLOAT16 else one
    return np.result_type(wider, np.float32) if wider.kind in "fc" else BFLOAT16


def record_dtype(own: np.dtype[Any], asked: Any, result: ArrayInfo | None, name: str, function: str) -> np.dtype[Any]:
    """Return what structs are reduced in, and to: their own dtype.

    Raises:
        TypeError: another is asked for, or that of the result is another.
    """
    if asked is not None and np.dtype(asked) != own:
        raise TypeError(f"`{name}` has dtype {own}, which {function} does not convert to {np.dtype(asked)}")
    if result is not None and result.dtype != own:
        raise TypeError(f"`out` is of {result.scalar}, and the result of {function} is of {own}")
    return own
