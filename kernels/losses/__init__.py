"""Losses of rows of scores, and their gradients."""

from prism.kernels.losses.anywhere import sum_exponentials_anywhere
from prism.kernels.losses.cross_entropy import Part32, cross_entropy_backward, losses_of, sum_exponentials
from prism.kernels.losses.flat import cross_entropy_backward_flat
from prism.kernels.losses.rows import loss_rows

__all__ = [
    "Part32", "cross_entropy_backward", "cross_entropy_backward_flat", "loss_rows", "losses_of", "sum_exponentials",
    "sum_exponentials_anywhere",
]
