"""Attention by the tensor cores of Hopper: the kernel, and how it is cut into tiles."""

from prism.kernels.attention.cut import Cut, Masks
from prism.kernels.attention.forward import attend

__all__ = ["Cut", "Masks", "attend"]
