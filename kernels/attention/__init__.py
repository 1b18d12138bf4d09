"""Attention by the tensor cores of Hopper: the kernel, and how it is cut into tiles."""

from prism.kernels.attention.configurations import MOST_DIM, cut_of, cut_of_bytes, section_of
from prism.kernels.attention.cut import Cut, Terms
from prism.kernels.attention.decode import decode
from prism.kernels.attention.decode_cut import AddCut, DecodeCut, Sizes, decode_cut_of, latent_cut_of
from prism.kernels.attention.decode_parts import add_parts
from prism.kernels.attention.forward import attend
from prism.kernels.attention.softmax import as_it_is
from prism.kernels.attention.transposed import transpose_values

__all__ = [
    "MOST_DIM", "AddCut", "Cut", "DecodeCut", "Sizes", "Terms", "add_parts", "as_it_is", "attend", "cut_of",
    "cut_of_bytes", "decode", "decode_cut_of", "latent_cut_of", "section_of", "transpose_values",
]  # fmt: skip
