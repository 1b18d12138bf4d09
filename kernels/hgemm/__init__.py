"""Products of matrices of 16-bit floats, by the tensor cores of Hopper: the kernels, and how it is cut into tiles."""

from prism.kernels.hgemm.combine import combine_parts
from prism.kernels.hgemm.configuration import NN, Configuration
from prism.kernels.hgemm.configurations import (
    HOST,
    SHARING,
    TILES,
    blocks,
    choose,
    clocks,
    cuts,
    prefetch_steps,
    follows_late,
    group_m,
    shape_key,
)
from prism.kernels.hgemm.cut import Blocks, Cut, Terms
from prism.kernels.hgemm.epilogue import identity
from prism.kernels.hgemm.fused import hgemm_fused
from prism.kernels.hgemm.fused_parts import hgemm_fused_in_parts
from prism.kernels.hgemm.kinds import (
    band,
    choose_blocks,
    choose_integers,
    choose_symmetric,
    symmetric_cuts,
    symmetric_pays,
    triangle_tiles,
)
from prism.kernels.hgemm.parts import hgemm_in_parts
from prism.kernels.hgemm.persistent import hgemm
from prism.kernels.hgemm.schedule import in_columns
from prism.kernels.hgemm.singles import choose_single
from prism.kernels.hgemm.symmetric import hgemm_symmetric

__all__ = [
    "Blocks",
    "HOST",
    "NN",
    "SHARING",
    "TILES",
    "Configuration",
    "Cut",
    "Terms",
    "band",
    "blocks",
    "choose",
    "choose_blocks",
    "choose_integers",
    "choose_symmetric",
    "choose_single",
    "combine_parts",
    "clocks",
    "cuts",
    "prefetch_steps",
    "follows_late",
    "hgemm",
    "hgemm_fused",
    "hgemm_fused_in_parts",
    "hgemm_in_parts",
    "hgemm_symmetric",
    "identity",
    "in_columns",
    "group_m",
    "shape_key",
    "symmetric_cuts",
    "symmetric_pays",
    "triangle_tiles",
]
