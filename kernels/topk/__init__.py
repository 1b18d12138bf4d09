"""The first elements of an order, and those of some rank, found without sorting the rest."""

from prism.kernels.topk import quantile
from prism.kernels.topk.exact import EXACT, MEAN, WAY, find_ranks
from prism.kernels.topk.keys import FLOAT, SIGNED, UNSIGNED, Narrow, Wide
from prism.kernels.topk.long import GROUPS, choose_bounds, keep_before, sample_rows, top_kept
from prism.kernels.topk.merging import merge_rows
from prism.kernels.topk.parting import count_before, part_rows
from prism.kernels.topk.ranks import COUNTS, FACTS, bracket_rows, keep_between
from prism.kernels.topk.registers import CROWD, top_held
from prism.kernels.topk.rows import top_rows

__all__ = [
    "COUNTS", "CROWD", "EXACT", "FACTS", "FLOAT", "GROUPS", "MEAN", "SIGNED", "UNSIGNED", "WAY", "Narrow", "Wide", "bracket_rows",
    "choose_bounds", "count_before", "find_ranks", "keep_before", "keep_between", "merge_rows", "part_rows", "quantile",
    "sample_rows", "top_held", "top_kept", "top_rows",
]
