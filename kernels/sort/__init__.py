"""Sorting by digits: one pass counts all digits, and then each pass sorts by one of them."""

from prism.kernels.sort.configurations import (
    HOST_COUNTING, HOST_LARGE, HOST_SMALL, LONG_TILES, Configuration, Counting, configurations, counting,
)
from prism.kernels.sort.count import count_digits
from prism.kernels.sort.even import pass_evenly
from prism.kernels.sort.order import FIELD, FLOAT, FLOAT_PAIR, FLOAT_PLACE, INTEGER
from prism.kernels.sort.parts import GIVEN, NONE, POSITIONS
from prism.kernels.sort.radix import sort_digit

__all__ = [
    "FIELD", "FLOAT", "FLOAT_PAIR", "FLOAT_PLACE", "GIVEN", "HOST_COUNTING", "HOST_LARGE", "HOST_SMALL", "INTEGER",
    "LONG_TILES", "NONE", "POSITIONS", "Configuration", "Counting", "configurations", "count_digits", "counting", "pass_evenly",
    "sort_digit",
]  # fmt: skip
