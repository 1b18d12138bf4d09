"""Sorted arrays merged, and sorts by merging."""

from prism.kernels.merge.configurations import HOST, MERGE, SORT, THREADS, Configuration, configurations
from prism.kernels.merge.orders import complex_greater, complex_less, greater, less
from prism.kernels.merge.runs import EXAMPLES, cut_runs, merge_tiles, sort_tiles

__all__ = [
    "Configuration", "EXAMPLES", "HOST", "MERGE", "SORT", "THREADS", "complex_greater", "complex_less", "configurations",
    "cut_runs", "greater", "less", "merge_tiles", "sort_tiles",
]  # fmt: skip
