"""Accesses of one kind, as a `Shadow` keeps them: by whom each location was accessed, when, and where in the program."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from prism.interpret.homes import consecutive
from prism.interpret.lanes import anywhere, everywhere
from prism.lang.keep.bases import Value


class Conflict(Value):
    """An access (entry `index` of a batch) and the earlier one that it is not ordered after.

    `shared`: both are stores that several units may make, if they store one value.
    """

    index: int
    thread: int
    site: int
    shared: bool = False


class Known(Protocol):
    """Who knows what of whom: `Clocks`, by the numbers of threads and agents, or a `Home`, by their places in it."""

    @property
    def halves(self) -> int: ...
    def steps(self, by: Any, of: Any, half: int = 0) -> Any: ...
    def own(self, by: Any) -> Any: ...
    def plain(self, numbers: Any) -> Any: ...
    def common_of(self, first: int, last: int) -> Any: ...


class Accesses:
    """For each location the accesses of one kind that a later write may conflict with: one, or a row of one a thread.

    A row has a column for each thread (or agent) that was ever in a row here: `who` tells which. Many accesses at a time are of
    a slice of locations, or by one thread: those are told as such (see `_brief`), and cost a fraction of what a list does.
    """

    def __init__(self, locations: int) -> None:
        self.locations = locations
        self.used = False

    def start(self) -> None:
        """Make room, at the first access."""
        if self.used:
            return
        self.used = True
        self.thread, self.row = np.full((2, self.locations), -1, np.int32)
        self.clock, self.site = np.zeros((2, self.locations), np.int32)
        self.clocks, self.sites = np.zeros((2, 0, 0), np.int32)
        self.free, self.left = np.zeros(0, np.int64), 0  # the rows that are free, a stack, and how many those are
        self.touched = 0  # the rows that were ever used, from the first on: of the others there is no memory yet
        self.who = np.zeros(0, np.int64)
        self.column, self.base = np.full(0, -1, np.int64), 0  # of each number from `base` on

    def conflict(self, at: Any, by: Any, clocks: Known, unfenced: bool = False, excused: Any = None) -> Conflict | None:
        """Return the first access that is not known; `unfenced`: the first plain one that no fence has made visible.

        With `excused`, a function of the threads of both accesses, none of those that it holds for.
        """
        if not self.used:
            return None
        thread = self.thread[at]
        some = thread >= 0
        if anywhere(some) and (unfenced or not self._all_know(by, thread, some, at, clocks)):
            bad = some & (clocks.steps(by, thread, clocks.halves - 1 if unfenced else 0) < self.clock[at])
            # A thread's own accesses are in the order of its program, but its fences decide what asynchronous ones see.
            bad &= clocks.plain(thread) if unfenced else thread != by
            if excused is not None and anywhere(bad):
                bad &= ~excused(by, thread)
            if anywhere(bad):
                index = int(np.where(bad, thread ^ by, -1).argmax())  # the two that need the broadest barrier
                return Conflict(index, int(thread[index]), int(self.site[at][index]))
        if not len(self.who):
            return None
        rows = self.row[at]
        crowded = (rows >= 0).nonzero()[0]
        return self._crowded(rows, crowded, by, clocks, unfenced, excused) if len(crowded) else None

    def _all_know(self, by: Any, thread: Any, some: Any, at: Any, clocks: Known) -> bool:
        """Whether what all threads of the home know, as they met last, has these accesses: then each need not be asked.

        As after a barrier: 1,024 elements of a shared tile that others wrote are read by as many lookups in one row.
        """
        one = by if isinstance(by, int) else int(by[0])
        common = clocks.common_of(one, one) if isinstance(by, int) else clocks.common_of(-1, one)
        return common is not None and not anywhere(some & (common[thread] < self.clock[at]))

    def _crowded(
        self, rows: Any, crowded: Any, by: Any, clocks: Known, unfenced: bool, excused: Any
    ) -> Conflict | None:
        who = np.where(clocks.plain(self.who), self.who, -1) if unfenced else self.who
        half = clocks.halves - 1 if unfenced else 0
        work = len(crowded) * len(who)
        for part in np.array_split(crowded, 1 + work // 4_000_000) if work > 4_000_000 else (crowded,):
            mine = by[part][:, None] if isinstance(by, np.ndarray) else by
            later = self.clocks[rows[part], : len(who)] > clocks.steps(mine, who, half)
            later &= who >= 0 if unfenced else mine != who
            if excused is not None and anywhere(later):
                later &= ~excused(mine, who)
            if anywhere(later):
                index, other = divmod(int(np.where(later, mine ^ who, -1).argmax()), len(who))
                return Conflict(int(part[index]), int(who[other]), int(self.sites[rows[part[index]], other]))
        return None

    def record(self, at: Any, by: Any, clocks: Known, site: Any) -> None:
        """Note accesses that are ordered after those that they conflict with; `site`: one for all, or an array."""
        self.start()
        one, clock = not isinstance(by, np.ndarray), clocks.own(by)
        thread, rows = self.thread[at], self.row[at]
        alone = (thread < 0) | (thread == by)
        if not everywhere(alone):
            alone |= self._after(by, thread, self.clock[at], clocks)
        # One access stands for all before it that are ordered before it: who must come after it comes after those too. As
        # here: t0 reads, a barrier, t1 reads, t2 writes. If t2 is ordered after t1's read, so it is after t0's.
        alone &= rows < 0
        where = np.arange(at.start, at.stop) if isinstance(at, slice) else at
        chosen = where[alone]
        # With several threads at one location the last stays alone, and the others make it a row.
        self.thread[chosen], self.clock[chosen] = (by, clock) if one else (by[alone], clock[alone])
        self.site[chosen] = site[alone] if isinstance(site, np.ndarray) else site
        if one and len(chosen) == len(where):
            return
        crowded = (rows < 0) & (self.thread[at] != by)
        if anywhere(crowded):
            several = where[crowded]
            if where is at:
                order = np.arange(len(several))
                self.row[several] = order
                several = several[self.row[several] == order]  # each location once
            self._widen(several)
        self._note(self.row[at], by, clock, site)

    def record_together(self, at: Any, by: Any, clocks: Known, site: Any) -> None:
        """Note that each of several threads accesses each of these locations, which differ; `site`: one a location.

        As `record` of all pairs, by rows and columns. Who was alone at a location stays, but where the first of the threads
        knows of it: one too many changes nothing, for who is ordered after the access of a thread is so after all it knew.
        """
        self.start()
        own, thread = clocks.own(by), self.thread[at]
        narrow = self.row[at] < 0
        if anywhere(narrow):
            free = narrow & ((thread < 0) | self._after(int(by[0]), thread, self.clock[at], clocks))
            self.thread[at[free]], self.clock[at[free]], self.site[at[free]] = by[0], own[0], site[free]
            self._widen(at[narrow])
        columns = self._columns(by)
        several = consecutive(columns)
        if several is None:
            rows = self.row[at][:, None]
            self.clocks[rows, columns], self.sites[rows, columns] = own, site[:, None]
        else:
            rows = self.row[at]
            self.clocks[rows, several], self.sites[rows, several] = own, site[:, None]

    @staticmethod
    def _after(by: Any, thread: Any, since: Any, clocks: Known) -> Any:
        """Where accesses are ordered after those of `thread`, which need not be kept then."""
        after = clocks.steps(by, thread) >= since
        if clocks.halves > 1:  # a plain access that no fence has shown to engines yet is not forgotten for a later one
            after &= (clocks.steps(by, thread, 1) >= since) | ~clocks.plain(thread)
        return after

    def _note(self, rows: Any, by: Any, clock: Any, site: Any) -> None:
        """Note accesses of the locations that have a row."""
        wide = rows >= 0
        if not anywhere(wide):
            return
        one = not isinstance(by, np.ndarray)
        if not everywhere(wide):
            rows = rows[wide]
            by, clock = (by, clock) if one else (by[wide], clock[wide])
            site = site[wide] if isinstance(site, np.ndarray) else site
        columns = int(self._columns(np.array([by]))[0]) if one else self._columns(by)
        self.clocks[rows, columns] = clock
        self.sites[rows, columns] = site

    def _columns(self, by: Any) -> Any:
        least, most = int(by.min()), int(by.max()) + 1
        if not len(self.column):
            self.base = least
        if least < self.base:
            self.column = np.concatenate([np.full(self.base - least, -1, np.int64), self.column])
            self.base = least
        if most - self.base > len(self.column):
            more = most + 32 - self.base - len(self.column)
            self.column = np.concatenate([self.column, np.full(more, -1, np.int64)])
        columns = self.column[by - self.base]
        new = columns < 0
        if not anywhere(new):
            return columns
        missing, have = np.unique(by[new]), len(self.who)
        self.column[missing - self.base] = np.arange(have, have + len(missing))
        self.who = np.concatenate([self.who, missing])
        self._room(len(self.clocks), len(self.who))
        return self.column[by - self.base]

    def _room(self, rows: int, columns: int) -> None:
        have_rows, have_columns = self.clocks.shape
        if rows <= have_rows and columns <= have_columns:
            return
        shape = (max(rows, have_rows), max(16, 2 * columns) if columns > have_columns else have_columns)
        part = np.s_[: self.touched, :have_columns]
        clocks, sites = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        clocks[part], sites[part] = self.clocks[part], self.sites[part]
        self.clocks, self.sites = clocks, sites

    def _widen(self, at: Any) -> None:
        size = len(self.clocks)
        if len(at) > self.left:
            more = max(len(at) - self.left, 3 * size, 16)  # what is not touched costs nothing
            self._room(size + more, len(self.who))
            fresh = np.arange(size + more - 1, size - 1, -1)  # the first are taken first
            self.free = np.concatenate([self.free[: self.left], fresh, np.zeros(size, np.int64)])
            self.left += more
        self.left -= len(at)
        rows = self.free[self.left : self.left + len(at)][::-1].copy()
        again = rows[rows < self.touched]
        if len(again):
            self.clocks[again, : len(self.who)] = 0
        self.touched = max(self.touched, int(rows.max(initial=-1)) + 1)
        self.row[at] = rows
        columns = self._columns(self.thread[at])
        self.clocks[rows, columns] = self.clock[at]
        self.sites[rows, columns] = self.site[at]
        self.thread[at] = -1

    def of(self, thread: int) -> Any:
        """Return, for each location, the site of a thread's access among these, or -1."""
        found = np.full(self.locations, -1, np.int64)
        if not self.used:
            return found
        alone = self.thread == thread
        found[alone] = self.site[alone]
        place = thread - self.base
        column = int(self.column[place]) if 0 <= place < len(self.column) else -1
        if column >= 0:
            wide = np.flatnonzero(self.row >= 0)
            mine = wide[self.clocks[self.row[wide], column] > 0]
            found[mine] = self.sites[self.row[mine], column]
        return found

    def forget(self, at: Any) -> None:
        """Drop the accesses to these locations."""
        if not self.used:
            return
        if len(self.who):
            rows = self.row[at]
            wide = rows >= 0
            if anywhere(wide):
                gone = rows[wide] if isinstance(at, slice) else np.unique(rows[wide])
                self.free[self.left : self.left + len(gone)] = gone
                self.left += len(gone)
                self.row[at] = -1
        self.thread[at] = -1
