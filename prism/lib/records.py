"""Elements that are no numbers of one word: structs, and complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang.types.structs import Struct, scalar_called
from prism.lib.operators import BY_NAME, Operator
from prism.runtime.arrays import ArrayInfo

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
    if operator.name not in ("add", "multiply"):
        raise TypeError(f"`op`: `{operator.name}` is not for complex numbers, and the dtype is {scalar}")


def record_dtype(given: ArrayInfo, asked: Any, result: ArrayInfo | None, name: str, function: str) -> np.dtype[Any]:
    """Return what structs and complex numbers are reduced in, and to: their own dtype, in the machine's byte order.

    Raises:
        TypeError: another is asked for, or that of the result is another.
    """
    own = given.dtype if given.dtype.names else given.dtype.newbyteorder("=")
    if asked is not None and np.dtype(asked).newbyteorder("=") != own:
        raise TypeError(f"`{name}` has dtype {given.dtype}, which {function} does not convert to {np.dtype(asked)}")
    if result is not None and result.dtype.newbyteorder("=") != own:
        raise TypeError(f"`out` is of {result.scalar}, and the result of {function} is of {given.dtype}")
    return own
