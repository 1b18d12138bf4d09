"""Sorts of long arrays for compute-sanitizer: data that each way of sorting takes, or refuses, and the kernels of it.

Some ways are for more elements than a sanitizer can watch: then what says how many there must be is changed for the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from prism.lib.algorithms.sort import groups, resident, wide, windows

RANGES, SHARES, RESIDENT = ("sort_ranges",), ("sort_shares", "sort_resident"), ("sort_resident",)
DIGITS, GROUPS = ("count_digits", "sort_digit"), ("move_to_groups", "sort_groups", "sort_digit")
WIDE, WINDOWS = ("sort_wide", "sort_digit"), ("sample_windows", "sort_windows", "sort_digit")


class Sorted(NamedTuple):
    """Data, what `as_if_long` is told of them, and kernels that sort keys alone, give positions, and move values of 4 bytes."""

    text: str
    data: Any
    long: str
    keys: tuple[str, ...]
    positions: tuple[str, ...]
    values: tuple[str, ...]


def sorted_arrays() -> tuple[Sorted, ...]:
    """Return arrays for each way to sort, with data that it sorts and with data that it leaves to another one."""
    random = np.random.default_rng(1)
    floats = random.standard_normal(200_003).astype(np.float32)
    told, special = floats.copy(), floats[:60_000].copy()
    told[777], special[::1000] = np.nan, -0.0
    words = random.integers(0, 1 << 63, 200_003, dtype=np.uint64)
    short = words.astype(np.uint32)
    many = random.integers(0, 1 << 32, (1 << 19) + 1, dtype=np.uint32)
    half = np.where(short[:140_000] & 1, short[:140_000], 7)
    return (
        Sorted("floats by ranges", floats[: 1 << 16], "", RANGES, RANGES, RANGES),
        Sorted("zeros by ranges", special, "", RANGES, RANGES, RANGES),
        Sorted("integers by ranges", short[:50_000], "", RANGES, RANGES, RANGES),
        Sorted("floats by shares", floats[:150_000], "", SHARES, RESIDENT, RESIDENT),
        Sorted("one NaN, by shares", told[:140_000], "", SHARES, RESIDENT, RESIDENT),
        Sorted("half one value, by shares", half, "", SHARES, RESIDENT, RESIDENT),
        Sorted("integers by shares", short[:150_001], "", SHARES, RESIDENT, RESIDENT),
        Sorted("integers by longer shares", many, "", SHARES, RESIDENT, RESIDENT),
        Sorted("groups", short[:200_001], "groups", GROUPS, DIGITS, DIGITS),
        Sorted("sorted, groups", np.sort(short[1:]), "groups", GROUPS, DIGITS, DIGITS),
        Sorted("wide digits", floats, "long", WIDE, WIDE, WIDE),
        Sorted("one NaN, by bytes", told, "long", WIDE, WIDE, WIDE),
        Sorted("windows", words, "long", WINDOWS, WINDOWS, WINDOWS),
        Sorted("sorted, by windows", np.sort(words), "long", WINDOWS, WINDOWS, WINDOWS),
        Sorted("windows of 4 bytes", short, "long", WINDOWS, WINDOWS, WINDOWS),
        Sorted("sorted, of 4 bytes", np.sort(short), "long", WINDOWS, WINDOWS, WINDOWS),
    )


def as_if_long(call: Callable[[], Any], long: str) -> Callable[[], Any]:
    """Return a call that, where `long` says so, sorts as longer arrays are sorted: blocks don't hold it all at once."""

    def patched() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(resident, "sorts", lambda *_: False)
            if long == "groups":
                patch.setattr(groups, "_FEWEST", 1 << 16)
                return call()
            patch.setattr(wide, "_FEWEST", 1 << 16)
            patch.setattr(windows, "_FEWEST", dict.fromkeys(windows._FEWEST, 1 << 16))
            patch.setattr(windows, "_FEWEST_PLACES", {4: 1 << 16, 8: 1 << 16})
            return call()

    return patched if long else call
