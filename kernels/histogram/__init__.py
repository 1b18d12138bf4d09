"""Counting: how many elements are in each bin, or the sum of their weights, in one pass."""

from prism.kernels.histogram.bins import EDGES, EVEN, IDENTITY, Even
from prism.kernels.histogram.counting import check_edges, histogram, place, prepare

__all__ = ["EDGES", "EVEN", "IDENTITY", "Even", "check_edges", "histogram", "place", "prepare"]
