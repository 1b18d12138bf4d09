"""What ranks say to each other in small messages, read on the GPU: whether all say what is known, and what it comes to."""

from prism.kernels.ranks.combine import HEAD, MESSAGE, combine_ranks, hear_ranks
from prism.kernels.ranks.count import count_ranks
from prism.kernels.ranks.exchange import exchange_ranks

__all__ = ["HEAD", "MESSAGE", "combine_ranks", "count_ranks", "exchange_ranks", "hear_ranks"]
