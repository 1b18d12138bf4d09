"""What running code knows: its variables, who runs it, and the block it belongs to."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret.clocks import Clocks
from prism.interpret.lanes import Lanes, Mask, everywhere
from prism.interpret.shadow import Shadow
from prism.interpret.values import dtype_of
from prism.lang.diagnostics import Label, Span
from prism.lang.types import Array, Fragment, Vector


@dataclass(slots=True, eq=False)
class Wait:
    """Where a block, or a part of it, waits, and for what; `needs` says what is missing."""

    span: Span
    text: str
    thread: int
    spins: bool = False
    needs: Callable[[], str] | None = None
    calls: tuple[Label, ...] = ()


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
    late: str = "never"  # when asynchronous operations take effect after they are issued: `never`, `always`, `random`
    fine: bool = False  # whether what need not wait lets others go first, now and then
    progress: int = 0
    begun: set[int] = field(default_factory=set)  # the numbers of the blocks that have started
    meetings: dict[Any, Any] = field(default_factory=dict)  # at barriers of the grid
    sized: dict[Any, tuple[int, int]] = field(
        default_factory=dict
    )  # objects sized at launch: where, and how many elements
    room: int = 0  # bytes of shared memory that a block has with them
    begins: bool = False  # whether a cluster's blocks meet before the kernel's body, and behind it
    ends: bool = False
    tells: bool = False  # whether they tell that they have begun, and the first gather waits for that
    distinct: dict[Any, dict[Any, int]] = field(default_factory=dict)  # by place in the text: values, and who had them

    def order(self, count: int) -> list[int]:
        """Return the order in which to run `count` things that stand side by side."""
        if self.schedule == "random":
            return [int(k) for k in self.random.permutation(count)]
        return list(range(count - 1, -1, -1)) if self.schedule == "reversed" else list(range(count))

    def delays(self) -> bool:
        """Whether an operation that is issued now takes effect later."""
        return self.late == "always" or (self.late == "random" and bool(self.random.integers(2)))

    def pauses(self) -> bool:
        """Whether what could go on lets others go first."""
        if not self.fine or (self.schedule == "random" and self.random.integers(2)):
            return False
        self.progress += 1
        return True


@dataclass(slots=True, eq=False)
class Cluster:
    """Blocks that run together and reach each other's shared memory: one piece of memory, a part a block."""

    size: int
    shared: Any
    shadow: Shadow | None
    blocks: list[Block] = field(default_factory=list)
    meetings: dict[Any, Any] = field(default_factory=dict)
    instances: dict[Any, int] = field(default_factory=dict)
    gathers: Any = None
    ended: int = 0
    reaches: Any = None  # who reached into another block, where they do not meet behind the body


@dataclass(slots=True, eq=False)
class Block:
    """One block: its number, its shared memory, where it waits, and what of it is under way.

    `first` is where its shared memory starts in its cluster's; `live` its threads that have not ended; `state` what rings,
    copies and groups keep, by what they are of.
    """

    machine: Machine
    number: int
    cluster: Cluster
    rank: int
    first: int
    shared: Any
    live: Any
    waits: list[Wait] = field(default_factory=list)
    state: dict[Any, Any] = field(default_factory=dict)
    flights: Any = None

    @property
    def shadow(self) -> Shadow | None:
        """What is known of the cluster's shared memory."""
        return self.cluster.shadow

    def numbers(self, lanes: Any) -> Any:
        """Return the threads' numbers through the grid."""
        return lanes + self.number * self.machine.threads


_MASKS = 8  # of which a local array keeps what they have written


@dataclass(slots=True)
class Local:
    """A local array: `data` has shape (*shape, threads) where each thread has its own, else `shape`.

    A fragment's part besides, a thread: `last`, the group of wgmmas that writes it last, and `read` that reads it last;
    `touched` when it was last used plainly, and `stored` when it was last written so.
    `whole`: nothing is left to initialise; found out by `look`.
    """

    data: Any
    each: bool
    initialised: Any = None
    last: Any = None
    read: Any = None
    touched: Any = None
    stored: Any = None
    looks: int = 0
    whole: bool = False
    masks: dict[int, tuple[Mask, set[tuple[int, ...]]]] = field(default_factory=dict)

    def places_written(self, mask: Mask) -> set[tuple[int, ...]]:
        """Return the places that are known to have been written by all threads of a mask: whoever finds one out adds it."""
        mask = mask if self.each else True
        found = self.masks.get(id(mask))
        if found is None:
            if len(self.masks) >= _MASKS:
                self.masks.clear()
            found = self.masks[id(mask)] = mask, set()  # a mask that is kept has its number for itself
        return found[1]

    def look(self) -> None:
        """Note that something is read: now and then, see whether all of it was written, which it then stays."""
        self.looks += 1
        if self.looks & (self.looks - 1) == 0:
            self.whole = everywhere(self.initialised)


def make_local(type_: Array | Fragment, each: bool, threads: int, check: bool) -> Local:
    """Return a fresh local array: zeros, but with `check` nothing in it may be read."""
    if isinstance(type_, Fragment):
        data = np.zeros((type_.size, threads), dtype_of(type_.element))
        known = np.zeros(data.shape, bool) if check else None
        never, before = np.full(threads, -1), np.zeros(threads, np.int64)
        return Local(data, True, known, never, never.copy(), before, before.copy())
    element = type_.element
    shape = (*type_.shape, threads) if each else type_.shape
    initialised = np.zeros(shape, bool) if check else None
    if isinstance(element, Vector):
        return Local(np.zeros((*shape, element.length), dtype_of(element)), each, initialised)
    return Local(np.zeros(shape, dtype_of(element)), each, initialised)


class Frame:
    """One activation of a function by the threads `mask` of a block. Arms of a split have frames that share `values`."""

    __slots__ = (
        "bid", "block", "breaking", "calls", "continuing", "counted", "holes", "indices", "lanes",
        "mask", "result", "shared", "values",
    )  # fmt: skip

    def __init__(self, values: list[Any], block: Block, mask: Mask, lanes: Lanes, bid: int, shared: int) -> None:
        self.values, self.block, self.mask, self.lanes, self.bid, self.shared = values, block, mask, lanes, bid, shared
        self.breaking: Mask = False
        self.continuing: Mask = False
        self.result: Any = None
        self.counted: Mask = False  # the mask whose threads `indices` has
        self.indices: Any = None
        self.calls: tuple[Label, ...] = ()  # those that led to this text, innermost first
        self.holes: dict[int, Mask] = {}  # slots of variables that some threads have not written, and those that have

    def arm(self, mask: Mask, lanes: Lanes, bid: int) -> Frame:
        """Return a frame over the same variables for some of the threads."""
        frame = Frame(self.values, self.block, mask, lanes, bid, self.shared)
        frame.holes, frame.calls = self.holes, self.calls
        return frame

    def fork(self, mask: Mask) -> Frame:
        """Return a frame with variables of its own for some of the threads, which go on by themselves."""
        frame = Frame([_own(value) for value in self.values], self.block, mask, self.lanes, self.bid, self.shared)
        frame.holes, frame.calls = dict(self.holes), self.calls
        return frame

    def active(self) -> Any:
        """Return the indices of the threads that run now."""
        mask = self.mask
        if mask is True:
            return self.block.machine.everyone
        if mask is not self.counted:
            self.counted, self.indices = mask, mask.nonzero()[0]
        return self.indices

    def first(self) -> int:
        """Return the first thread that runs now."""
        return 0 if self.mask is True else int(np.argmax(self.mask))


def _own(value: Any) -> Any:
    """Return a variable's value for threads that go on by themselves: what each thread has is apart anyway."""
    return copy.deepcopy(value) if isinstance(value, Local) and not value.each else value
