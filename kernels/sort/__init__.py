"""Sorting by digits: one pass counts all digits, and then each pass sorts by one of them."""

from prism.kernels.sort.cluster import sort_cluster
from prism.kernels.sort.configurations import (
    CLUSTER_BLOCKS, COUNTING_KEYS, FILLING, FILLING_MANY, GROUPED, GROUPS, HOST_COUNTING, HOST_LARGE, HOST_SMALL, ZEROS,
    Configuration, Counting, Groups, Ranges, Shape, Share, Window, cluster_of, configuration_of, configurations, counting,
    ranges_of, resident_of, share_of, wide_of, window_of,
)
from prism.kernels.sort.count import count_digits
from prism.kernels.sort.even import pass_evenly
from prism.kernels.sort.fill import begin_keys, fill_keys
from prism.kernels.sort.groups import MANY_GROUPS, move_to_groups, sort_groups
from prism.kernels.sort.key_counts import add_keys, count_keys
from prism.kernels.sort.order import FIELD, FLOAT, FLOAT_PAIR, FLOAT_PLACE, INTEGER
from prism.kernels.sort.parts import GIVEN, NONE, POSITIONS
from prism.kernels.sort.radix import sort_digit
from prism.kernels.sort.ranges import sort_ranges
from prism.kernels.sort.resident import sort_resident
from prism.kernels.sort.rows import begin_rows
from prism.kernels.sort.shares import sort_shares
from prism.kernels.sort.wide import begin_wide, count_wide, sort_wide
from prism.kernels.sort.windows import LEVELS, SAMPLED, find_windows, sample_windows, sort_windows
from prism.kernels.sort.zeros import order_zeros

__all__ = [
    "CLUSTER_BLOCKS", "COUNTING_KEYS", "FIELD", "FILLING", "FILLING_MANY", "FLOAT", "FLOAT_PAIR", "FLOAT_PLACE", "GIVEN",
    "GROUPED", "GROUPS", "HOST_COUNTING", "HOST_LARGE", "HOST_SMALL", "INTEGER", "LEVELS", "MANY_GROUPS", "NONE", "POSITIONS",
    "SAMPLED", "ZEROS",
    "Configuration", "Counting", "Groups", "Ranges", "Shape", "Share", "Window", "add_keys", "begin_keys", "begin_rows",
    "begin_wide", "cluster_of", "configuration_of", "configurations", "count_digits", "count_keys", "count_wide",
    "counting", "fill_keys", "find_windows", "move_to_groups", "order_zeros", "pass_evenly", "ranges_of", "resident_of",
    "sample_windows", "share_of", "sort_cluster", "sort_digit", "sort_groups", "sort_ranges", "sort_resident", "sort_shares",
    "sort_wide", "sort_windows", "wide_of", "window_of",
]  # fmt: skip
