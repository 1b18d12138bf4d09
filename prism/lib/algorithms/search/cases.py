"""Calls of searches: values of which some stand in the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.kernels.select import is_set
from prism.lib.cases import Case, numbers

_ROWS: dict[str, Any] = {"shapes": ((20_001,), (0,), (1,), (257,)), "large": ((1,), (1 << 14,), (3_000_001,))}
_DTYPES = ("int32", "float32", "int64", "float16", "bool")


def _table(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    table = np.sort(random.integers(0, 100, 40 + shape[0] // 64).astype(dtype))
    return table, random.integers(0, 110, shape).astype(dtype)


def _bins(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    table, x = _table(random, shape, dtype)
    return x, table[::-1].copy()


def _with_mask(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (*numbers(random, shape, dtype), random.random(shape) < 1 / (1 + shape[0] // 2))


def _first(x: Any, mask: Any) -> Any:
    return np.int64(mask.argmax() if mask.any() else -1)


CASES = (
    Case(
        "searchsorted", _table, np.searchsorted, {}, _DTYPES, **_ROWS,
        peers={
            "cupy": lambda cupy, a, v: cupy.searchsorted(a, v), "torch": lambda torch, a, v: torch.searchsorted(a, v),
        },
    ),
    Case(
        "searchsorted", _table, lambda a, v: np.searchsorted(a, v, "right"), {"side": "right"}, ("float32", "int64"), **_ROWS,
    ),
    Case("digitize", _bins, lambda x, bins: np.digitize(x, bins), {}, ("int32", "float64"), planned=False, **_ROWS),
    Case("find", _with_mask, _first, {}, ("int32",), planned=False, **_ROWS),
    Case("find", numbers, lambda x: _first(x, x != 0), {"condition": is_set}, ("float32", "uint8"), **_ROWS),
)  # fmt: skip
