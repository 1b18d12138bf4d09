"""Accesses to memory in a checked run: bounds, what was never written, races, and fences between proxies."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.interpret.accesses import Conflict
from prism.interpret.clocks import Clocks, Site
from prism.interpret.errors import BoundsError, MachineError, ProxyError, RaceError, UninitialisedError
from prism.interpret.frame import Frame
from prism.interpret.lanes import anywhere, first_outside
from prism.interpret.regions import Parts, Region
from prism.interpret.shadow import Shadow
from prism.interpret.shares import excuse, same_value
from prism.lang.diagnostics import Label, Span


class Checker:
    """One place in the program that accesses memory, in a checked run."""

    def __init__(self, span: Span, perspective: object) -> None:
        self.span, self.perspective = span, perspective
        self._sites: dict[tuple[str, bool], Site] = {}

    def access(
        self,
        frame: Frame,
        region: Region,
        index: Any,
        lanes: Any,
        kind: str,
        atomic: bool = False,
        by: Any = None,
        proxy: bool = False,
        near: bool = False,
    ) -> None:
        """Check an access of `lanes`: bounds, initialisation, races.

        `by`: the agents that make it for them; `proxy`: they are asynchronous accesses, which need fences after plain ones.
        `near`: they are atomic to the threads of one block only.
        """
        self.bounds(frame, region, index, lanes)
        shadow = region.shadow
        if shadow is None:
            return
        machine = frame.block.machine
        at = np.asarray(index, np.int64) * region.width + region.first
        if at.shape != lanes.shape:
            at = np.broadcast_to(at, lanes.shape)
        if by is None:
            by = lanes + frame.block.number * machine.threads
        if region.width > 1:
            at = (at[:, None] + np.arange(region.width)).ravel()
            by = by.repeat(region.width)
        site = self._site(shadow, kind, atomic)
        if kind != "write" and shadow.initialised is not None:
            self._check_written(frame, region, shadow.initialised[at], lanes)
        gap = shadow.find_unfenced(at, by, kind) if proxy else None
        note = shadow.read if kind == "read" else shadow.write
        found = note(at, by, site, atomic, region.stamp, near)
        for conflict, report in ((found, self._race), (gap, self._proxy)):
            if conflict is not None:
                element = region.element((int(at[conflict.index]) - region.first) // region.width)
                both = atomic and shadow.clocks.sites[conflict.site].kind.startswith(_ATOMIC)
                told = f"{_ATOMIC} {kind}" if both else kind
                report(shadow.clocks, conflict, int(by[conflict.index]), f"{region.name}[{element}]", told)

    def read_one(self, frame: Frame, region: Region, index: int, lanes: Any) -> None:
        """Check plain reads of one element by `lanes`: as `access`, and quicker, for a loop over a tile that all threads read."""
        shadow = region.shadow
        if region.width != 1 or shadow is None or not len(lanes):
            self.access(frame, region, index, lanes, "read")
            return
        if not 0 <= index < region.extent:
            self.bounds_error(frame, region.name, index, region.extent, int(lanes[0]))
        at = index + region.first
        if shadow.initialised is not None and shadow.initialised.item(at) != region.stamp:
            self._report_uninitialised(frame, region, int(lanes[0]), shadow.initialised[at] != 0)
        first = frame.block.number * frame.block.machine.threads
        found = shadow.read_one(at, lanes, first, self._site(shadow, "read", False))
        if found is not None:
            name = f"{region.name}[{region.element(index)}]"
            self._race(shadow.clocks, found, first + int(lanes[found.index]), name, "read")

    def share(self, frame: Frame, region: Region, index: Any, lanes: Any, values: Any, parts: Parts) -> None:
        """Check plain stores that other units may make too, unordered, of the same values: `parts` says which (shares.py)."""
        self.bounds(frame, region, index, lanes)
        shadow = region.shadow
        if shadow is None:
            return
        index = np.broadcast_to(np.asarray(index, np.int64), lanes.shape)
        equal, last = same_value(region, index, values)
        width, threads = region.width, frame.block.machine.threads
        at = ((index * width + region.first)[:, None] + np.arange(width)).ravel()
        by = np.repeat(lanes + frame.block.number * threads, width)
        equal, last = np.repeat(equal, width), (last[:, None] * width + np.arange(width)).ravel()
        site = self._site(shadow, "write", False)
        conflict = shadow.share(at, by, site, equal, last, excuse(parts, threads), region.stamp)
        if conflict is not None:
            element = region.element((int(at[conflict.index]) - region.first) // width)
            self._race(shadow.clocks, conflict, int(by[conflict.index]), f"{region.name}[{element}]", "write")

    def publish(self, frame: Frame, region: Region, index: Any, lanes: Any) -> None:
        """Check that no other thread publishes these words, unordered: whoever receives one could get either."""
        shadow = region.shadow
        if shadow is None:
            return
        at = np.broadcast_to(np.asarray(index, np.int64) * region.width + region.first, lanes.shape)
        by = lanes + frame.block.number * frame.block.machine.threads
        found = shadow.publish(at, by, self._site(shadow, "publish", True))
        if found is not None:
            name = f"{region.name}[{region.element((int(at[found.index]) - region.first) // region.width)}]"
            text = f"`{name}` is published by two threads, and nothing orders them"
            raise self._of_two(RaceError, shadow.clocks, found, int(by[found.index]), "publish", text, _PUBLISHERS)

    def _site(self, shadow: Shadow, kind: str, atomic: bool) -> int:
        site = self._sites.get((kind, atomic))
        if site is None:
            name = f"{_ATOMIC} {kind}" if atomic else kind
            site = self._sites[kind, atomic] = Site(self.span, name, self.perspective)
        return shadow.clocks.site(site)

    def bounds(self, frame: Frame, region: Region, index: Any, lanes: Any) -> None:
        """Report an index outside the region."""
        if (found := first_outside(index, region.extent, lanes)) is not None:
            self.bounds_error(frame, region.name, found[0], region.extent, found[1])

    def bounds_error(self, frame: Frame, name: str, index: int, extent: int, lane: int) -> None:
        """Raise the error of an index outside an extent."""
        text = f"index {index} is outside `{name}`, which has {extent} elements"
        raise self.fault(BoundsError, frame, lane, text, f"index {index}")

    def fault(
        self, kind: type[MachineError], frame: Frame, lane: int, text: str, here: str, notes: tuple[str, ...] = ()
    ) -> MachineError:
        """Return the error of an access by a thread."""
        block = frame.block.number
        return kind(text, self.span, here=here, perspective=self.perspective, thread=lane, block=block, notes=notes)

    def _check_written(self, frame: Frame, region: Region, stamps: Any, lanes: Any) -> None:
        """Report the first location of those read that nothing was written to."""
        missing = stamps != region.stamp
        if anywhere(missing):
            bad = int(np.argmax(missing))
            self._report_uninitialised(frame, region, int(lanes[bad // region.width]), stamps[bad] != 0)

    def _report_uninitialised(self, frame: Frame, region: Region, lane: int, stale: bool) -> None:
        notes = (f"what is there was written in another round: this round's copy of `{region.name}` is fresh",)
        text = f"`{region.name}` is read where nothing was written"
        raise self.fault(UninitialisedError, frame, lane, text, "read here", notes if stale else ())

    def _race(self, clocks: Clocks, found: Conflict, number: int, what: str, kind: str) -> None:
        before = clocks.sites[found.site]
        block, lane, mine = clocks.who(number)
        other_block, other, theirs = clocks.who(found.thread)
        words = None if mine or theirs else clocks.message_sites(found.thread, number)
        if mine or theirs:
            two = "two asynchronous operations" if mine and theirs else "a thread and an asynchronous operation"
            remedy = f"wait for the {theirs or mine} to end before the other access, or let it start after that"
        else:
            two, remedy = "two threads", _remedy(block == other_block, lane, other, before.span == self.span)
        if found.shared:
            remedy = _SHARED
        others: tuple[Label, ...] = ()
        if words is not None:
            remedy = _FENCES
            others = _word(words, describe_thread(other_block, other), describe_thread(block, lane))
        if kind.startswith(_ATOMIC):
            remedy = _ENGINES if mine or theirs else _SCOPES
        text = f"`{what}` is accessed by {two}, and nothing orders them"
        raise self._of_two(RaceError, clocks, found, number, kind, text, remedy, others)

    def _proxy(self, clocks: Clocks, found: Conflict, number: int, what: str, kind: str) -> None:
        text = f"`{what}` is accessed asynchronously, and no proxy fence stands after the plain access before"
        remedy = "a proxy fence of the thread that made the plain access, before the barrier that orders the two"
        raise self._of_two(ProxyError, clocks, found, number, kind, text, remedy)

    def _of_two(
        self,
        error: type[MachineError],
        clocks: Clocks,
        found: Conflict,
        number: int,
        kind: str,
        text: str,
        remedy: str,
        others: tuple[Label, ...] = (),
    ) -> MachineError:
        """Return the error of two accesses, the one here by `number`."""
        before, (block, lane, mine) = clocks.sites[found.site], clocks.who(number)
        here, there = describe_thread(block, lane, mine), describe_thread(*clocks.who(found.thread))
        return error(
            text, self.span, here=f"{kind} by {here}", other=before.span, there=f"{before.kind} by {there}",
            perspective=self.perspective, thread=lane, block=block, barrier=remedy, others=others,
        )  # fmt: skip


def describe_thread(block: int, lane: int, what: str = "") -> str:
    """Say who makes an access: a thread, or what it issued."""
    thread = f"thread {lane} of block {block}"
    return f"the {what} of {thread}" if what else thread


_ATOMIC = "atomic"
_SCOPES = 'both are atomic, but `scope="block"` is for the threads of one block: leave it out'
_ENGINES = (
    "both are atomic, but the copy engine's reductions are so to one another alone: let one of the two do all of it, or wait for "
    "the one before the other starts"
)
_PUBLISHERS = "one thread alone publishes a word: give each a word of its own, or let `one(thread)` do it"
_SHARED = (
    'two units of a partition that says `races="allow"` may store one value to one element: here the values differ, or both '
    "stores are of one unit's threads"
)
_FENCES = (
    "an atomic access alone orders no other: let a `fence()` stand between the first access and the word's write, and one "
    "between the word's read and the second access; or use `store_release` and `load_acquire`, or "
    'give an atomic update `order="acq_rel"`'
)


def _word(words: tuple[Site, Site], writer: str, reader: str) -> tuple[Label, ...]:
    """Return what is said of a word that one thread wrote and the other read, but that orders nothing."""
    write, read = words
    if write.span == read.span:
        return (Label(write.span, f"{writer} and {reader} both update a word here"),)
    return Label(write.span, f"{writer} writes a word here"), Label(read.span, f"{reader} reads the word here")


def _remedy(same_block: bool, one: int, two: int, same_line: bool) -> str:
    if same_line:
        return "one access by two threads, which no barrier can part: give each thread elements of its own"
    if not same_block:
        return (
            "no barrier joins two blocks, unless the kernel is launched cooperatively: let one kernel write and the next read, "
            "or pass the value through a mailbox; or, where an atomic counter says who comes after, give it "
            '`order="acq_rel"`, '
            "or its writer a release and its reader an acquire, in the thread that counts"
        )
    size = 32
    while one // size != two // size:
        size *= 2
    barrier = "a warp barrier" if size == 32 else f"a barrier of thread[{size}]"
    return (
        f"{barrier} would order them, and one is inferred where a partition ends: end its `with` between the two accesses, or "
        "let each thread keep to its own part"
    )
