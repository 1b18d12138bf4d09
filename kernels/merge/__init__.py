"""Sorted arrays merged, and sorts by merging."""

from prism.kernels.merge import cuts, fours, keys, runs, tiles
from prism.kernels.merge.configurations import (
    HOST, HOST_KEYS, THREADS, Configuration, Tiles, configurations, key_configuration,
)
from prism.kernels.merge.cuts import GROUP, LANES, cut_four_runs, cut_runs
from prism.kernels.merge.fours import merge_fours
from prism.kernels.merge.keys import merge_keys
from prism.kernels.merge.orders import complex_greater, complex_less, greater, less
from prism.kernels.merge.runs import merge_tiles
from prism.kernels.merge.tiles import sort_tiles

EXAMPLES = cuts.EXAMPLES | fours.EXAMPLES | keys.EXAMPLES | runs.EXAMPLES | tiles.EXAMPLES

__all__ = [
    "Configuration", "EXAMPLES", "GROUP", "HOST", "HOST_KEYS", "LANES", "THREADS", "Tiles", "complex_greater", "complex_less",
    "configurations", "cut_four_runs", "cut_runs", "greater", "key_configuration", "less", "merge_fours",
    "merge_keys", "merge_tiles", "sort_tiles",
]  # fmt: skip
