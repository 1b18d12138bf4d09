"""Products of matrices of other dtypes than those of `hgemm` and `sgemm`: float64 by the tensor cores, and any numbers."""

from prism.kernels.matmul.double import TILES, DoubleCut, choose_double, dgemm
from prism.kernels.matmul.general import BM, BN, THREADS, any_product

__all__ = ["BM", "BN", "THREADS", "TILES", "DoubleCut", "any_product", "choose_double", "dgemm"]
