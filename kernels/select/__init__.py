"""Selection: the elements, or their positions, whose flag is set, close together and in their order, in one pass."""

from prism.kernels.select.parts import split_apart
from prism.kernels.select.compaction import select
from prism.kernels.select.configurations import (
    APART, APART_MIDDLE, APART_PACKED, BEHIND, BYTES, BYTES_APART, BYTES_ENCODED, BYTES_MASKED, DEVICE, EDGES, ENCODED, FEW,
    FEW_TILES, HOST_LARGE, HOST_SMALL, LONGER_TILES, LONG_TILES, MIDDLE_TILES, PACKED, PAIRED, PARTS, PLACES, SHORT, SPLIT,
    Configuration,
)
from prism.kernels.select.encode import encode
from prism.kernels.select.encode_bytes import encode_bytes
from prism.kernels.select.long_bytes import select_bytes
from prism.kernels.select.pairs import unique_pairs
from prism.kernels.select.repeat import repeat
from prism.kernels.select.rest import fill_rest, take_axis
from prism.kernels.select.split import split
from prism.kernels.select.split_bytes import split_bytes
from prism.kernels.select.conditions import differs, is_set

__all__ = [
    "APART", "APART_MIDDLE", "APART_PACKED", "BEHIND", "BYTES", "BYTES_APART", "BYTES_ENCODED", "BYTES_MASKED",
    "Configuration", "DEVICE",
    "EDGES", "ENCODED", "FEW", "FEW_TILES", "HOST_LARGE", "HOST_SMALL", "LONGER_TILES", "LONG_TILES", "MIDDLE_TILES",
    "PACKED", "PAIRED", "PARTS", "PLACES", "SHORT", "SPLIT", "differs", "encode", "encode_bytes", "fill_rest", "is_set",
    "repeat", "select", "select_bytes", "split", "split_apart", "split_bytes", "take_axis", "unique_pairs",
]  # fmt: skip
