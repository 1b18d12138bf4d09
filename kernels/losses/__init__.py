"""Losses of rows of scores, and their gradients."""

from prism.kernels.losses.cross_entropy import Part32, cross_entropy_backward, losses_of, sum_exponentials

__all__ = ["Part32", "cross_entropy_backward", "losses_of", "sum_exponentials"]
