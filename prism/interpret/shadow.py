"""What the machine knows of each location of memory: who accessed it since its last write, and whether anything is in it.

A `Shadow` keeps, a location, the last write and every later access, and tells whether a new access is ordered after those that
it conflicts with; an access by an asynchronous operation also whether a proxy fence stands between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from prism.interpret.clocks import Clocks
from prism.interpret.homes import Home


@dataclass(frozen=True, slots=True)
class Conflict:
    """An access (entry `index` of a batch) and the earlier one that it is not ordered after.

    `shared`: both are stores that several units may make, if they store one value.
    """

    index: int
    thread: int
    site: int
    shared: bool = False


_LATER = 1 << 18  # reads that are noted together, at most
_MANY = 256  # accesses at a time that are worth a look at whether they are of a slice, or by one


class _Clocks(Protocol):
    """Who knows what of whom: `Clocks`, by the numbers of threads and agents, or a `Home`, by their places in it."""

    @property
    def halves(self) -> int: ...
    def steps(self, by: Any, of: Any, half: int = 0) -> Any: ...
    def own(self, by: Any) -> Any: ...
    def plain(self, numbers: Any) -> Any: ...


class _Accesses:
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
        self.who = np.zeros(0, np.int64)
        self.column, self.base = np.full(0, -1, np.int64), 0  # of each number from `base` on

    def conflict(
        self, at: Any, by: Any, clocks: _Clocks, unfenced: bool = False, excused: Any = None
    ) -> Conflict | None:
        """Return the first access that is not known; `unfenced`: the first plain one that no fence has made visible.

        With `excused`, a function of the threads of both accesses, none of those that it holds for.
        """
        if not self.used:
            return None
        thread = self.thread[at]
        some = thread >= 0
        if np.count_nonzero(some):
            bad = some & (clocks.steps(by, thread, clocks.halves - 1 if unfenced else 0) < self.clock[at])
            bad &= clocks.plain(thread) if unfenced else thread != by
            if excused is not None and np.count_nonzero(bad):
                bad &= ~excused(by, thread)
            if np.count_nonzero(bad):
                index = int(np.where(bad, thread ^ by, -1).argmax())  # the two that need the broadest barrier
                return Conflict(index, int(thread[index]), int(self.site[at][index]))
        if not len(self.who):
            return None
        rows = self.row[at]
        crowded = np.flatnonzero(rows >= 0)
        return self._crowded(rows, crowded, by, clocks, unfenced, excused) if len(crowded) else None

    def _crowded(
        self, rows: Any, crowded: Any, by: Any, clocks: _Clocks, unfenced: bool, excused: Any
    ) -> Conflict | None:
        who = np.where(clocks.plain(self.who), self.who, -1) if unfenced else self.who
        half = clocks.halves - 1 if unfenced else 0
        work = len(crowded) * len(who)
        for part in np.array_split(crowded, 1 + work // 4_000_000) if work > 4_000_000 else (crowded,):
            mine = by[part][:, None] if isinstance(by, np.ndarray) else by
            later = self.clocks[rows[part], : len(who)] > clocks.steps(mine, who, half)
            later &= who >= 0 if unfenced else mine != who
            if excused is not None and np.count_nonzero(later):
                later &= ~excused(mine, who)
            if np.count_nonzero(later):
                index, other = divmod(int(np.where(later, mine ^ who, -1).argmax()), len(who))
                return Conflict(int(part[index]), int(who[other]), int(self.sites[rows[part[index]], other]))
        return None

    def record(self, at: Any, by: Any, clocks: _Clocks, site: Any) -> None:
        """Note accesses that are ordered after those that they conflict with; `site`: one for all, or an array."""
        self.start()
        one, clock = not isinstance(by, np.ndarray), clocks.own(by)
        thread, rows = self.thread[at], self.row[at]
        alone = (thread < 0) | (thread == by)
        if np.count_nonzero(alone) < len(alone):
            alone |= self._after(by, thread, self.clock[at], clocks)
        alone &= rows < 0
        where = np.arange(at.start, at.stop) if isinstance(at, slice) else at
        chosen = where[alone]
        # With several threads at one location the last stays alone, and the others make it a row.
        self.thread[chosen], self.clock[chosen] = (by, clock) if one else (by[alone], clock[alone])
        self.site[chosen] = site[alone] if isinstance(site, np.ndarray) else site
        if one and len(chosen) == len(where):
            return
        crowded = (rows < 0) & (self.thread[at] != by)
        if np.count_nonzero(crowded):
            several = where[crowded]
            if where is at:
                order = np.arange(len(several))
                self.row[several] = order
                several = several[self.row[several] == order]  # each location once
            self._widen(several)
        self._note(self.row[at], by, clock, site)

    @staticmethod
    def _after(by: Any, thread: Any, since: Any, clocks: _Clocks) -> Any:
        """Where accesses are ordered after those of `thread`, which need not be kept then."""
        after = clocks.steps(by, thread) >= since
        if clocks.halves > 1:  # a plain access that no fence has shown to engines yet is not forgotten for a later one
            after &= (clocks.steps(by, thread, 1) >= since) | ~clocks.plain(thread)
        return after

    def _note(self, rows: Any, by: Any, clock: Any, site: Any) -> None:
        """Note accesses of the locations that have a row."""
        wide = rows >= 0
        count = np.count_nonzero(wide)
        if not count:
            return
        one = not isinstance(by, np.ndarray)
        if count < len(rows):
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
        if not np.count_nonzero(new):
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
        shape = (max(rows, have_rows), max(16, columns + columns // 2) if columns > have_columns else have_columns)
        clocks, sites = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        clocks[:have_rows, :have_columns], sites[:have_rows, :have_columns] = self.clocks, self.sites
        self.clocks, self.sites = clocks, sites

    def _widen(self, at: Any) -> None:
        size = len(self.clocks)
        if len(at) > self.left:
            more = max(len(at) - self.left, size, 16)
            self._room(size + more, len(self.who))
            self.free = np.concatenate([self.free[: self.left], np.arange(size, size + more), np.zeros(size, np.int64)])
            self.left += more
        self.left -= len(at)
        rows = self.free[self.left : self.left + len(at)].copy()
        self.clocks[rows, : len(self.who)] = 0
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
            if np.count_nonzero(wide):
                gone = rows[wide] if isinstance(at, slice) else np.unique(rows[wide])
                self.free[self.left : self.left + len(gone)] = gone
                self.left += len(gone)
                self.row[at] = -1
        self.thread[at] = -1


def _brief(at: Any, by: Any) -> tuple[Any, Any]:
    """Return many locations as a slice, and their threads as one number, where they are that."""
    if len(at) < _MANY:
        return at, by
    first, last = int(at[0]), int(at[-1])
    if last - first == len(at) - 1 and bool((at[1:] > at[:-1]).all()):  # rising so far in so many steps: each is one
        at = slice(first, last + 1)
    return at, int(by[0]) if by[0] == by[-1] and bool((by == by[0]).all()) else by


class Shadow:
    """What the machine knows of each location of one piece of memory.

    `initialised`: for each location a stamp, 0 where nothing was written; a ring's copy has one of its own a round. Shared memory
    is of one `home`: who accesses it is kept by its place there, which is quicker to look up than its number.
    """

    count = 0

    def __init__(
        self, clocks: Clocks, locations: int, granule: int, initialised: bool, home: Home | None = None
    ) -> None:
        Shadow.count += 1
        self.number = Shadow.count
        self.clocks, self.granule, self.home = clocks, granule, home
        self.known: _Clocks = clocks if home is None else home
        self._threads = clocks.total if home is None else home.count  # whose numbers, or places, are before the agents'
        clocks.shadows.add(self)
        self.initialised = None if initialised else np.zeros(locations, np.int64)
        self._writes, self._polls, self._updates = (_Accesses(locations) for _ in range(3))
        self._reads, self._fetches = _Accesses(locations), _Accesses(locations)  # by threads, and by agents
        self._later: list[tuple[Any, Any, int]] = []  # threads' reads that are yet to be noted, and how many
        self._waiting = 0
        # those that are atomic in one block
        self._near_polls, self._near_updates = _Accesses(locations), _Accesses(locations)
        self._shares = _Accesses(locations)  # stores that several units may make: all are kept, of one value

    def read(self, at: Any, by: Any, site: int, atomic: bool, _: int = 1, near: bool = False) -> Conflict | None:
        """Note reads of the locations `at` by the threads `by`, or return the first that races.

        `near`: they are atomic to the threads of their own block only.
        """
        at, by = _brief(at, self._by(by))
        found = self._writes.conflict(at, by, self.known) or self._shares.conflict(at, by, self.known)
        if found is None and not atomic:
            found = self._updates.conflict(at, by, self.known)
        elif found is None:
            updates = self._updates if near else self._near_updates
            found = updates.conflict(at, by, self.known, excused=self._neighbours)
        if found is not None:
            return self._told(found)
        if atomic:
            for polls in (self._polls, self._near_polls)[: 1 + near]:
                polls.record(at, by, self.known, site)
        elif self._agents(by):
            self._fetches.record(at, by, self.known, site)
        elif isinstance(at, slice) or isinstance(by, int):
            self._reads.record(at, by, self.known, site)
        else:
            self._note_later(at, by, site)
        return None

    def read_one(self, at: int, by: Any, site: int) -> Conflict | None:
        """Note plain reads of one location by the threads `by`, or return the first that races: as `read`, and quicker."""
        if self._updates.used or self._shares.used:
            return self.read(np.full(len(by), at), by, site, False)
        writes, mine = self._writes, self._by(by)
        if writes.used:
            thread = int(writes.thread[at])
            if thread >= 0:
                unknown = self.known.steps(mine, thread) < writes.clock[at]
                if np.count_nonzero(unknown) and (unknown & (mine != thread)).any():
                    return self.read(np.full(len(by), at), by, site, False)
        self._note_later(at, mine, site)
        return None

    def _by(self, numbers: Any) -> Any:
        """Return what threads, or agents, are kept by."""
        return numbers if self.home is None or not len(numbers) else self.clocks.places(self.home, numbers)

    def _told(self, found: Conflict) -> Conflict:
        """Return a conflict with the number of the other thread."""
        return found if self.home is None else replace(found, thread=int(self.home.numbers[found.thread]))

    def _note_later(self, at: Any, by: Any, site: int) -> None:
        """Keep reads until what threads know changes, or something is written: many are then noted at once."""
        if not self._later:
            self.clocks.behind.append(self)
        self._later.append((at, by, site))
        self._waiting += len(by)
        if self._waiting > _LATER:
            self.clocks.catch_up()

    def end(self) -> None:
        """Drop the reads that are yet to be noted: the memory is gone."""
        if self._later:
            self.clocks.behind.remove(self)
            self._later, self._waiting = [], 0

    def catch_up(self) -> None:
        """Note the reads that were kept, those of each home together."""
        homes: dict[int, list[tuple[Any, Any, int]]] = {}
        for read in self._later:
            homes.setdefault(0 if self.home is not None else self.clocks.home_of(read[1]), []).append(read)
        self._later, self._waiting = [], 0
        for kept in homes.values():
            self._note_all(kept)

    def _note_all(self, kept: list[tuple[Any, Any, int]]) -> None:
        at = np.concatenate([at if isinstance(at, np.ndarray) else np.full(len(by), at) for at, by, _ in kept])
        site = np.repeat([site for _, _, site in kept], [len(by) for _, by, _ in kept])
        self._reads.record(at, np.concatenate([by for _, by, _ in kept]), self.known, site)

    def _neighbours(self, one: Any, two: Any) -> Any:
        """Whether threads are of one block."""
        return one // self.clocks.threads == two // self.clocks.threads

    def _agents(self, by: Any) -> bool:
        """Whether agents make these accesses, not threads: never some of each."""
        return bool((by if isinstance(by, int) else by[0] if len(by) else 0) >= self._threads)

    def write(self, at: Any, by: Any, site: int, atomic: bool, stamp: int = 1, near: bool = False) -> Conflict | None:
        """Note writes of the locations `at` by the threads `by`, or return the first that races; `near` as of `read`."""
        if self._later:
            self.clocks.catch_up()
        clocks = self.known
        at, by = _brief(at, self._by(by))
        found = self._writes.conflict(at, by, clocks) or self._reads.conflict(at, by, clocks)
        found = found or self._shares.conflict(at, by, clocks) or self._fetches.conflict(at, by, clocks)
        if self.initialised is not None:
            self.initialised[at] = stamp
        if atomic:
            others = (self._updates, self._polls) if near else (self._near_updates, self._near_polls)
            for accesses in others:
                found = found or accesses.conflict(at, by, clocks, excused=self._neighbours)
            for updates in () if found else (self._updates, self._near_updates)[: 1 + near]:
                updates.record(at, by, clocks, site)
            return None if found is None else self._told(found)
        found = found or self._polls.conflict(at, by, clocks) or self._updates.conflict(at, by, clocks)
        found = found or self._again(at, by) or self._overwrite(at, by, site)
        return None if found is None else self._told(found)

    def _again(self, at: Any, by: Any) -> Conflict | None:
        """Return a location that an agent has written since it was issued: the copies of one group are in no order."""
        writes = self._writes
        if not writes.used or not self._agents(by):
            return None
        again = (writes.thread[at] == by) & (writes.clock[at] == self.known.own(by))
        if not np.count_nonzero(again):
            return None
        index = int(again.argmax())
        return Conflict(index, int(writes.thread[at][index]), int(writes.site[at][index]))

    def passed(self, one: int, two: int) -> tuple[int, int] | None:
        """Return the sites where a thread wrote a word atomically, and another read it so; None where there is no such word."""
        if self.home is not None:
            one, two = self.clocks.place(self.home, one), self.clocks.place(self.home, two)
            if one < 0 or two < 0:
                return None
        wrote = self._updates.of(one)
        read = np.maximum(self._polls.of(two), self._updates.of(two))
        both = np.flatnonzero((wrote >= 0) & (read >= 0))
        return (int(wrote[both[0]]), int(read[both[0]])) if len(both) else None

    def share(
        self, at: Any, by: Any, site: int, equal: Any, last: Any, excused: Any, stamp: int = 1
    ) -> Conflict | None:
        """Note stores that units may make beside one another, or return the first that races.

        `excused`: of two threads, whether they may. `equal`: whether a location has the value already; `last`: an entry that
        stores another value to the same location now, or the entry itself.
        """
        if self._later:
            self.clocks.catch_up()
        by, known = self._by(by), self.known
        if self.home is not None:
            excused = self._by_number(excused)
        earlier = (self._writes, self._reads, self._fetches, self._polls, self._updates)
        found = None
        for accesses in earlier:
            found = found or accesses.conflict(at, by, known)
        found = found or self._differ(at, by, site, equal, last, excused)
        if self.initialised is not None:
            self.initialised[at] = stamp
        if found is None:
            self._shares.record(at, by, known, site)
            if self.clocks.stale is not None:
                self.clocks.stale.forget(self.number, at)
        return None if found is None else self._told(found)

    def _by_number(self, excused: Any) -> Any:
        """Return a function of two threads' places that is one of their numbers."""
        assert self.home is not None
        numbers = self.home.numbers
        return lambda one, two: excused(numbers[one], numbers[two])

    def _differ(self, at: Any, by: Any, site: int, equal: Any, last: Any, excused: Any) -> Conflict | None:
        """Return two stores of different values, or of one unit's threads: one made before, or both now."""
        found = self._shares.conflict(at, by, self.known, excused=excused)
        other = np.flatnonzero(~equal)
        if found is None and len(other):
            found = self._shares.conflict(at[other], by[other], self.known)
            found = found and replace(found, index=int(other[found.index]))
        found = found or self._twice(at, by, site, last, excused)
        return found and replace(found, shared=True)

    def _twice(self, at: Any, by: Any, site: int, last: Any, excused: Any) -> Conflict | None:
        """Return two of these stores that are to one location: of different values, or by threads that are not excused."""
        bad = last != np.arange(len(at))
        if not np.count_nonzero(bad):
            order = np.argsort(at, kind="stable")
            twins = at[order][1:] == at[order][:-1]
            if np.count_nonzero(twins):
                twins &= ~excused(by[order][1:], by[order][:-1])
            if not np.count_nonzero(twins):
                return None
            index = int(twins.argmax())
            return Conflict(int(order[index]), int(by[order[index + 1]]), site)
        index = int(bad.argmax())
        return Conflict(index, int(by[last[index]]), site)

    def unfenced(self, at: Any, by: Any, kind: str) -> Conflict | None:
        """Return a plain access that an asynchronous one (of agents `by`) comes after, with no proxy fence between."""
        self.clocks.catch_up()
        at, by = _brief(at, self._by(by))
        found = None
        earlier = [self._writes, self._shares, self._updates]
        if kind != "read":
            earlier += [self._reads, self._fetches, self._polls]
        for accesses in earlier:
            found = found or accesses.conflict(at, by, self.known, unfenced=True)
        return None if found is None else self._told(found)

    def _overwrite(self, at: Any, by: Any, site: int) -> Conflict | None:
        writes = self._writes
        writes.start()
        writes.thread[at] = by
        lost = writes.thread[at] != by
        if np.count_nonzero(lost):
            index = int(lost.argmax())
            return Conflict(index, int(writes.thread[at][index]), site)
        writes.clock[at], writes.site[at] = self.known.own(by), site
        for accesses in (self._reads, self._fetches, self._polls, self._updates):
            accesses.forget(at)
        for accesses in (self._near_polls, self._near_updates, self._shares):
            accesses.forget(at)
        if self.clocks.stale is not None:
            spots = np.arange(at.start, at.stop) if isinstance(at, slice) else at
            self.clocks.stale.forget(self.number, spots)
        return None
