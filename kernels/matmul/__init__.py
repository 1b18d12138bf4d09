"""Products of matrices of other dtypes than those of `hgemm` and `sgemm`: float64 by the tensor cores, and any numbers."""

from prism.kernels.matmul.double import HELPED, TILES, DoubleCut, choose_double, kernel_of
from prism.kernels.matmul.general import BM, BN, THREADS, any_product

__all__ = ["BM", "BN", "HELPED", "THREADS", "TILES", "DoubleCut", "any_product", "choose_double", "kernel_of"]
