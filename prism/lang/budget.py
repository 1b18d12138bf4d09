"""What a kernel's launch bounds leave it: the threads of a block, the registers of a thread."""

from __future__ import annotations

import re

from prism.lang.intrinsics.wgmma import launched_registers as registers_of
from prism.lang.tree import Function

MOST_THREADS = 1024

_BOUNDS = re.compile(r"__launch_bounds__\(\s*(\d+)\s*(?:,\s*(\d+))?")


def most_threads(entry: Function) -> int:
    """Return how many threads a block of the kernel has at most: by its launch bounds, else the hardware's limit."""
    for text in entry.attributes:
        if found := _BOUNDS.search(text):
            return int(found[1])
    return MOST_THREADS


def launched_registers(entry: Function) -> int | None:
    """Return how many registers a thread has at the launch, where the launch bounds leave only one number."""
    for text in entry.attributes:
        if (found := _BOUNDS.search(text)) and found[2] is not None:
            return registers_of(int(found[1]) * max(1, int(found[2])))
    return None
