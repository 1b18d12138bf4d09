"""What ranks say to each other in small messages, read on the GPU: whether all say what they said before, and what it comes to."""

from prism.kernels.ranks.combine import HEAD, MESSAGE, combine_ranks

__all__ = ["HEAD", "MESSAGE", "combine_ranks"]
