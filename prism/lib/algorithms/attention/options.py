"""What functions of attention are asked for beside arrays: layouts, corners, windows, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

ALIGNMENTS = {False: None, True: "bottom_right", "bottom_right": "bottom_right", "top_left": "top_left"}
"""What `causal` may be, and which corners of a head's scores the diagonal meets."""
LAYOUTS = {"bhld": (0, 1, 2, 3), "blhd": (0, 2, 1, 3)}
"""Where batches, heads, lengths and elements stand among the axes."""
MOST = (1 << 31) - (1 << 10)
"""Rows and keys together, at most."""


def bounds_of(window: tuple[Any, ...]) -> tuple[int | None, int | None]:
    """Return how many keys before and behind its place a query sees.

    Raises:
        ValueError: it isn't two numbers from 0 on.
    """
    if len(window) != 2:
        raise ValueError(f"`window` is one number or two, not {len(window)}")
    for one in window:
        if one is not None and (isinstance(one, bool) or not isinstance(one, int | np.integer) or not 0 <= one < MOST):
            raise ValueError(f"`window` is made of numbers from 0 on, or None, not {one!r}")
    before, behind = (None if one is None else int(one) for one in window)
    return before, behind


def number_of(value: Any, name: str) -> float | None:
    """Return the number that an argument is, or None; 0 for one that float32 has no normal number for, as it is so small.

    Raises:
        TypeError: it is no number.
    """
    try:
        number = None if value is None else float(value)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number, not {value!r}") from None
    return 0.0 if number is not None and abs(number) < 2.0**-126 else number


__all__ = ["ALIGNMENTS", "LAYOUTS", "MOST", "bounds_of", "number_of"]
