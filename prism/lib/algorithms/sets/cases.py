"""Calls of the functions of sets: of numbers of which many are equal, and some others that are looked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case

_SHAPES: dict[str, Any] = {
    "shapes": ((1000,), (0,), (1,)),
    "large": ((1,), (1 << 14,), (1 << 20,)),
    "out": False,
    "planned": False,
}
_DTYPES: dict[str, Any] = {"dtypes": ("int32", "float32")}


def _few(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    return (random.integers(0, 99, shape).astype(dtype),)


def _two(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (*_few(random, shape, dtype), random.integers(50, 150, 40).astype(dtype))


def _fixed(x: Any, size: int) -> tuple[Any, Any]:
    values, counts = np.unique(x, return_counts=True)
    room = max(size - values.size, 0)
    ends = np.full(room, values[0] if values.size else 0), np.zeros(room, int)
    return np.append(values, ends[0])[:size].astype(x.dtype), np.append(counts, ends[1])[:size]


CASES = (
    Case(
        "unique", _few, np.unique, **_DTYPES, **_SHAPES,
        peers={"cupy": lambda cupy, x: cupy.unique(x), "torch": lambda torch, x: torch.unique(x)},
    ),
    Case(
        "unique", _few, lambda x: np.unique(x, True, True, True),
        {"return_index": True, "return_inverse": True, "return_counts": True}, dtypes=("int32",), **_SHAPES,
    ),
    Case("unique", _few, lambda x: _fixed(x, 120), {"size": 120, "return_counts": True}, dtypes=("int32",), **_SHAPES),
    Case("unique_all", _few, np.unique_all, dtypes=("int32",), **_SHAPES),
    Case("unique_counts", _few, np.unique_counts, dtypes=("int32",), **_SHAPES),
    Case("unique_inverse", _few, np.unique_inverse, dtypes=("int32",), **_SHAPES),
    Case("unique_values", _few, lambda x: np.sort(np.unique_values(x)), dtypes=("int32",), **_SHAPES),
    Case("isin", _two, np.isin, **_DTYPES, **_SHAPES, peers={"torch": lambda torch, x, y: torch.isin(x, y)}),
    Case("in1d", _two, lambda x, y: np.isin(x, y).reshape(-1), dtypes=("int32",), **_SHAPES),
    Case("intersect1d", _two, np.intersect1d, **_DTYPES, **_SHAPES),
    Case(
        "intersect1d", _two, lambda x, y: np.intersect1d(x, y, return_indices=True), {"return_indices": True}, dtypes=("int32",),
        **_SHAPES,
    ),
    Case("union1d", _two, np.union1d, dtypes=("int32",), **_SHAPES),
    Case("setdiff1d", _two, np.setdiff1d, dtypes=("int32",), **_SHAPES),
    Case("setxor1d", _two, np.setxor1d, dtypes=("int32",), **_SHAPES),
)  # fmt: skip
