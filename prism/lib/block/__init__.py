"""Collectives of a block: what all its threads do together. In a kernel: `block.scan(...)`."""

from typing import TYPE_CHECKING

from prism.lib.block.arg import arg_reduce, argmax, argmin
from prism.lib.block.compact import compact, count_flags, separate, store_flagged
from prism.lib.block.decode import run_length_decode
from prism.lib.block.difference import difference, difference_right, heads, tails
from prism.lib.block.exchange import (
    blocked_to_striped, blocked_to_warp_striped, broadcast, scatter_to_blocked, scatter_to_striped, scatter_to_warp_striped,
    striped_to_blocked, warp_striped_to_blocked,
)
from prism.lib.block.histogram import add_weights, fill, histogram
from prism.lib.block.load import load, load_striped, load_tile, load_transposed, place, prefetch_tile
from prism.lib.block.rank import radix_rank, radix_rank_counts, select_rank, top_k
from prism.lib.block.reduce import (
    gather_values, gather_warps, reduce, reduce_all, reduce_apart, reduce_cluster, reduce_groups, reduce_into,
    reduce_to_first, reduce_valid,
)
from prism.lib.block.scan import scan, scan_both, scan_groups, scan_initial, scan_valid
from prism.lib.block.search import fill_guide
from prism.lib.block.segments import reduce_by_key, reduce_segments, scan_by_key, scan_heads, scan_segments
from prism.lib.block.shift import offset, rotate, shift_down, shift_up
from prism.lib.block.sort import (
    merge, merge_pairs, merge_sort, merge_sort_pairs, radix_sort, radix_sort_pairs, sort_network,
)
from prism.lib.block.store import store, store_striped, store_tile, store_transposed
from prism.lib.block.vote import all, any, count

__all__ = [
    "add_weights", "all", "any", "arg_reduce", "argmax", "argmin", "blocked_to_striped",
    "blocked_to_warp_striped", "broadcast", "compact", "count", "count_flags", "difference", "difference_right",
    "fill", "fill_guide", "gather_values", "gather_warps", "heads", "histogram", "load", "load_striped", "load_tile",
    "load_transposed", "merge",
    "merge_pairs", "merge_sort", "merge_sort_pairs", "offset", "place", "prefetch_tile", "radix_rank",
    "radix_rank_counts", "radix_sort", "radix_sort_pairs", "reduce", "reduce_all", "reduce_apart", "reduce_by_key",
    "reduce_cluster", "reduce_groups", "reduce_into", "reduce_segments", "reduce_to_first", "reduce_valid", "rotate",
    "run_length_decode", "scan",
    "scan_both", "scan_by_key", "scan_groups", "scan_heads", "scan_initial", "scan_segments", "scan_valid",
    "scatter_to_blocked", "scatter_to_striped", "scatter_to_warp_striped", "select_rank", "separate",
    "shift_down", "shift_up", "sort_network", "store", "store_flagged", "store_striped", "store_tile",
    "store_transposed", "striped_to_blocked", "tails", "top_k", "warp_striped_to_blocked",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Say how what is not here is written, where that is known."""
        from prism.lang.errors.names import reduction

        how = reduction("block", name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{how and f': {how}'}")
