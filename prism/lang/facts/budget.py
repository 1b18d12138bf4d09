"""What a kernel's launch bounds leave it: the threads of a block, the registers of a thread."""

from __future__ import annotations

from prism.lang.intrinsics.wgmma import launched_registers as registers_of
from prism.lang.tree import Function

MOST_THREADS = 1024


def most_threads(entry: Function) -> int:
    """Return how many threads a block of the kernel has at most: by its launch bounds, else the hardware's limit."""
    return entry.launch_bounds[0] if entry.launch_bounds else MOST_THREADS


def launched_registers(entry: Function) -> int | None:
    """Return how many registers a thread has at the launch, where the launch bounds leave only one number."""
    match entry.launch_bounds:
        case (threads, blocks, *_):
            return registers_of(threads * blocks)
        case _:
            return None
