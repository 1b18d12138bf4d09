"""What the machine knows of each location of memory: who accessed it since its last write, and whether anything is in it.

A `Shadow` keeps, a location, the last write and every later access, and tells whether a new access is ordered after those that
it conflicts with; an access by an asynchronous operation also whether a proxy fence stands between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.interpret.clocks import Clocks


@dataclass(frozen=True, slots=True)
class Conflict:
    """An access (entry `index` of a batch) and the earlier one that it is not ordered after."""

    index: int
    thread: int
    site: int


class _Accesses:
    """For each location the accesses of one kind that a later write may conflict with: one, or a row of one a thread.

    A row has a column for each thread (or agent) that was ever in a row here: `who` tells which.
    """

    def __init__(self, locations: int) -> None:
        self.locations = locations
        self.free: list[int] = []
        self.used = False

    def start(self) -> None:
        """Make room, at the first access."""
        if self.used:
            return
        self.used = True
        self.thread, self.row = np.full((2, self.locations), -1, np.int32)
        self.clock, self.site = np.zeros((2, self.locations), np.int32)
        self.clocks, self.sites = np.zeros((2, 0, 0), np.int32)
        self.who = np.zeros(0, np.int64)
        self.column = np.full(0, -1, np.int64)

    def conflict(self, at: Any, by: Any, known: Any, plain: Any = None) -> Conflict | None:
        """Return the first access that is not known; with `plain`, only of those that it holds for."""
        if not self.used:
            return None
        thread = self.thread[at]
        bad = (thread >= 0) & (thread != by) & (known[by, thread] < self.clock[at])
        if plain is not None:
            bad = (thread >= 0) & (known[by, thread] < self.clock[at]) & plain(thread)
        if np.count_nonzero(bad):
            index = int(np.where(bad, thread ^ by, -1).argmax())  # the two that need the broadest barrier
            return Conflict(index, int(thread[index]), int(self.site[at[index]]))
        rows = self.row[at]
        crowded = np.flatnonzero(rows >= 0)
        if not len(crowded):
            return None
        who = self.who if plain is None else np.where(plain(self.who), self.who, -1)
        for part in np.array_split(crowded, 1 + len(crowded) * len(who) // 4_000_000):
            later = self.clocks[rows[part], : len(who)] > known[by[part][:, None], who]
            if plain is None:
                later &= by[part][:, None] != who
            else:
                later &= who >= 0
            if later.any():
                index, other = (int(k[0]) for k in np.nonzero(later))
                return Conflict(int(part[index]), int(who[other]), int(self.sites[rows[part[index]], other]))
        return None

    def record(self, at: Any, by: Any, clocks: Clocks, site: int) -> None:
        """Note accesses that are ordered after those that they conflict with."""
        self.start()
        known = clocks.known
        clock = known[by, by]
        thread, rows = self.thread[at], self.row[at]
        after = known[by, thread] >= self.clock[at]
        if clocks.halves > 1:  # a plain access that no fence has shown to engines yet is not forgotten for a later one
            after &= (clocks.fenced[by, thread] >= self.clock[at]) | ~clocks.plain(thread)
        alone = (rows < 0) & ((thread < 0) | (thread == by) | after)
        chosen = at[alone]
        # With several threads at one location the last stays alone, and the others make it a row.
        self.thread[chosen], self.clock[chosen], self.site[chosen] = by[alone], clock[alone], site
        crowded = (rows < 0) & (self.thread[at] != by)
        if np.count_nonzero(crowded):
            several = at[crowded]
            order = np.arange(len(several))
            self.row[several] = order
            self._widen(several[self.row[several] == order])  # each location once
        rows = self.row[at]
        wide = rows >= 0
        if np.count_nonzero(wide):
            columns = self._columns(by[wide])
            self.clocks[rows[wide], columns] = clock[wide]
            self.sites[rows[wide], columns] = site

    def _columns(self, by: Any) -> Any:
        most = int(by.max()) + 1
        if most > len(self.column):
            self.column = np.concatenate([self.column, np.full(most + 32 - len(self.column), -1, np.int64)])
        columns = self.column[by]
        new = columns < 0
        if not np.count_nonzero(new):
            return columns
        missing, have = np.unique(by[new]), len(self.who)
        self.column[missing] = np.arange(have, have + len(missing))
        self.who = np.concatenate([self.who, missing])
        self._room(len(self.clocks), len(self.who))
        return self.column[by]

    def _room(self, rows: int, columns: int) -> None:
        have_rows, have_columns = self.clocks.shape
        if rows <= have_rows and columns <= have_columns:
            return
        shape = (max(rows, have_rows), columns + columns // 2 if columns > have_columns else have_columns)
        clocks, sites = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        clocks[:have_rows, :have_columns], sites[:have_rows, :have_columns] = self.clocks, self.sites
        self.clocks, self.sites = clocks, sites

    def _widen(self, at: Any) -> None:
        missing = len(at) - len(self.free)
        if missing > 0:
            size = len(self.clocks)
            more = max(missing, size, 16)
            self._room(size + more, len(self.who))
            self.free.extend(range(size, size + more))
        rows = np.array(self.free[len(self.free) - len(at) :], np.int64)
        del self.free[len(self.free) - len(at) :]
        self.clocks[rows] = 0
        self.row[at] = rows
        columns = self._columns(self.thread[at])
        self.clocks[rows, columns] = self.clock[at]
        self.sites[rows, columns] = self.site[at]
        self.thread[at] = -1

    def forget(self, at: Any) -> None:
        """Drop the accesses to these locations."""
        if self.used:
            rows = self.row[at]
            wide = rows >= 0
            if np.count_nonzero(wide):
                self.free.extend(np.unique(rows[wide]).tolist())
                self.row[at] = -1
            self.thread[at] = -1


class Shadow:
    """What the machine knows of each location of one piece of memory.

    `initialised`: for each location a stamp, 0 where nothing was written; a ring's copy has one of its own a round.
    """

    count = 0

    def __init__(self, clocks: Clocks, locations: int, granule: int, initialised: bool) -> None:
        Shadow.count += 1
        self.number = Shadow.count
        self.clocks, self.granule = clocks, granule
        self.initialised = None if initialised else np.zeros(locations, np.int64)
        self._writes, self._reads, self._polls, self._updates = (_Accesses(locations) for _ in range(4))

    def read(self, at: Any, by: Any, site: int, atomic: bool, _: int = 1) -> Conflict | None:
        """Note reads of the locations `at` by the threads `by`, or return the first that races."""
        known = self.clocks.known
        found = self._writes.conflict(at, by, known)
        if found is None and not atomic:
            found = self._updates.conflict(at, by, known)
        if found is None:
            (self._polls if atomic else self._reads).record(at, by, self.clocks, site)
        return found

    def write(self, at: Any, by: Any, site: int, atomic: bool, stamp: int = 1) -> Conflict | None:
        """Note writes of the locations `at` by the threads `by`, or return the first that races."""
        known = self.clocks.known
        found = self._writes.conflict(at, by, known) or self._reads.conflict(at, by, known)
        if self.initialised is not None:
            self.initialised[at] = stamp
        if atomic:
            if found is None:
                self._updates.record(at, by, self.clocks, site)
            return found
        found = found or self._polls.conflict(at, by, known) or self._updates.conflict(at, by, known)
        return found or self._overwrite(at, by, site)

    def unfenced(self, at: Any, by: Any, kind: str) -> Conflict | None:
        """Return a plain access that an asynchronous one (of agents `by`) comes after, with no proxy fence between."""
        clocks = self.clocks
        found = None
        earlier = (
            (self._writes, self._updates) if kind == "read" else (self._writes, self._updates, self._reads, self._polls)
        )
        for accesses in earlier:
            found = found or accesses.conflict(at, by, clocks.fenced, clocks.plain)
        return found

    def _overwrite(self, at: Any, by: Any, site: int) -> Conflict | None:
        writes = self._writes
        writes.start()
        writes.thread[at] = by
        lost = writes.thread[at] != by
        if np.count_nonzero(lost):
            index = int(lost.argmax())
            return Conflict(index, int(writes.thread[at[index]]), site)
        writes.clock[at], writes.site[at] = self.clocks.known[by, by], site
        for accesses in (self._reads, self._polls, self._updates):
            accesses.forget(at)
        if self.clocks.stale is not None:
            self.clocks.stale.forget(self.number, at)
        return None
