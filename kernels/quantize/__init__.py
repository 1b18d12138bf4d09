"""Numbers of 8 bits, each group of them with a scale: of rows, of blocks of rows, of whole arrays."""

from prism.kernels.quantize.scales import find_largest, quantize_by, quantize_groups

__all__ = ["find_largest", "quantize_by", "quantize_groups"]
