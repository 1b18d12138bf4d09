"""Products of groups of rows, each with a matrix of its own: where a tile lies is found on the device."""

from prism.kernels.grouped.configurations import DOWN, HOST, choose
from prism.kernels.grouped.gathered import gathered_product
from prism.kernels.grouped.schedule import Grouping, Place, Sizes
from prism.kernels.grouped.product import grouped_product

__all__ = ["DOWN", "HOST", "Grouping", "Place", "Sizes", "choose", "gathered_product", "grouped_product"]
