"""What is done to each element by itself: an array is made of one that is computed, or a function is called for each index."""

from prism.kernels.transform.axes import move_axes, note_axis
from prism.kernels.transform.copy import copy, copy_where, scatter
from prism.kernels.transform.gather import gather
from prism.kernels.transform.pieces import move_pieces
from prism.kernels.transform.tiles import move_tiles
from prism.kernels.transform.transpose import transpose
from prism.kernels.transform.words import move_words

__all__ = [
    "copy", "copy_where", "gather", "move_axes", "move_pieces", "move_tiles", "move_words", "note_axis", "scatter", "transpose",
]  # fmt: skip
