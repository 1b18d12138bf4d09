"""Products of matrices of other dtypes than those of `hgemm` and `sgemm`: float64 by the tensor cores, and any numbers."""

from prism.kernels.matmul.double import DoubleCut, dgemm

__all__ = ["DoubleCut", "dgemm"]
