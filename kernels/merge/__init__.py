"""Sorted arrays merged, and sorts by merging."""

from prism.kernels.merge import runs, tiles
from prism.kernels.merge.configurations import HOST, THREADS, Configuration, configurations
from prism.kernels.merge.orders import complex_greater, complex_less, greater, less
from prism.kernels.merge.runs import cut_four_runs, cut_runs, merge_tiles
from prism.kernels.merge.tiles import sort_tiles

EXAMPLES = runs.EXAMPLES | tiles.EXAMPLES

__all__ = [
    "Configuration", "EXAMPLES", "HOST", "THREADS", "complex_greater", "complex_less", "configurations", "cut_four_runs",
    "cut_runs", "greater", "less", "merge_tiles", "sort_tiles",
]  # fmt: skip
