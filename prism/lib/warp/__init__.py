"""Collectives of a warp: what 32 threads do together, with shuffles or in given room. In a kernel: `warp.scan(...)`."""

from typing import TYPE_CHECKING

from prism.lib.warp.arg import arg_reduce, argmax, argmin
from prism.lib.warp.exchange import (
    blocked_to_striped, blocked_to_striped_in, striped_to_blocked, striped_to_blocked_in,
)  # fmt: skip
from prism.lib.warp.load import load, load_transposed
from prism.lib.warp.reduce import reduce, reduce_across, reduce_groups, reduce_near, reduce_to_first, reduce_valid
from prism.lib.warp.scan import scan, scan_both, scan_groups, scan_valid
from prism.lib.warp.segments import reduce_segments, scan_heads, scan_segments
from prism.lib.warp.shift import rotate, shift_down, shift_up
from prism.lib.warp.sort import merge_bitonic, sort, sort_pairs
from prism.lib.warp.store import store, store_transposed

__all__ = [
    "arg_reduce", "argmax", "argmin", "blocked_to_striped", "blocked_to_striped_in", "load", "load_transposed",
    "merge_bitonic", "reduce", "reduce_across", "reduce_groups", "reduce_near", "reduce_segments", "reduce_to_first",
    "reduce_valid", "rotate", "scan", "scan_both", "scan_groups", "scan_heads", "scan_segments", "scan_valid",
    "shift_down", "shift_up", "sort", "sort_pairs", "store", "store_transposed", "striped_to_blocked",
    "striped_to_blocked_in",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Say how what is not here is written, where that is known."""
        from prism.lang.errors.names import reduction

        how = reduction("warp", name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{how and f': {how}'}")
