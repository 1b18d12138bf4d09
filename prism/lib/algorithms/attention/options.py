"""What functions of attention are asked for beside arrays: layouts, corners, windows, numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prism.runtime.arrays import ArrayInfo

ALIGNMENTS = {False: None, True: "bottom_right", "bottom_right": "bottom_right", "top_left": "top_left"}
"""What `causal` may be, and which corners of a head's scores the diagonal meets."""
LAYOUTS = {"bhld": (0, 1, 2, 3), "blhd": (0, 2, 1, 3)}
"""Where batches, heads, lengths and elements stand among the axes."""
MOST = (1 << 31) - (1 << 10)
"""Rows and keys together, at most."""


def axes_of(layout: str | None, together: bool) -> tuple[int, ...]:
    """Return where the axes stand of the layout that is asked for, or of the usual one; `together`: sequences lie in one array.

    Raises:
        ValueError: there is none of this name.
    """
    layout = layout if layout is not None else "blhd" if together else "bhld"
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise ValueError(f"`layout` is {' or '.join(map(repr, LAYOUTS))}, not {layout!r}")
    return LAYOUTS[layout]


def cap_of(softcap: Any) -> float | None:
    """Return the number that scores are kept below, if any.

    Raises:
        TypeError, ValueError: it is no number, or none above 0.
    """
    cap = number_of(softcap, "softcap")
    if cap is not None and not 0 < cap < math.inf:
        raise ValueError(f"`softcap` must be positive, and finite, not {softcap}")
    return cap


def require_alike(
    arrays: Mapping[str, ArrayInfo], extents: Sequence[tuple[int, ...]], *, tiled_keys: bool = False
) -> None:
    """Check what must be equal of queries, keys and values: their batches, heads, lengths and elements are `extents`.

    `tiled_keys`: keys are cut into tiles, as queries are.

    Raises:
        ValueError: they don't fit together, or are too long.
    """
    q, k, v = (arrays[name].shape for name in ("q", "k", "v"))
    (b, h, rows, dim), (kb, kh, keys, kdim), (vb, vh, values, _) = extents
    if kdim != dim:
        raise ValueError(f"`q` and `k` have {dim} and {kdim} elements a head: they must have as many")
    if (kb, kh, keys) != (vb, vh, values):
        raise ValueError(f"`k` and `v` have shapes {k} and {v}: they may differ in the last axis alone")
    if kb != b:
        raise ValueError(f"`q` and `k` have {b} and {kb} batches: they must have as many")
    if h and (not kh or h % kh):
        raise ValueError(f"`q` has {h} heads and `k` {kh}: the first must be a multiple of the second")
    if rows + keys > MOST or b * h * (max(rows, keys if tiled_keys else 0) // 64 + 1) > MOST:
        raise ValueError(f"`q` and `k` have shapes {q} and {k}: lengths together, and tiles, are at most {MOST}")


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


__all__ = ["ALIGNMENTS", "LAYOUTS", "MOST", "axes_of", "bounds_of", "cap_of", "number_of", "require_alike"]
