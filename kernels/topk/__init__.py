"""The first elements of an order, and those of some rank, found without sorting the rest."""

from prism.kernels.topk import quantile
from prism.kernels.topk.exact import EXACT, MEAN, WAY, find_ranks
from prism.kernels.topk.keys import FLOAT, SIGNED, UNSIGNED, Narrow, Wide
from prism.kernels.topk.merging import merge_rows
from prism.kernels.topk.parting import count_before, part_rows
from prism.kernels.topk.ranks import COUNTS, FACTS, bracket_rows, keep_between
from prism.kernels.topk.rows import top_rows

__all__ = [
    "COUNTS", "EXACT", "FACTS", "FLOAT", "MEAN", "SIGNED", "UNSIGNED", "WAY", "Narrow", "Wide", "bracket_rows", "count_before",
    "find_ranks", "keep_between", "merge_rows", "part_rows", "quantile", "top_rows",
]
