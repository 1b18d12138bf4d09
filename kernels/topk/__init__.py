"""The first elements of an order, and those of some rank, found without sorting the rest."""

from prism.kernels.topk.keys import FLOAT, SIGNED, UNSIGNED, Narrow, Wide
from prism.kernels.topk.merging import merge_rows
from prism.kernels.topk.rows import top_rows

__all__ = ["FLOAT", "SIGNED", "UNSIGNED", "Narrow", "Wide", "merge_rows", "top_rows"]
