"""Products of 16-bit floats and weights of 4 or 8 bits, which have scales by groups of K."""

from prism.kernels.mixed.configurations import FEW, HOST, HOST_FEW, TILES, choose, few_cut
from prism.kernels.mixed.few import FewCut, multiply_few
from prism.kernels.mixed.product import Weights, multiply_packed
from prism.kernels.mixed.words import DEEP, LANES, STRIP, THREADS, pack_words, prepare_factors, unpack_words

__all__ = [
    "DEEP", "FEW", "HOST", "HOST_FEW", "LANES", "STRIP", "THREADS", "TILES", "FewCut", "Weights", "choose", "few_cut",
    "multiply_few", "multiply_packed", "pack_words", "prepare_factors", "unpack_words",
]  # fmt: skip
