"""Calls of grouped products: shapes are `(groups, m, k, n)`; every row is in a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case, exact, numbers

SHAPES = ((3, 17, 32, 8), (2, 70, 33, 5), (2, 0, 8, 8), (3, 9, 0, 8), (1, 1, 1, 1), (40, 65, 64, 72))
"""The first is none that is copied: rows begin at multiples of 16 bytes, as a plan wants it."""
LARGE = ((5, 300, 264, 520), (1, 1000, 128, 256), (33, 500, 72, 136))


def _of_groups(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    """Return rows, a matrix for each group, and where groups begin and end: some may be empty."""
    groups, m, k, n = shape
    inner = np.sort(random.integers(0, m + 1, groups - 1))
    offsets = np.concatenate([[0], inner, [m]]).astype(np.int32)
    return (*numbers(random, (m, k), dtype), *numbers(random, (groups, k, n), dtype), offsets)


def _products(a: Any, b: Any, offsets: Any) -> Any:
    """Return what grouped products must be, rounded once."""
    group = np.searchsorted(offsets[1:], np.arange(len(a)), side="right")
    return (exact(a)[:, None] @ exact(b)[group])[:, 0].astype(a.dtype)


CASES = (Case("grouped_matmul", _of_groups, _products, {}, ("float16",), SHAPES, LARGE, {}),)
