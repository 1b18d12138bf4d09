"""Operations on rows: softmax, normalisation, and one of the user's own."""

from prism.kernels.rows.norms import norm_rows
from prism.kernels.rows.own import own_rows
from prism.kernels.rows.softmax import softmax_rows

__all__ = ["norm_rows", "own_rows", "softmax_rows"]
