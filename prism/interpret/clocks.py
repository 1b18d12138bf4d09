"""Happens-before on the reference machine: a vector clock a thread, a shadow a location.

`Clocks` knows, for each thread, the latest step of each other thread that is ordered before it. A step is ordered by program
order, by the plan's barriers, and by release and acquire on one word; by nothing else. `Shadow` keeps, a location, the last
write and every later access, and tells whether a new access is ordered after those that it conflicts with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.lang.diagnostics import Span

LIMIT = 16384


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the program that accesses memory."""

    span: Span
    kind: str
    perspective: object


@dataclass(frozen=True, slots=True)
class Conflict:
    """An access (entry `index` of a batch) and the earlier one that it is not ordered after."""

    index: int
    thread: int
    site: int


class Clocks:
    """The vector clocks of all threads of a launch; threads are numbered through the grid."""

    def __init__(self, blocks: int, threads: int) -> None:
        if blocks * threads > LIMIT:
            raise ValueError(
                f"check=True is for launches of at most {LIMIT} threads, not {blocks} x {threads}; use fewer blocks"
            )
        self.threads = threads
        self.known = np.zeros((blocks * threads, blocks * threads), np.int32)
        np.fill_diagonal(self.known, 1)
        self.sites: list[Site] = []
        self._numbers: dict[Site, int] = {}
        self._foreign = np.zeros(blocks, bool)
        self._released: dict[tuple[int, int], Any] = {}
        self._shown: dict[int, Any] = {}  # what a thread had done when it last met a release fence
        self._seen: dict[int, Any] = {}  # what its relaxed reads since have seen released

    def site(self, site: Site) -> int:
        """Return a number for a place in the program."""
        number = self._numbers.setdefault(site, len(self.sites))
        if number == len(self.sites):
            self.sites.append(site)
        return number

    def join(self, block: int, members: Any) -> None:
        """Order what each row of `members` (threads of the block) did before what it does next."""
        first = block * self.threads
        own = slice(None) if self._foreign[block] else slice(first, first + self.threads)
        numbers = members + first
        columns = self.known[:, own]
        columns[numbers] = columns[numbers].max(axis=1, keepdims=True)
        self._step(numbers.ravel())

    def release(self, shadow: int, location: int, thread: int) -> None:
        """Let what `thread` did so far be seen by who acquires the location."""
        key = (shadow, location)
        before = self._released.get(key)
        row = self.known[thread]
        self._released[key] = row.copy() if before is None else np.maximum(row, before)
        self._step(np.array([thread]))

    def acquire(self, shadow: int, location: int, thread: int) -> None:
        """Order what was released at the location before what `thread` does next."""
        row = self._released.get((shadow, location))
        if row is not None:
            np.maximum(self.known[thread], row, out=self.known[thread])
            self._foreign[thread // self.threads] = True

    def fence(self, thread: int, order: str) -> None:
        """Order by the relaxed accesses before an acquire fence, and after a release fence."""
        if order != "release" and thread in self._seen:
            np.maximum(self.known[thread], self._seen[thread], out=self.known[thread])
            self._foreign[thread // self.threads] = True
        if order != "acquire":
            self._shown[thread] = self.known[thread].copy()
            self._step(np.array([thread]))

    def fences(self, how: str) -> bool:
        """Whether there is anything that `saw` or `show` would note."""
        return bool(self._released if how == "saw" else self._shown)

    def saw(self, shadow: int, location: int, thread: int) -> None:
        """Note a relaxed read: what was released at the location is ordered before the next acquire fence."""
        row = self._released.get((shadow, location))
        if row is not None:
            before = self._seen.get(thread)
            self._seen[thread] = row.copy() if before is None else np.maximum(before, row)

    def show(self, shadow: int, location: int, thread: int) -> None:
        """Note a relaxed write: it releases what the thread had done at its last release fence."""
        row = self._shown.get(thread)
        if row is not None:
            before = self._released.get((shadow, location))
            self._released[shadow, location] = row.copy() if before is None else np.maximum(row, before)

    def _step(self, numbers: Any) -> None:
        self.known[numbers, numbers] += 1


class _Accesses:
    """For each location the accesses of one kind that a later write may conflict with: one, or a row of one a thread."""

    def __init__(self, locations: int, width: int) -> None:
        self.locations, self.width = locations, width
        self.free: list[int] = []
        self.used = False

    def start(self) -> None:
        """Make room, at the first access."""
        if self.used:
            return
        self.used = True
        self.thread, self.row = np.full((2, self.locations), -1, np.int32)
        self.clock, self.site = np.zeros((2, self.locations), np.int32)
        self.clocks, self.sites = np.zeros((2, 0, self.width), np.int32)

    def conflict(self, at: Any, by: Any, known: Any) -> Conflict | None:
        if not self.used:
            return None
        thread = self.thread[at]
        bad = (thread >= 0) & (thread != by) & (known[by, thread] < self.clock[at])
        if bad.any():
            index = int(np.where(bad, thread ^ by, -1).argmax())  # the two that need the broadest barrier
            return Conflict(index, int(thread[index]), int(self.site[at[index]]))
        rows = self.row[at]
        for index in map(int, np.flatnonzero(rows >= 0)):
            later = self.clocks[rows[index]] > known[by[index]]
            if later.any():
                other = int(later.argmax())
                return Conflict(index, other, int(self.sites[rows[index], other]))
        return None

    def record(self, at: Any, by: Any, known: Any, site: int) -> None:
        self.start()
        clock = known[by, by]
        thread, rows = self.thread[at], self.row[at]
        alone = (rows < 0) & ((thread < 0) | (thread == by) | (known[by, thread] >= self.clock[at]))
        chosen = at[alone]
        # With several threads at one location the last stays alone, and the others make it a row.
        self.thread[chosen], self.clock[chosen], self.site[chosen] = by[alone], clock[alone], site
        crowded = (rows < 0) & (self.thread[at] != by)
        if crowded.any():
            self._widen(np.unique(at[crowded]))
        rows = self.row[at]
        wide = rows >= 0
        if wide.any():
            self.clocks[rows[wide], by[wide]] = clock[wide]
            self.sites[rows[wide], by[wide]] = site

    def _widen(self, at: Any) -> None:
        missing = len(at) - len(self.free)
        if missing > 0:
            size = len(self.clocks)
            more = max(missing, size, 16)
            empty = np.zeros((more, self.clocks.shape[1]), np.int32)
            self.clocks, self.sites = np.concatenate([self.clocks, empty]), np.concatenate([self.sites, empty])
            self.free.extend(range(size, size + more))
        rows = np.array([self.free.pop() for _ in range(len(at))], np.int64)
        self.clocks[rows] = 0
        self.row[at] = rows
        self.clocks[rows, self.thread[at]] = self.clock[at]
        self.sites[rows, self.thread[at]] = self.site[at]
        self.thread[at] = -1

    def forget(self, at: Any) -> None:
        if self.used:
            rows = self.row[at]
            self.free.extend(int(row) for row in rows[rows >= 0])
            self.row[at] = -1
            self.thread[at] = -1


class Shadow:
    """What the machine knows of each location of one piece of memory."""

    count = 0

    def __init__(self, clocks: Clocks, locations: int, granule: int, initialised: bool) -> None:
        Shadow.count += 1
        self.number = Shadow.count
        self.clocks, self.granule = clocks, granule
        width = clocks.known.shape[0]
        self.initialised = None if initialised else np.zeros(locations, bool)
        self._writes = _Accesses(locations, 0)
        self._reads, self._polls, self._updates = (_Accesses(locations, width) for _ in range(3))

    def read(self, at: Any, by: Any, site: int, atomic: bool) -> Conflict | None:
        """Note reads of the locations `at` by the threads `by`, or return the first that races."""
        known = self.clocks.known
        found = self._writes.conflict(at, by, known)
        if found is None and not atomic:
            found = self._updates.conflict(at, by, known)
        if found is None:
            (self._polls if atomic else self._reads).record(at, by, known, site)
        return found

    def write(self, at: Any, by: Any, site: int, atomic: bool) -> Conflict | None:
        """Note writes of the locations `at` by the threads `by`, or return the first that races."""
        known = self.clocks.known
        found = self._writes.conflict(at, by, known) or self._reads.conflict(at, by, known)
        if self.initialised is not None:
            self.initialised[at] = True
        if atomic:
            if found is None:
                self._updates.record(at, by, known, site)
            return found
        found = found or self._polls.conflict(at, by, known) or self._updates.conflict(at, by, known)
        return found or self._overwrite(at, by, site)

    def _overwrite(self, at: Any, by: Any, site: int) -> Conflict | None:
        writes = self._writes
        writes.start()
        writes.thread[at] = by
        lost = writes.thread[at] != by
        if lost.any():
            index = int(lost.argmax())
            return Conflict(index, int(writes.thread[at[index]]), site)
        writes.clock[at], writes.site[at] = self.clocks.known[by, by], site
        for accesses in (self._reads, self._polls, self._updates):
            accesses.forget(at)
        return None
