"""What running code knows: its variables, who runs it, and the block it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret.clocks import Clocks, Shadow
from prism.interpret.lanes import Lanes, Mask
from prism.interpret.values import dtype_of
from prism.lang.diagnostics import Span
from prism.lang.types import Array, Vector


@dataclass(slots=True)
class Wait:
    """Where a block, or an arm of it, waits, and for what."""

    span: Span
    text: str
    thread: int
    spins: bool = False


@dataclass(slots=True)
class Machine:
    """One launch: its shape, its clocks if it is checked, and a count of what could wake a waiting block."""

    blocks: int
    threads: int
    clocks: Clocks | None
    schedule: str
    random: np.random.Generator
    base: Lanes
    everyone: Any
    progress: int = 0

    def order(self, count: int) -> list[int]:
        """Return the order in which to run `count` things that stand side by side."""
        if self.schedule == "random":
            return [int(k) for k in self.random.permutation(count)]
        return list(range(count)) if self.schedule == "round-robin" else list(range(count - 1, -1, -1))


@dataclass(slots=True)
class Block:
    """One block: its number, its shared memory, and where it waits."""

    machine: Machine
    number: int
    shared: Any
    shadow: Shadow | None
    waits: list[Wait] = field(default_factory=list)


@dataclass(slots=True)
class Local:
    """A local array: `data` has shape (*shape, threads) where each thread has its own, else `shape`."""

    data: Any
    each: bool
    initialised: Any = None


def make_local(type_: Array, each: bool, threads: int, check: bool) -> Local:
    """Return a fresh local array: zeros, but with `check` nothing in it may be read."""
    element = type_.element
    shape = (*type_.shape, threads) if each else type_.shape
    initialised = np.zeros(shape, bool) if check else None
    if isinstance(element, Vector):
        return Local(np.zeros((*shape, element.length), dtype_of(element)), each, initialised)
    return Local(np.zeros(shape, dtype_of(element)), each, initialised)


class Frame:
    """One activation of a function by the threads `mask` of a block. Arms of a split have frames that share `values`."""

    __slots__ = ("bid", "block", "breaking", "continuing", "holes", "lanes", "mask", "result", "shared", "values")

    def __init__(self, values: list[Any], block: Block, mask: Mask, lanes: Lanes, bid: int, shared: int) -> None:
        self.values, self.block, self.mask, self.lanes, self.bid, self.shared = values, block, mask, lanes, bid, shared
        self.breaking: Mask = False
        self.continuing: Mask = False
        self.result: Any = None
        self.holes: dict[int, Mask] = {}  # slots of variables that some threads have not written, and those that have

    def arm(self, mask: Mask, lanes: Lanes, bid: int) -> Frame:
        """Return a frame over the same variables for some of the threads."""
        frame = Frame(self.values, self.block, mask, lanes, bid, self.shared)
        frame.holes = self.holes
        return frame

    def active(self) -> Any:
        """Return the indices of the threads that run now."""
        return self.block.machine.everyone if self.mask is True else np.flatnonzero(self.mask)

    def first(self) -> int:
        """Return the first thread that runs now."""
        return 0 if self.mask is True else int(np.argmax(self.mask))
