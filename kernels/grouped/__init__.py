"""Products of groups of rows, each with a matrix of its own: where a tile lies is found on the device."""

from prism.kernels.grouped.configurations import HOST, choose, down
from prism.kernels.grouped.gathered import gathered_product
from prism.kernels.grouped.places import Grouping, Place, Sizes
from prism.kernels.grouped.product import grouped_product

__all__ = ["HOST", "Grouping", "Place", "Sizes", "choose", "down", "gathered_product", "grouped_product"]
