"""Calls of differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import PLANES, Case, numbers

_DTYPES = ("int32", "uint8", "float16", "float64", "complex64", "bool")
_SHORT: dict[str, Any] = {"shapes": ((1000,), (0,), (1,), (257,), (4097,))}


def _neighbours(x: Any) -> Any:
    return np.concatenate([x[:1], np.diff(x)])


CASES = (
    Case(
        "diff", numbers, np.diff, dtypes=_DTYPES, **_SHORT,
        peers={"cupy": lambda cupy, x: cupy.diff(x), "torch": lambda torch, x: torch.diff(x)},
    ),
    Case("diff", numbers, lambda x: np.diff(x, axis=0), {"axis": 0}, ("int32",), PLANES[:4], ((300, 70),)),
    Case("diff", numbers, lambda x: np.diff(x, prepend=1), {"prepend": 1}, ("int64",), PLANES[:3], ((300, 70),)),
    Case("ediff1d", numbers, np.ediff1d, dtypes=("float32", "int64"), **_SHORT),
    Case("adjacent_difference", numbers, _neighbours, dtypes=("float32", "bool"), **_SHORT),
)  # fmt: skip
