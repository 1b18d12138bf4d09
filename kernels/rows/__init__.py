"""Operations on rows: softmax, normalisation, and one of the user's own."""

from prism.kernels.rows.backward import norm_backward_rows, softmax_backward_rows
from prism.kernels.rows.columns import sum_groups
from prism.kernels.rows.norms import norm_rows
from prism.kernels.rows.norms_quantized import norm_quantize_rows
from prism.kernels.rows.own import own_rows
from prism.kernels.rows.quantized import quantize_rows
from prism.kernels.rows.rms_quantized import rms_quantize_rows
from prism.kernels.rows.softmax import softmax_rows
from prism.kernels.rows.sums import Pair, Slopes, Three, WidePair, WideSlopes

__all__ = [
    "Pair", "Slopes", "Three", "WidePair", "WideSlopes", "norm_backward_rows", "norm_quantize_rows", "norm_rows",
    "own_rows", "quantize_rows", "rms_quantize_rows", "softmax_backward_rows", "softmax_rows", "sum_groups",
]
