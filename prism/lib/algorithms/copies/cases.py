"""Calls of copies, transposes and permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import LONG_PLANES, PLANES, Case, numbers

_DTYPES = ("float32", "uint8", "float16", "float64", "complex128", "bool")
_PLANES: dict[str, Any] = {"shapes": PLANES, "large": (*LONG_PLANES, (4099, 517), (1 << 20, 3), (2048, 2048))}
_BOXES: dict[str, Any] = {
    "shapes": ((3, 17, 33), (2, 0, 3), (40, 3, 3), (1, 1, 1)),
    "large": ((1000, 33, 17), (64, 300, 70)),
}


def _turned(x: Any) -> Any:
    return np.ascontiguousarray(x.transpose(2, 0, 1))


def _ends_exchanged(x: Any) -> Any:
    return np.ascontiguousarray(x.swapaxes(0, 2))


CASES = (
    Case(
        "transpose", numbers, lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)), {}, _DTYPES, **_PLANES,
        peers={
            "cupy": lambda cupy, x: cupy.ascontiguousarray(x.T),
            "torch": lambda torch, x: x.t().contiguous(),
        },
    ),
    Case("copy", numbers, np.copy, {}, _DTYPES, **_PLANES),
    Case("permute", numbers, _turned, {"axes": (2, 0, 1)}, ("float32", "uint8"), **_BOXES),
    Case("transpose", numbers, _ends_exchanged, {"axis1": 0, "axis2": 2}, ("float32", "int16"), **_BOXES),
)  # fmt: skip
