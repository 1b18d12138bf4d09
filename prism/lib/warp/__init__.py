"""Collectives of a warp: what 32 threads do together, with shuffles alone. In a kernel: `warp.scan(...)`."""

from prism.lib.warp.load import load
from prism.lib.warp.reduce import reduce
from prism.lib.warp.scan import scan
from prism.lib.warp.store import store

__all__ = ["load", "reduce", "scan", "store"]
