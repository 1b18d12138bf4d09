"""Reductions: their kernels, and how the work is cut."""

from prism.kernels.reduce.axis import reduce_axis
from prism.kernels.reduce.configurations import (
    AXIS, DEVICE, HOST, HOST_AXIS, HOST_WIDTH, SEARCH, AxisConfiguration, Configuration, short,
)
from prism.kernels.reduce.positions import find
from prism.kernels.reduce.segmented import reduce_segments_by_block, reduce_segments_by_thread, reduce_segments_by_warp
from prism.kernels.reduce.single_pass import reduce

__all__ = [
    "AXIS", "DEVICE", "HOST", "HOST_AXIS", "HOST_WIDTH", "SEARCH", "AxisConfiguration", "Configuration", "find", "reduce",
    "reduce_axis",
    "reduce_segments_by_block", "reduce_segments_by_thread", "reduce_segments_by_warp", "short",
]  # fmt: skip
