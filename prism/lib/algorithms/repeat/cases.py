"""Calls of what repeats elements: three times each on average, and some not at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case, numbers

_ROWS: dict[str, Any] = {"shapes": ((1000,), (0,), (1,), (4097,)), "large": ((1,), (1 << 14,), (1_000_001,))}


def _counted(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (*numbers(random, shape, dtype), random.integers(0, 7, shape[0]))


def _fixed(a: Any, counts: Any) -> Any:
    full = np.ones(2000, a.dtype)
    found = np.repeat(a, counts)[:2000]
    full[: found.size] = found
    return full


CASES = (
    Case(
        "repeat", _counted, np.repeat, {}, ("int32", "uint8", "float16", "complex128", "bool"), **_ROWS, out=False, planned=False,
        peers={
            "cupy": lambda cupy, a, counts: cupy.repeat(a, counts.tolist()),
            "torch": lambda torch, a, counts: torch.repeat_interleave(a, counts),
        },
    ),
    Case(
        "repeat", numbers, lambda a: np.repeat(a, 3, axis=1), {"repeats": 3, "axis": 1}, ("float32",), ((33, 129), (0, 5)),
        ((300, 70),), out=False, planned=False,
    ),
    Case(
        "run_length_decode", _counted, _fixed, {"size": 2000, "fill_value": 1}, ("float32", "int8"), **_ROWS, out=False,
        planned=False,
    ),
)  # fmt: skip
