"""Calls of what takes elements at indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case, numbers

_DTYPES = ("int32", "uint8", "float64", "complex64", "bool")
_ROWS: dict[str, Any] = {"shapes": ((1000,), (1,), (257,), (4097,)), "large": ((1,), (1 << 14,), (3_000_001,))}
_PLANES: dict[str, Any] = {"shapes": ((33, 129), (1, 1), (5, 16)), "large": ((300, 70), (20_000, 3))}


def _anywhere(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (*numbers(random, shape, dtype), random.integers(-shape[0], shape[0], shape[0] + 5))


def _along(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (*numbers(random, shape, dtype), random.integers(-shape[1], shape[1], (shape[0], 7)))


CASES = (
    Case(
        "take", _anywhere, np.take, {}, _DTYPES, **_ROWS,
        peers={"cupy": lambda cupy, a, i: cupy.take(a, i), "torch": lambda torch, a, i: torch.take(a, i)},
    ),
    Case("take", _anywhere, lambda a, i: np.take(a, i, axis=0), {"axis": 0}, ("float32",), **_PLANES),
    Case("take_along_axis", _along, lambda a, i: np.take_along_axis(a, i, 1), {"axis": 1}, ("float32", "int64"), **_PLANES),
)  # fmt: skip
