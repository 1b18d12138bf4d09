"""Calls of sorts of segments: of about seven elements each, some of none."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.algorithms.segments.cases import of_segments
from prism.lib.cases import Case


def _each(x: Any, offsets: Any, found: Any, what: Any) -> Any:
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        found[begin:end] = what(x[begin:end])
    return found


def _sort(x: Any, offsets: Any) -> Any:
    return _each(x, offsets, x.copy(), lambda part: np.sort(part, kind="stable"))


def _argsort(x: Any, offsets: Any) -> Any:
    return _each(x, offsets, np.full(x.shape, -1), lambda part: np.argsort(part, kind="stable"))


def _with_values(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    x, offsets = of_segments(random, shape, dtype)
    return x, random.integers(0, 1 << 30, x.shape).astype(np.int32), offsets


def _sort_by_key(keys: Any, values: Any, offsets: Any) -> tuple[Any, Any]:
    places = _argsort(keys, offsets) + np.repeat(offsets[:-1], np.diff(offsets))
    return keys[places], values[places]


def _top(x: Any, offsets: Any) -> tuple[Any, Any]:
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    values, places = np.full((offsets.size - 1, 3), lowest, x.dtype), np.full((offsets.size - 1, 3), -1)
    for s, (begin, end) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        first = np.argsort(-x[begin:end].astype(np.float64), kind="stable")[:3]  # small whole numbers
        values[s, : first.size], places[s, : first.size] = x[begin:end][first], first
    return values, places


CASES = (
    Case("segmented_sort", of_segments, _sort),
    Case("segmented_argsort", of_segments, _argsort),
    Case("segmented_sort_by_key", _with_values, _sort_by_key, out=False, dtypes=("int32", "float64")),
    Case("segmented_top_k", of_segments, _top, {"k": 3}, out=False, dtypes=("float32", "uint8")),
)
