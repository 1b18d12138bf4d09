"""Calls of attention_decode of which the result is exact, as those of attention are: of the first queries of each head."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.algorithms.attention import cases as attention
from prism.lib.cases import Case

WHOLE = attention.CASES[0]


def _of_few(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    """Return queries of which each looks for one key, keys, and values."""
    q, k, v = WHOLE.make(random, shape, dtype)
    return np.ascontiguousarray(q[:, :, :5]), k, v


CASES = (
    Case(
        "attention_decode",
        _of_few,
        WHOLE.oracle,
        {"causal": False},
        WHOLE.dtypes,
        WHOLE.shapes,
        WHOLE.large,
        WHOLE.peers,
    ),
)
