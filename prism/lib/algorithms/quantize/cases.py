"""Calls that round to 8 bits: of integers, which NumPy has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lib.cases import Case

_SHAPES: dict[str, Any] = {
    "shapes": ((33, 64), (5, 96), (1, 32), (3, 1024), (0, 32)),
    "large": ((300, 96), (4096, 4096), (2, 1 << 20)),
}


def _normal(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    x = random.standard_normal(shape).astype(dtype)
    x[:1] = 0
    return (x,)


def _of(cut: Callable[[Any], Any], many: Callable[[Any], tuple[int, ...]]) -> Callable[[Any], tuple[Any, Any]]:
    """Return an oracle: `cut` gives groups as rows, `many` the shape of the scales."""

    def oracle(x: Any) -> tuple[Any, Any]:
        groups = cut(x.astype(np.float32))
        top = np.abs(groups).max(axis=1, keepdims=True, initial=0)
        with np.errstate(divide="ignore"):
            by = np.where(top == 0, np.float32(0), np.float32(127) / top)
        scales = np.where(top == 0, np.float32(1), top / np.float32(127))
        return np.rint(groups * by).astype(np.int8).reshape(x.shape), scales.reshape(many(x))

    return oracle


CASES = (
    Case(
        "quantize", _normal, _of(lambda x: x, lambda x: x.shape[:-1]), {"dtype": "int8"}, ("float32", "float16"), **_SHAPES,
        out=False,
    ),
    Case(
        "quantize", _normal, _of(lambda x: x.reshape(-1, 32), lambda x: (*x.shape[:-1], x.shape[-1] // 32)),
        {"dtype": "int8", "group": 32}, ("float32", "float16"), **_SHAPES, out=False,
    ),
    Case(
        "quantize", _normal, _of(lambda x: x.reshape(1, -1), lambda x: (1,)), {"dtype": "int8", "group": "tensor"},
        ("float32", "float16"), ((33, 64), (5, 96), (1, 33)), ((300, 96), (4096, 4096)), out=False,
    ),
)  # fmt: skip
