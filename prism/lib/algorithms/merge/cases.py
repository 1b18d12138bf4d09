"""Calls of merges: of two sorted arrays of unequal lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case, numbers


def _runs(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    (x,) = numbers(random, shape, dtype)
    cut = shape[0] // 3
    return np.sort(x[:cut]), np.sort(x[cut:])


def _pairs(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any, Any]:
    a, b = _runs(random, shape, dtype)
    return a, random.integers(0, 9, a.shape, dtype=np.int16), b, random.integers(0, 9, b.shape, dtype=np.int16)


def _merge(a: Any, b: Any) -> Any:
    return np.sort(np.concatenate([a, b]), kind="stable")


def _merge_by_key(a: Any, a_values: Any, b: Any, b_values: Any) -> Any:
    keys = np.concatenate([a, b])
    order = np.argsort(keys, kind="stable")
    return keys[order], np.concatenate([a_values, b_values])[order]


CASES = (
    Case("merge", _runs, _merge, {}, ("float32", "int8", "uint64")),
    Case("merge_by_key", _pairs, _merge_by_key, {}, ("int32", "float32", "uint8"), out=False),
)
