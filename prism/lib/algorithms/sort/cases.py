"""Calls of sorts, along axes and of long rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang import uint32
from prism.lib.cases import LONG_PLANES, PLANES, Case, numbers
from prism.lib.thread import operators

_DTYPES = ("int32", "float16", "uint64")  # tests/lib/algorithms/sort has all
_FEW: dict[str, Any] = {"shapes": ((1000,), (0,), (1,), (257,)), "large": ((1 << 20,),), "planned": False}


def _with_values(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    x = numbers(random, shape, dtype)[0]
    return x, random.integers(0, 1 << 30, x.shape).astype(np.int32)


def _by_key(keys: Any, values: Any) -> tuple[Any, Any]:
    order = np.argsort(keys, axis=-1, kind="stable")
    return np.take_along_axis(keys, order, -1), np.take_along_axis(values, order, -1)


def _from_the_largest(keys: Any, values: Any) -> tuple[Any, Any]:
    order = np.argsort(-keys, axis=-1, kind="stable")
    return keys[order], values[order]


CASES = (
    Case(
        "sort", numbers, lambda x: np.sort(x, kind="stable"), dtypes=_DTYPES,
        peers={"cupy": lambda cupy, x: cupy.sort(x), "torch": lambda torch, x: torch.sort(x)},
    ),
    Case(
        "sort", numbers, lambda x: np.sort(x, 0, kind="stable"), {"axis": 0}, dtypes=("int32",), shapes=PLANES, large=LONG_PLANES,
        planned=False,
    ),
    Case(
        "argsort", numbers, lambda x: np.argsort(x, kind="stable"), dtypes=_DTYPES,
        peers={"cupy": lambda cupy, x: cupy.argsort(x), "torch": lambda torch, x: torch.argsort(x)},
    ),
    Case("sort_by_key", _with_values, _by_key, out=False, dtypes=("int32", "float64")),
    Case("sort", numbers, lambda x: x[np.argsort(x & 1, kind="stable")], {"bits": (0, 1)}, ("uint32", "uint64"), **_FEW),
    Case("argsort", numbers, lambda x: np.argsort(x, kind="stable"), {"key": uint32}, ("uint16", "uint64"), **_FEW),
    Case("sort_by_key", _with_values, _from_the_largest, {"less": operators.greater}, ("int32", "float16"), out=False, **_FEW),
)  # fmt: skip
