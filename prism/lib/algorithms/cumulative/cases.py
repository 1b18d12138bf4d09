"""Calls of the cumulative functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import INTEGERS, LONG_PLANES, NUMBERS, PLANES, Case, exact, numbers


def _sums(x: Any, axis: int | None) -> Any:
    return np.cumsum(exact(x), axis).astype(np.cumsum(x[:0]).dtype)


def _longer(x: Any) -> Any:
    return np.concatenate([np.zeros(1, np.cumsum(x[:0]).dtype), _sums(x, 0)])


_DTYPES = (*NUMBERS, "bool")
_PLANES: Any = {"shapes": PLANES, "large": LONG_PLANES}
CASES = (
    Case("cumsum", numbers, lambda x: _sums(x, None), dtypes=_DTYPES),
    Case("cumsum", numbers, lambda x: _sums(x, 0), {"axis": 0}, _DTYPES, **_PLANES),
    Case("cumsum", numbers, lambda x: _sums(x, 1), {"axis": 1}, _DTYPES, **_PLANES),
    Case("cumprod", numbers, lambda x: np.cumprod(x), dtypes=INTEGERS),
    Case("cummax", numbers, lambda x: np.maximum.accumulate(x, 1), {"axis": 1}, _DTYPES, **_PLANES),
    Case("cummin", numbers, lambda x: np.minimum.accumulate(x, 0), {"axis": 0}, _DTYPES, **_PLANES),
    Case("cumulative_sum", numbers, _longer, {"include_initial": True}, _DTYPES, planned=False),
    Case("cumulative_prod", numbers, lambda x: np.cumprod(x), dtypes=INTEGERS),
)
