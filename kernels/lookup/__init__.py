"""Search: where values belong in a sorted table, where the first element is of which something holds,
and which way a table runs."""

from prism.kernels.lookup.configurations import DEVICE, FEW, HOST, LONG, NARROW, Configuration, fan_of
from prism.kernels.lookup.edges import FALLS, NEITHER, RISES, order_of_edges
from prism.kernels.lookup.find import find_first
from prism.kernels.lookup.search import EXAMPLES, lookup, lookup_few, sample

__all__ = [
    "DEVICE", "EXAMPLES", "FALLS", "FEW", "HOST", "LONG", "NARROW", "NEITHER", "RISES", "Configuration", "fan_of", "find_first",
    "lookup", "lookup_few", "order_of_edges", "sample",
]  # fmt: skip
