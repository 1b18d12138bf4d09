"""Collectives of a block: what all its threads do together. In a kernel: `block.scan(...)`."""

from prism.lib.block.all import all
from prism.lib.block.any import any
from prism.lib.block.arg_reduce import arg_reduce
from prism.lib.block.argmax import argmax
from prism.lib.block.argmin import argmin
from prism.lib.block.blocked_to_striped import blocked_to_striped
from prism.lib.block.blocked_to_warp_striped import blocked_to_warp_striped
from prism.lib.block.broadcast import broadcast
from prism.lib.block.count import count
from prism.lib.block.difference import difference
from prism.lib.block.difference_right import difference_right
from prism.lib.block.fill import fill
from prism.lib.block.heads import heads
from prism.lib.block.histogram import histogram
from prism.lib.block.load import load
from prism.lib.block.load_striped import load_striped
from prism.lib.block.load_transposed import load_transposed
from prism.lib.block.merge import merge
from prism.lib.block.merge_sort import merge_sort
from prism.lib.block.merge_sort_pairs import merge_sort_pairs
from prism.lib.block.offset import offset
from prism.lib.block.radix_rank import radix_rank
from prism.lib.block.radix_sort import radix_sort
from prism.lib.block.radix_sort_pairs import radix_sort_pairs
from prism.lib.block.reduce import reduce
from prism.lib.block.reduce_by_key import reduce_by_key
from prism.lib.block.reduce_groups import reduce_groups
from prism.lib.block.reduce_into import reduce_into
from prism.lib.block.reduce_segments import reduce_segments
from prism.lib.block.reduce_to_first import reduce_to_first
from prism.lib.block.reduce_valid import reduce_valid
from prism.lib.block.rotate import rotate
from prism.lib.block.scan import scan
from prism.lib.block.scan_both import scan_both
from prism.lib.block.scan_by_key import scan_by_key
from prism.lib.block.scan_groups import scan_groups
from prism.lib.block.scan_initial import scan_initial
from prism.lib.block.scan_segments import scan_segments
from prism.lib.block.scan_valid import scan_valid
from prism.lib.block.scatter_to_blocked import scatter_to_blocked
from prism.lib.block.scatter_to_striped import scatter_to_striped
from prism.lib.block.shift_down import shift_down
from prism.lib.block.shift_up import shift_up
from prism.lib.block.store import store
from prism.lib.block.store_striped import store_striped
from prism.lib.block.store_transposed import store_transposed
from prism.lib.block.striped_to_blocked import striped_to_blocked
from prism.lib.block.tails import tails
from prism.lib.block.warp_striped_to_blocked import warp_striped_to_blocked

__all__ = [
    "all", "any", "arg_reduce", "argmax", "argmin", "blocked_to_striped", "blocked_to_warp_striped", "broadcast",
    "count", "difference", "difference_right", "fill", "heads", "histogram", "load", "load_striped",
    "load_transposed", "merge", "merge_sort", "merge_sort_pairs", "offset", "radix_rank", "radix_sort",
    "radix_sort_pairs", "reduce", "reduce_by_key", "reduce_groups", "reduce_into", "reduce_segments",
    "reduce_to_first", "reduce_valid", "rotate", "scan", "scan_both", "scan_by_key", "scan_groups", "scan_initial",
    "scan_segments", "scan_valid", "scatter_to_blocked", "scatter_to_striped", "shift_down", "shift_up", "store",
    "store_striped", "store_transposed", "striped_to_blocked", "tails", "warp_striped_to_blocked",
]
