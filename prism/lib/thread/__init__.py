"""Collectives of one thread: what it does to the elements in its registers. In a kernel: `thread.load(...)`."""

from prism.lib.thread import operators
from prism.lib.thread.load import load
from prism.lib.thread.reduce import reduce
from prism.lib.thread.scan import scan
from prism.lib.thread.store import store

__all__ = ["load", "operators", "reduce", "scan", "store"]
