"""Collectives of a block: what all its threads do together. In a kernel: `block.scan(...)`."""

from prism.lib.block.load import load
from prism.lib.block.reduce import reduce
from prism.lib.block.scan import scan
from prism.lib.block.store import store

__all__ = ["load", "reduce", "scan", "store"]
