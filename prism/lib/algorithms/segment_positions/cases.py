"""Calls of what finds positions in segments: of about seven elements each, some of none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from prism.lib.algorithms.segments.cases import of_segments
from prism.lib.cases import Case


def _places(choose: Any) -> Any:
    def found(x: Any, offsets: Any) -> Any:
        return np.array([choose(x[a:b]) if b > a else -1 for a, b in itertools.pairwise(offsets)], np.int64)

    return found


_FEW: dict[str, Any] = {"shapes": ((1000,), (0,), (1,), (4097,)), "large": ((1,), (100_003,))}
CASES = (
    Case("segmented_argmin", of_segments, _places(np.argmin), {}, ("int32", "float64"), **_FEW),
    Case("segmented_argmax", of_segments, _places(np.argmax), {}, ("float32", "uint8"), **_FEW),
)
