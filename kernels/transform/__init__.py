"""What is done to each element by itself: an array is made of one that is computed, or a function is called for each index."""

from prism.kernels.transform.copy import copy, copy_where, scatter
from prism.kernels.transform.transpose import transpose

__all__ = ["copy", "copy_where", "scatter", "transpose"]
