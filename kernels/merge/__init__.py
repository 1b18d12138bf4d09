"""Sorted arrays merged, and sorts by merging."""

from prism.kernels.merge import buckets, cuts, fours, keys, moves, runs, samples, shards, tiles
from prism.kernels.merge.buckets import sort_parts
from prism.kernels.merge.configurations import (
    ADDERS, HOST, HOST_KEYS, PARTING, PARTING_PAIRS, THREADS, Configuration, Parting, Tiles, configurations, key_configuration,
    parting,
)
from prism.kernels.merge.cuts import GROUP, LANES, cut_four_runs, cut_runs
from prism.kernels.merge.fours import merge_fours
from prism.kernels.merge.keys import merge_keys
from prism.kernels.merge.orders import complex_greater, complex_less, greater, less
from prism.kernels.merge.moves import move_parts
from prism.kernels.merge.runs import merge_tiles
from prism.kernels.merge.samples import CHUNK, SEGMENTS, add_counts, count_parts, find_segments, take_samples
from prism.kernels.merge.shards import cut_by_samples, sample_run
from prism.kernels.merge.tiles import sort_tiles

EXAMPLES = (
    buckets.EXAMPLES | cuts.EXAMPLES | fours.EXAMPLES | keys.EXAMPLES | moves.EXAMPLES | runs.EXAMPLES | samples.EXAMPLES
    | shards.EXAMPLES | tiles.EXAMPLES
)

__all__ = [
    "ADDERS", "CHUNK", "EXAMPLES", "GROUP", "HOST", "HOST_KEYS", "LANES", "PARTING", "PARTING_PAIRS", "SEGMENTS", "THREADS",
    "Configuration", "Parting", "Tiles", "add_counts", "complex_greater", "complex_less", "configurations", "count_parts",
    "cut_by_samples", "cut_four_runs", "cut_runs", "find_segments", "greater", "key_configuration", "less", "merge_fours",
    "merge_keys", "merge_tiles", "move_parts", "parting", "sample_run", "sort_parts", "sort_tiles", "take_samples",
]  # fmt: skip
