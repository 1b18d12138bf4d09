"""Reductions: their kernels, and how the work is cut."""

from prism.kernels.reduce.axis import reduce_axis
from prism.kernels.reduce.both import find_both
from prism.kernels.reduce.configurations import (
    AT_ONCE_BLOCKS, AXIS, DEVICE, HOST, HOST_AXIS, HOST_WIDTH, SEARCH, SHORT_OTHERS, SHORT_ROWS, TENSOR,
    WHOLE_SEARCH, AxisConfiguration, Configuration, Cutting, Form, at_once, blocks_for, middle, short,
)
from prism.kernels.reduce.positions import find
from prism.kernels.reduce.search import find_whole
from prism.kernels.reduce.segmented import reduce_segments_by_block, reduce_segments_by_thread, reduce_segments_by_warp
from prism.kernels.reduce.single_pass import reduce

__all__ = [
    "AT_ONCE_BLOCKS", "AXIS", "DEVICE", "HOST", "HOST_AXIS", "HOST_WIDTH", "SEARCH", "SHORT_OTHERS", "SHORT_ROWS", "TENSOR",
    "WHOLE_SEARCH", "AxisConfiguration", "Configuration", "Cutting", "Form", "at_once", "blocks_for", "find", "find_both",
    "find_whole", "middle", "reduce", "reduce_axis", "reduce_segments_by_block", "reduce_segments_by_thread",
    "reduce_segments_by_warp", "short",
]  # fmt: skip
