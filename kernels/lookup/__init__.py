"""Search in sorted tables: where values belong, by a tree in shared memory and rows of the table behind it."""

from prism.kernels.lookup.configurations import DEVICE, FEW, HOST, Configuration, fan_of
from prism.kernels.lookup.search import EXAMPLES, lookup, lookup_few, sample

__all__ = ["DEVICE", "EXAMPLES", "FEW", "HOST", "Configuration", "fan_of", "lookup", "lookup_few", "sample"]
