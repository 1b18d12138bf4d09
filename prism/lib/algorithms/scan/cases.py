"""Calls of `scan`."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import INTEGERS, LONG_PLANES, NUMBERS, PLANES, Case, exact, numbers


def _scan(x: Any, axis: int | None = None, op: np.ufunc = np.add) -> Any:
    wide = exact(x.ravel() if axis is None else x)
    return op.accumulate(wide, axis or 0, dtype=wide.dtype).astype(x.dtype)


def _exclusive(x: Any) -> Any:
    return _scan(np.concatenate([np.full(1, 3, x.dtype), x]))[:-1]


_PLANES: Any = {"shapes": PLANES, "large": LONG_PLANES}
CASES = (
    Case(
        "scan",
        numbers,
        _scan,
        peers={
            "cupy": lambda cupy, x: cupy.cumsum(x, dtype=x.dtype),
            "torch": lambda torch, x: torch.cumsum(x, 0, dtype=x.dtype),
        },
    ),
    Case("scan", numbers, _exclusive, {"exclusive": True, "initial": 3}),
    Case("scan", numbers, lambda x: _scan(x[::-1])[::-1], {"reverse": True}),
    Case("scan", numbers, lambda x: _scan(x, None, np.maximum), {"op": "maximum"}, (*NUMBERS, "bool")),
    Case("scan", numbers, lambda x: _scan(x, None, np.bitwise_xor), {"op": "bitwise_xor"}, INTEGERS),
    Case("scan", numbers, lambda x: _scan(x, 0), {"axis": 0}, **_PLANES),
    Case("scan", numbers, lambda x: _scan(x, 1), {"axis": 1}, **_PLANES),
)
