"""Collectives of one thread: what it does to the elements in its registers. In a kernel: `thread.load(...)`."""

from prism.lib.thread.load import load
from prism.lib.thread.reduce import reduce
from prism.lib.thread.scan import scan
from prism.lib.thread.store import store

__all__ = ["load", "reduce", "scan", "store"]
