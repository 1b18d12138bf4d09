"""Sorting by digits: one pass counts all digits, and then each pass sorts by one of them."""

from prism.kernels.sort.count import count_digits
from prism.kernels.sort.order import FLOAT, FLOAT_PAIR, FLOAT_PLACE, INTEGER
from prism.kernels.sort.radix import GIVEN, NONE, POSITIONS, sort_digit

__all__ = [
    "FLOAT", "FLOAT_PAIR", "FLOAT_PLACE", "GIVEN", "INTEGER", "NONE", "POSITIONS", "count_digits", "sort_digit",
]  # fmt: skip
