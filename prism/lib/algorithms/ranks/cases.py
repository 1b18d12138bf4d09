"""Calls of functions of ranks: of numbers of which many are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import LONG_PLANES, PLANES, Case, numbers

_ROWS: dict[str, Any] = {"shapes": ((1000,), (1,), (2,), (257,), (4097,), (16_385,))}
_PLANES: dict[str, Any] = {"shapes": PLANES[3:7], "large": LONG_PLANES}


def _kth(x: Any) -> tuple[Any, Any]:
    if x.size < 2:
        raise ValueError
    place = np.argsort(x, kind="stable")[1]
    return x[place], np.int64(place)


def _sorted(x: Any) -> Any:
    return np.sort(x)


CASES = (
    Case("kthvalue", numbers, _kth, {"k": 2}, ("float32", "int64"), out=False, **_ROWS),
    Case(
        "median", numbers, np.median, {}, ("float32",), **_ROWS,
        peers={"cupy": lambda cupy, x: cupy.median(x), "torch": lambda torch, x: torch.median(x)},
    ),
    Case("median", numbers, lambda x: np.median(x, axis=0), {"axis": 0}, ("int8",), **_PLANES),
    Case(
        "quantile", numbers, lambda x: np.quantile(x, [0.2, 0.9]), {"q": [0.2, 0.9]}, ("float32", "int32"), **_ROWS,
        peers={"cupy": lambda cupy, x: cupy.quantile(x, [0.2, 0.9])},
    ),
    Case(
        "percentile", numbers, lambda x: np.percentile(x, 30, axis=1), {"q": 30, "axis": 1}, ("float32",), **_PLANES,
    ),
    Case("nanmedian", numbers, np.nanmedian, {}, ("float32", "int32"), planned=False, **_ROWS),
    Case("nanquantile", numbers, lambda x: np.nanquantile(x, 0.3), {"q": 0.3}, ("float32",), planned=False, **_ROWS),
    Case("nanpercentile", numbers, lambda x: np.nanpercentile(x, 30), {"q": 30}, ("float64",), planned=False, **_ROWS),
    Case("partition", numbers, _sorted, {"kth": 0}, ("int32", "float32"), ((1000,), (1,), (257,)), ((1,), (4000,)), out=False),
    Case(
        "argpartition", numbers, lambda x: np.argsort(x, kind="stable"), {"kth": 0}, ("int32", "float32"),
        ((1000,), (1,), (257,)), ((1,), (4000,)), out=False,
    ),
)  # fmt: skip
"""Short rows are sorted; what longer ones are is not for a case to say: there is more than one answer."""
