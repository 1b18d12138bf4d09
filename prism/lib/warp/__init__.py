"""Collectives of a warp: what 32 threads do together, with shuffles alone. In a kernel: `warp.scan(...)`."""

from prism.lib.warp.arg_reduce import arg_reduce
from prism.lib.warp.argmax import argmax
from prism.lib.warp.argmin import argmin
from prism.lib.warp.blocked_to_striped import blocked_to_striped
from prism.lib.warp.load import load
from prism.lib.warp.load_transposed import load_transposed
from prism.lib.warp.reduce import reduce
from prism.lib.warp.reduce_across import reduce_across
from prism.lib.warp.reduce_groups import reduce_groups
from prism.lib.warp.reduce_segments import reduce_segments
from prism.lib.warp.reduce_to_first import reduce_to_first
from prism.lib.warp.reduce_valid import reduce_valid
from prism.lib.warp.rotate import rotate
from prism.lib.warp.scan import scan
from prism.lib.warp.scan_both import scan_both
from prism.lib.warp.scan_groups import scan_groups
from prism.lib.warp.scan_segments import scan_segments
from prism.lib.warp.scan_valid import scan_valid
from prism.lib.warp.shift_down import shift_down
from prism.lib.warp.shift_up import shift_up
from prism.lib.warp.store import store
from prism.lib.warp.store_transposed import store_transposed
from prism.lib.warp.striped_to_blocked import striped_to_blocked

__all__ = [
    "arg_reduce", "argmax", "argmin", "blocked_to_striped", "load", "load_transposed", "reduce", "reduce_across",
    "reduce_groups", "reduce_segments", "reduce_to_first", "reduce_valid", "rotate", "scan", "scan_both",
    "scan_groups", "scan_segments", "scan_valid", "shift_down", "shift_up", "store", "store_transposed",
    "striped_to_blocked",
]
