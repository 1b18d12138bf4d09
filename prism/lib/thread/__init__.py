"""Collectives of one thread: what it does to the elements in its registers. In a kernel: `thread.load(...)`."""

from prism.lib.thread import operators
from prism.lib.thread.load import extent, load, load_once, load_strided
from prism.lib.thread.reduce import reduce, reduce_valid
from prism.lib.thread.scan import scan, scan_valid
from prism.lib.thread.search import lower_bound, merge_path, search, upper_bound
from prism.lib.thread.segments import continue_segment
from prism.lib.thread.sort import keep, merge_bitonic, sort, sort_network
from prism.lib.thread.store import store

__all__ = [
    "continue_segment", "extent", "keep", "load", "load_once", "load_strided", "lower_bound", "merge_bitonic",
    "merge_path", "operators", "reduce", "reduce_valid", "scan", "scan_valid", "search", "sort", "sort_network",
    "store", "upper_bound",
]
