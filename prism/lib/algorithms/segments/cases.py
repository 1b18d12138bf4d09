"""Calls of the functions of segments: of about seven elements each, some of none."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case, exact, numbers


def of_segments(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    """Return an array and where its segments begin and end."""
    inner = np.sort(random.integers(0, shape[0] + 1, shape[0] // 7))
    return (*numbers(random, shape, dtype), np.concatenate([[0], inner, shape]))


def _sums(x: Any) -> Any:
    return np.concatenate([np.zeros(1, exact(x).dtype), np.cumsum(exact(x), dtype=exact(x).dtype)])


def _reduce(x: Any, offsets: Any) -> Any:
    return np.diff(_sums(x)[offsets]).astype(x.dtype)


def _scan(x: Any, offsets: Any) -> Any:
    first = offsets[np.searchsorted(offsets, np.arange(x.size), "right") - 1]
    return (_sums(x)[1:] - _sums(x)[first]).astype(x.dtype)


CASES = (
    Case("segmented_scan", of_segments, _scan),
    Case("segmented_reduce", of_segments, _reduce),
)
