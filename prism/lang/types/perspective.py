"""Perspectives: the unit of parallelism that a piece of code or data speaks for (*Typed Perspectives*, sections 3.1 and 3.2).

The order is that of its main text: `l1[n1] <= l2[n2]` iff `l1 < l2`, or the levels agree and `n1` divides `n2`.
"""

from __future__ import annotations

import functools
from dataclasses import field
from enum import IntEnum
from math import gcd

from prism.lang.keep.bases import Value

WARP = 32
WARPGROUP = 128


class Level(IntEnum):
    """A level of the hardware's hierarchy, narrow to broad."""

    THREAD = 0
    BLOCK = 1
    GRID = 2

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return self.name.lower()


class Perspective(Value):
    """`size` adjacent units of `level`, aligned to `size`: `thread[32]` is a warp.

    `named`: the source gives its size by a name, `thread[SIZE]`, which is another number in another instance.
    """

    level: Level
    size: int
    named: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.level}[{self.size}]"

    def __hash__(self) -> int:
        return self.size << 2 | self.level

    def __le__(self, other: Perspective) -> bool:
        """Whether this is `other` or narrower."""
        if self.level != other.level:
            return self.level < other.level
        return other.size % self.size == 0

    def __lt__(self, other: Perspective) -> bool:
        return self != other and self <= other

    def __rmatmul__(self, type_: object) -> tuple[object, Perspective]:
        """`int @ thread[1]`, as Python evaluates an annotation; the compiler reads the source instead."""
        return (type_, self)


GRID = Perspective(Level.GRID, 1)
BLOCK = Perspective(Level.BLOCK, 1)
THREAD = Perspective(Level.THREAD, 1)
WARP1 = Perspective(Level.THREAD, WARP)
WARPGROUP1 = Perspective(Level.THREAD, WARPGROUP)


def meet(found: Perspective, *others: Perspective) -> Perspective:
    """Return the broadest perspective that is `<=` all: what a value made of several others lives at."""
    for other in others:
        if not found <= other:
            found = other if other <= found else Perspective(found.level, gcd(found.size, other.size))
    return found


@functools.lru_cache(maxsize=256)
def _units(level: Level, size: int) -> Perspective:
    """Return a perspective of code, which is asked for at each expression."""
    return Perspective(level, size)


class Bound(Value):
    """What code may rely on: for each level the guaranteed units, or None; broadest entry = the code's perspective.

    `whole` says that the thread units in force start at thread 0 of a block, so that a split's offsets are absolute (R4).
    """

    grid: int | None
    block: int | None
    thread: int | None
    whole: bool = True

    @property
    def code(self) -> Perspective:
        """The perspective of the code: the broadest entry."""
        if self.grid is not None:
            return _units(Level.GRID, self.grid)
        if self.block is not None:
            return _units(Level.BLOCK, self.block)
        if self.thread is not None:
            return _units(Level.THREAD, self.thread)
        raise ValueError("a bound has at least one entry")

    def entry(self, level: Level) -> int | None:
        """Return the number of units of `level` that are guaranteed, or None."""
        return (self.thread, self.block, self.grid)[level]

    def __str__(self) -> str:
        entries = [
            f"{n}[{s}]"
            for n, s in (("grid", self.grid), ("block", self.block), ("thread", self.thread))
            if s is not None
        ]
        return ", ".join(entries)

    def allows(self, unit: Perspective) -> bool:
        """Whether `group(unit)` is legal here (R2): the bound's own entry of that level is a multiple of it."""
        have = self.entry(unit.level)
        return have is not None and have % unit.size == 0

    def narrow(self, unit: Perspective) -> Bound:
        """Return the bound inside `group(unit)` (R2) or inside a split's arm of that size (R5)."""
        if unit.level == Level.GRID:
            return self
        if unit.level == Level.BLOCK:
            return Bound(None, unit.size, self.thread)
        return Bound(None, None, unit.size, whole=False)
