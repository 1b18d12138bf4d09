"""Rows and segments, each sorted by itself: by a group of lanes in registers, or by a block."""

from prism.kernels.sort_rows.bins import CLASSES, bin_segments
from prism.kernels.sort_rows.blocks import sort_rows_by_block
from prism.kernels.sort_rows.configurations import (
    BLOCKS, HOST_LONG, HOST_THREADS, LANES, LISTING, LONG, ROOM, THREADS, Block, Lanes, long_way, most_of,
    way_of,
)
from prism.kernels.sort_rows.elements import ALONE, PLACED, Huge, Wide, before
from prism.kernels.sort_rows.lanes import sort_listed_by_lanes, sort_rows_by_lanes
from prism.kernels.sort_rows.runs import sort_long_rows
from prism.kernels.sort_rows.segments import BACK, GATHERED, NONE, ROWS, SEGMENTS
from prism.kernels.sort_rows.top import take_first, top_segments

__all__ = [
    "ALONE", "BACK", "BLOCKS", "CLASSES", "GATHERED", "HOST_LONG", "HOST_THREADS", "LANES", "LISTING", "LONG", "NONE", "PLACED",
    "ROOM",
    "ROWS", "SEGMENTS", "THREADS", "Block", "Huge", "Lanes", "Wide", "before", "bin_segments", "long_way", "most_of",
    "sort_listed_by_lanes", "sort_long_rows", "sort_rows_by_block", "sort_rows_by_lanes", "take_first", "top_segments", "way_of",
]  # fmt: skip
