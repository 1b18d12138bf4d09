"""From a synchronised program to CUDA C++: one stand-alone text, with the Prism line beside each statement."""

from prism.lang.emit.program import Emitted, emit

__all__ = ["Emitted", "emit"]
