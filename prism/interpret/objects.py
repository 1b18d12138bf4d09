"""Shared objects on the reference machine: plain ones, rings with a copy a round, and those that a cluster's blocks share.

`Shared` says of which part of the block's memory an object is. A ring means another copy each round of its cycle: the threads
that run together are in the same round. In a checked run each declaration, and each round of a ring, has a stamp of its own,
which the shadow keeps where something is written: what has another stamp is not initialised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.interpret.errors import DivergenceError
from prism.interpret.frame import Block, Frame
from prism.interpret.lanes import anywhere
from prism.interpret.regions import Address, Region, as_elements
from prism.lang.diagnostics import Span
from prism.lang.tree import Pointer, SharedDeclare
from prism.lang.tree.plan import Cycle
from prism.lang.types import Vector
from prism.lang.types.structs import alignment_of

ROUNDS = 32
"""Bits of a stamp that count rounds."""


class Rounds:
    """In which round of a cycle each thread of a block is."""

    __slots__ = ("of", "same", "span")

    def __init__(self, threads: int, span: Span) -> None:
        self.of, self.span = np.zeros(threads, np.int64), span
        self.same: int | None = 0  # the round of all of them, where it is one

    def get(self, frame: Frame, name: str) -> int:
        """Return the round of the threads that run now."""
        if self.same is not None:
            return self.same
        found = self.of[frame.active()]
        first = int(found[0])
        if anywhere(found != first):
            lane = int(frame.active()[int((found != first).argmax())])
            raise DivergenceError(
                f"threads that run together are in rounds {first} and {int(found[found != first][0])} of `{name}`",
                self.span,
                thread=lane,
                block=frame.block.number,
            )
        return first

    def advance(self, frame: Frame) -> None:
        """Go to the next round."""
        if frame.mask is True and self.same is not None:
            self.same += 1
            self.of += 1
            return
        self.of[frame.active()] += 1
        self.same = None


def rounds_of(block: Block, cycle: Cycle) -> Rounds:
    """Return a block's rounds of a cycle."""
    found = block.state.get(cycle)
    if found is None:
        found = block.state[cycle] = Rounds(block.machine.threads, cycle.rings[0].span)
    return found


@dataclass(slots=True)
class Ring:
    """A ring's value: the copies, and the cycle that says which one is meant."""

    name: str
    cycle: Cycle | None
    copies: list[Region]
    stamp: int

    def region(self, frame: Frame, lead: Cycle | None = None) -> Region:
        """Return this round's copy; `lead`: that which is filled ahead."""
        cycle = self.cycle if lead is None else lead
        if cycle is None:
            return self.copies[0]
        v = rounds_of(frame.block, cycle).get(frame, self.name)
        copy = self.copies[v % len(self.copies)]
        return copy.part(stamp=self.stamp + v) if copy.shadow is not None else copy


@dataclass(slots=True)
class Spread:
    """The value of an object that a cluster's blocks share: from each block's part to the next there are `stride` elements."""

    region: Region
    stride: int


def declare(
    frame: Frame, statement: SharedDeclare, offset: int, stride: int, cycle: Cycle | None, shape: tuple[int, ...] = ()
) -> Any:
    """Return what the object's name means from now on; `shape`: its extents, where the launch says them."""
    pointer = statement.symbol.type
    assert isinstance(pointer, Pointer)
    block = frame.block
    first = block.first + frame.shared + offset
    stamp = _instance(frame, statement) << ROUNDS if block.shadow is not None else 0
    name, shape = statement.symbol.name, shape or pointer.shape or (1,)
    if statement.symbol.perspective.size > 1:
        return _spread(block, name, pointer, frame.shared + offset, stamp + 1)
    size = int(np.prod(shape)) * pointer.element.bytes
    if not pointer.ring:
        return Address(_region(block, name, pointer, first, size, stamp + 1, shape))
    copies = [_region(block, name, pointer, first + k * stride, size, stamp + 1, shape) for k in range(pointer.ring)]
    return Ring(name, cycle, copies, stamp + 1)


def _region(
    block: Block, name: str, pointer: Pointer, first: int, size: int, stamp: int, shape: tuple[int, ...] | None
) -> Region:
    data = as_elements(block.cluster.shared[first : first + size], pointer.element)
    region = Region(name, data, first, shared=True, stamp=stamp, shape=shape)
    shadow = block.shadow
    if shadow is not None:
        region.shadow, region.first = shadow, first // shadow.granule
        region.width = pointer.element.bytes // shadow.granule
    return region


def _spread(block: Block, name: str, pointer: Pointer, first: int, stamp: int) -> Spread:
    each, width = len(block.shared), pointer.element.bytes
    whole = (len(block.cluster.shared) - first) // width * width
    return Spread(_region(block, name, pointer, first, whole, stamp, None), each // width)


def _instance(frame: Frame, statement: SharedDeclare) -> int:
    """Return the number of this execution of a declaration: the same for all threads, and blocks of a cluster, in it.

    Roles each have a copy of the statement; it declares one object all the same.
    """
    block, key = frame.block, (statement.symbol, frame.shared)
    counts = block.state.get(key)
    if counts is None:
        counts = block.state[key] = np.zeros(block.machine.threads, np.int64)
    lanes = frame.active()
    counts[lanes] += 1
    known = block.cluster.instances
    return known.setdefault((*key, int(counts[lanes[0]])), len(known) + 1)


def scalar_bytes(pointer: Pointer) -> int:
    """Return the size of the smallest piece of an object that is accessed alone."""
    element = pointer.element
    return alignment_of(element.element if isinstance(element, Vector) else element)
