"""Collectives of one thread: what it does to the elements in its registers. In a kernel: `thread.load(...)`."""

from prism.lib.thread import operators
from prism.lib.thread.load import load
from prism.lib.thread.lower_bound import lower_bound
from prism.lib.thread.merge_path import merge_path
from prism.lib.thread.reduce import reduce
from prism.lib.thread.reduce_valid import reduce_valid
from prism.lib.thread.scan import scan
from prism.lib.thread.scan_valid import scan_valid
from prism.lib.thread.sort import sort
from prism.lib.thread.store import store
from prism.lib.thread.upper_bound import upper_bound

__all__ = [
    "load", "lower_bound", "merge_path", "operators", "reduce", "reduce_valid", "scan", "scan_valid", "sort", "store",
    "upper_bound",
]
