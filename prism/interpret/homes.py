"""What threads know of each other, kept by home: a block, or the blocks of a cluster, and what they have under way.

Inside its home an agent knows of each other one by a table. Of other homes most know nothing: what one does know, from a word
that was released or a barrier of the grid, is a row over all agents of the launch, which many share. So what is kept grows with
the threads that run at one time, and by a few numbers with the size of the launch.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret.lanes import everywhere
from prism.lang.keep.bases import Frozen

_POOL = 32  # far rows of a home, from which on those are dropped that nobody has any longer


class Row(Frozen):
    """What was handed over: what one had done and knew. `home`: whose; `own`: inside it, a column for each of `numbers`."""

    home: int
    numbers: Any
    own: Any
    far: Any = None

    def wide(self) -> Any:
        """Return the same with a column for each agent of the launch, up to the last that it knows of."""
        if self.own is None:
            return self.far
        found = np.zeros((len(self.own), int(self.numbers[-1]) + 1), np.int32)
        found[:, self.numbers] = self.own
        return either(found, self.far)

    def join(self, other: Row) -> Row:
        """Return what either knows."""
        if self is other:
            return self
        if self.home == other.home and self.own is not None:
            numbers = max(self.numbers, other.numbers, key=len)
            return Row(self.home, numbers, either(self.own, other.own), either(self.far, other.far))
        return Row(-1, None, None, either(self.wide(), other.wide()))


def union_of(rows: Iterable[Row | None]) -> Row | None:
    """Return the union of what rows know, or None of none."""
    told = [row for row in rows if row is not None]
    return functools.reduce(Row.join, told) if told else None


def either(one: Any, two: Any) -> Any:
    """Return the union of what two rows know, of which one may be shorter, as it is older; None: nothing."""
    if one is None or two is None or one is two:
        return one if two is None else two
    long, short = (one, two) if one.shape[-1] >= two.shape[-1] else (two, one)
    long = long.copy()
    np.maximum(long[:, : short.shape[-1]], short, out=long[:, : short.shape[-1]])
    return long


@dataclass(slots=True, eq=False)
class Home:
    """The table of the agents of one home: its threads `first` and on, then what they issued, in the order of `numbers`.

    `table[k, half]` is what the k-th knows of each; the last column is nobody's. `far[k]`: which row of `pool` it knows.
    """

    index: int
    first: int
    count: int
    table: Any
    far: Any
    numbers: Any
    generic: Any
    used: int
    pool: list[Any] = field(default_factory=lambda: [None])
    agents: dict[tuple[int, bool], list[int]] = field(
        default_factory=dict
    )  # by who issues them, and how they access memory
    # Of threads that stand side by side, their first and last place: a row that each of them knows, as they have met or were
    # told together. What a thread knows only grows, so such a row stays true, and one look at it often spares one a thread.
    common: dict[tuple[int, int], Any] = field(default_factory=dict)

    @property
    def halves(self) -> int:
        """How many numbers a place knows of each: two where there are proxy fences."""
        return int(self.table.shape[1])

    def steps(self, by: Any, of: Any, half: int = 0) -> Any:
        """Return the latest step that each place of `by`, or the one, knows of each of `of`; of -1, nobody, 0."""
        return self.table[by, half, of] if isinstance(by, np.ndarray) else self.table[by, half].take(of, mode="wrap")

    def own(self, by: Any) -> Any:
        """Return the step that each of these places, or the one, is at."""
        return self.table[by, 0, by]

    def plain(self, places: Any) -> Any:
        """Whether accesses of these are the generic proxy's: of threads, and of copies that are made as threads would."""
        return self.generic[places]

    @property
    def known(self) -> Any:
        """The table of those that there are."""
        return self.table[: self.used, :, : self.used]

    def add(self, number: int, generic: bool) -> int:
        """Make room for one more agent, and return its place."""
        at = self.used
        if at + 1 == len(self.table):
            room = at + max(64, at // 2)
            table = np.zeros((room, self.table.shape[1], room), np.int32)
            table[:at, :, :at] = self.known
            self.table = table
            self.common = {key: np.pad(row, (0, room - len(row))) for key, row in self.common.items()}
            self.far = np.concatenate([self.far, np.zeros(room - len(self.far), np.int32)])
            self.numbers = np.concatenate([self.numbers, np.zeros(room - len(self.numbers), np.int64)])
            self.generic = np.concatenate([self.generic, np.ones(room - len(self.generic), bool)])
        self.numbers[at], self.generic[at] = number, generic
        self.used += 1
        return at

    def meet(self, places: Any) -> None:
        """Let each row of places know what any of it knows."""
        part, one = self.known, consecutive(places[0]) if len(places) == 1 else None
        if one is not None:
            part[one] = every = part[one].max(axis=0)
            self._share(one, every[0])
        else:
            part[places] = part[places].max(axis=1, keepdims=True)
        if len(self.pool) > 1:
            for row in places:
                self.learn_far(row, self.far_of(row), everything=True)

    def row(self, places: Any) -> Row:
        """Return what any of these places knows."""
        one = consecutive(places)
        own = (self.known[places] if one is None else self.known[one]).max(axis=0)
        return Row(self.index, self.numbers[: self.used], own, self.far_of(places))

    def learn(self, places: Any, row: Row) -> None:
        """Let these places know what was handed over, by any home."""
        if row.home == self.index:
            self._learn_own(places, slice(0, row.own.shape[-1]), row.own)
            far = row.far
        else:
            far = row.wide()
            here = self.numbers[: self.used]
            here = here[here < far.shape[-1]]
            self._learn_own(places, slice(0, len(here)), far[:, here])
        if far is not None:
            self.learn_far(places, far)

    def _learn_own(self, places: Any, columns: slice, own: Any) -> None:
        part, one = self.table[:, :, columns], consecutive(places)
        if one is not None:
            np.maximum(part[one], own, out=part[one])
            if len(places) > 1:
                self._share(one, own[0])
        else:
            part[places] = np.maximum(part[places], own)

    def _share(self, places: slice, row: Any) -> None:
        """Note that each of these places, of threads, knows a row of steps."""
        key = (places.start, places.stop - 1)
        known = self.common.get(key)
        if known is None:
            known = self.common[key] = np.zeros(len(self.table), np.int32)
        part = known[: len(row)]
        np.maximum(part, row, out=part)

    def common_of(self, first: int, last: int) -> Any:
        """Return a row that all threads from one place to another know at least; None: there is none at hand."""
        if last >= self.count:
            return None
        row = self.common.get((first, last))
        return row if row is not None else self.common.get((0, self.count - 1))

    def far_of(self, places: Any) -> Any:
        """Return what any of these places knows of other homes; None: nothing."""
        found = None
        if len(self.pool) > 1:
            for k in np.unique(self.far[places]):
                found = either(found, self.pool[k])
        return found

    def learn_far(self, places: Any, far: Any, everything: bool = False) -> None:
        """Let places know a row of other homes too; `everything`: it has all that they know of them."""
        if far is None:
            return
        mine = self.far[places]
        parts = [(places, far)]
        if not everything:
            parts = [(places[mine == k], either(self.pool[k], far)) for k in np.unique(mine)]
        for some, row in parts:
            self.far[some] = self.keep(row)

    def keep(self, far: Any) -> int:
        """Return the place of a far row in the pool."""
        for k in range(1, len(self.pool)):
            if self.pool[k] is far:
                return k
        if len(self.pool) >= _POOL:
            alive = np.unique(np.append(self.far[: self.used], 0))
            if len(alive) <= len(self.pool) // 2:
                self.pool = [self.pool[k] for k in alive]
                self.far[: self.used] = np.searchsorted(alive, self.far[: self.used])
        self.pool.append(far)
        return len(self.pool) - 1


def make_home(index: int, first: int, count: int, halves: int) -> Home:
    """Return the home of so many threads, each of which knows of its own first step alone."""
    table = np.zeros((count + 1, halves, count + 1), np.int32)
    everyone = np.arange(count)
    table[everyone, 0, everyone] = 1
    numbers, generic = first + np.arange(count + 1), np.ones(count + 1, bool)
    return Home(index, first, count, table, np.zeros(count + 1, np.int32), numbers, generic, count)


def consecutive(numbers: Any) -> slice | None:
    """Return numbers as a slice, where each is one more than the one before."""
    first, last = int(numbers[0]), int(numbers[-1])
    rising = last - first == len(numbers) - 1 and everywhere(numbers[1:] > numbers[:-1])
    return slice(first, last + 1) if rising else None
