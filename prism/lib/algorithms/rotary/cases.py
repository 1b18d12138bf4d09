"""Calls of rotary positions, by quarters of a turn: results are exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case

_DTYPES = ("float32", "float16", "float64")
_SHAPES: dict[str, Any] = {
    "shapes": ((2, 3, 5, 16), (1, 1, 1, 2), (2, 0, 3, 8), (3, 2, 7, 10)),
    "large": ((2, 8, 300, 128), (1, 4, 4097, 64)),
}


def _turned(random: Any, shape: tuple[int, ...], dtype: str, axis: int) -> tuple[Any, Any, Any]:
    x = random.integers(-8, 9, shape).astype(dtype)
    quarters = random.integers(0, 4, (shape[axis], shape[-1] // 2))
    cos, sin = (np.array(values, np.float32)[quarters] for values in ([1, 0, -1, 0], [0, 1, 0, -1]))
    return x, cos, sin


def _heads_first(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    return _turned(random, shape, dtype, -2)


def _heads_behind(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    return _turned(random, shape, dtype, -3)


def _rope(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    cos, sin = cos.astype(x.dtype), sin.astype(x.dtype)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def _rope_back_of_neighbours(x: Any, cos: Any, sin: Any) -> Any:
    found, (a, b) = np.empty_like(x), (x[..., 0::2], x[..., 1::2])
    cos, sin = (table.astype(x.dtype)[:, None] for table in (cos, sin))
    found[..., 0::2], found[..., 1::2] = a * cos + b * sin, b * cos - a * sin
    return found


CASES = (
    Case("rope", _heads_first, _rope, {}, _DTYPES, **_SHAPES),
    Case(
        "rope", _heads_behind, _rope_back_of_neighbours, {"axis": -3, "interleaved": True, "inverse": True},
        _DTYPES,
        **_SHAPES,
    ),
)  # fmt: skip
