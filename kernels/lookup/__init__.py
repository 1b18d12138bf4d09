"""Search: where values belong in a sorted table, and where the first element is of which something holds."""

from prism.kernels.lookup.configurations import DEVICE, FEW, HOST, MANY, NARROW, SMALL, Configuration, fan_of
from prism.kernels.lookup.find import find_first
from prism.kernels.lookup.search import EXAMPLES, lookup, lookup_few, sample

__all__ = [
    "DEVICE", "EXAMPLES", "FEW", "HOST", "MANY", "NARROW", "SMALL", "Configuration", "fan_of", "find_first", "lookup",
    "lookup_few", "sample",
]  # fmt: skip
