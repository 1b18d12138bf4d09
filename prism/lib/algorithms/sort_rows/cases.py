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


CASES = (
    Case("segmented_sort", of_segments, _sort),
    Case("segmented_argsort", of_segments, _argsort),
)
