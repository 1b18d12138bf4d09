"""What the machine knows of each location of memory: who accessed it since its last write, and whether anything is in it.

A `Shadow` keeps, a location, the last write and every later access, and tells whether a new access is ordered after those that
it conflicts with; an access by an asynchronous operation also whether a proxy fence stands between.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from prism.interpret.accesses import Accesses, Conflict, Known
from prism.interpret.clocks import Clocks
from prism.interpret.homes import Home
from prism.interpret.lanes import anywhere, everywhere

_LATER = 1 << 18  # reads that are noted together, at most
_TOGETHER = 8  # threads that read one location, and locations, from which on they are noted by row and column
_MANY = 256  # accesses at a time that are worth a look at whether they are of a slice, or by one


def _brief(at: Any, by: Any) -> tuple[Any, Any]:
    """Return many locations as a slice, and their threads as one number, where they are that."""
    if len(at) < _MANY:
        return at, by
    first, last = int(at[0]), int(at[-1])
    if last - first == len(at) - 1 and everywhere(at[1:] > at[:-1]):  # rising so far in so many steps: each is one
        at = slice(first, last + 1)
    return at, int(by[0]) if by[0] == by[-1] and everywhere(by == by[0]) else by


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
        self._locations = locations
        self.clocks, self.granule, self.home = clocks, granule, home
        self.known: Known = clocks if home is None else home
        self._threads = clocks.total if home is None else home.count  # whose numbers, or places, are before the agents'
        clocks.shadows.add(self)
        self.initialised = None if initialised else np.zeros(locations, np.int64)
        self._writes, self._polls, self._updates = (Accesses(locations) for _ in range(3))
        self._reads, self._fetches = Accesses(locations), Accesses(locations)  # by threads, and by agents
        self._later: list[tuple[Any, Any, int]] = []  # threads' reads that are yet to be noted, and how many
        self._waiting = 0
        # Lanes that read one location last, of which block (its first thread), and what they are kept by.
        self._mine: tuple[Any, int, Any] = (None, 0, None)
        # those that are atomic in one block
        self._near_polls, self._near_updates = Accesses(locations), Accesses(locations)
        self._shares = Accesses(locations)  # stores that several units may make: all are kept, of one value
        self._published = Accesses(locations)  # words, by threads
        self._reductions = Accesses(locations)  # of agents, which are atomic to one another alone

    def read(self, at: Any, by: Any, site: int, atomic: bool, _: int = 1, near: bool = False) -> Conflict | None:
        """Note reads of the locations `at` by the threads `by`, or return the first that races.

        `near`: they are atomic to the threads of their own block only.
        """
        at, by = _brief(at, self._by(by))
        found = None
        for accesses in (self._writes, self._shares, self._reductions):
            found = found or accesses.conflict(at, by, self.known)
        if found is None and not atomic:
            found = self._updates.conflict(at, by, self.known)
        elif found is None:
            updates = self._updates if near else self._near_updates
            found = updates.conflict(at, by, self.known, excused=self._neighbours)
        if found is not None:
            return self._name_thread(found)
        if atomic:
            for polls in (self._polls, self._near_polls)[: 1 + near]:
                polls.record(at, by, self.known, site)
        elif self._agents(by):
            self._fetches.record(at, by, self.known, site)
        elif isinstance(at, slice) or isinstance(by, int):
            self._reads.record(at, by, self.known, site)
        else:  # a thread's step and knowledge are the same until `catch_up`, so what is noted then is what held now
            self._note_later(at, by, site)
        return None

    def read_one(self, at: int, lanes: Any, first: int, site: int) -> Conflict | None:
        """Note plain reads of one location by threads of a block, or return the first that races: as `read`, and quicker.

        `lanes`: which threads, rising; `first`: the number of the block's first.
        """
        kept, start, mine = self._mine
        if kept is not lanes or start != first:  # the same array for the same threads: `_note_all` goes by that
            ahead = first if self.home is None else first - self.home.first
            mine = lanes + ahead if ahead else lanes
            self._mine = lanes, first, mine
        if self._updates.used or self._shares.used or self._reductions.used or not self._ordered(at, mine):
            return self.read(np.full(len(lanes), at), lanes + first, site, False)
        self._note_later(at, mine, site)
        return None

    def _ordered(self, at: int, mine: Any) -> bool:
        """Whether the last write of a location is ordered before what these threads do, or is one's own."""
        writes = self._writes
        thread = writes.thread.item(at) if writes.used else -1
        if thread < 0 or not len(mine):
            return True
        clock, common = writes.clock.item(at), self.known.common_of(mine.item(0), mine.item(-1))
        if common is not None and common.item(thread) >= clock:
            return True
        unknown = self.known.steps(mine, thread) < clock
        return not anywhere(unknown) or not anywhere(unknown & (mine != thread))

    def _by(self, numbers: Any) -> Any:
        """Return what threads, or agents, are kept by."""
        return numbers if self.home is None or not len(numbers) else self.clocks.places(self.home, numbers)

    def _name_thread(self, found: Conflict) -> Conflict:
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
        """Note reads: those of one location by several threads together with all others by the same ones."""
        together: dict[int, list[tuple[int, Any, int]]] = {}
        rest: list[tuple[Any, Any, int]] = []
        for read in kept:
            if isinstance(read[0], int) and len(read[1]) >= _TOGETHER:
                together.setdefault(id(read[1]), []).append(read)
            else:
                rest.append(read)
        for reads in together.values():
            if len(reads) < _TOGETHER:
                rest += reads
                continue
            sites = {at: site for at, _, site in reads}
            at, site = (np.fromiter(numbers, np.int64, len(sites)) for numbers in (sites, sites.values()))
            self._reads.record_together(at, reads[0][1], self.known, site)
        if rest:
            self._note_each(rest)

    def _note_each(self, kept: list[tuple[Any, Any, int]]) -> None:
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
        if atomic and self._agents(by):
            return self._reduce(at, by, site, found)
        found = found or self._reductions.conflict(at, by, clocks)
        if atomic:
            others = (self._updates, self._polls) if near else (self._near_updates, self._near_polls)
            for accesses in others:
                found = found or accesses.conflict(at, by, clocks, excused=self._neighbours)
            for updates in () if found else (self._updates, self._near_updates)[: 1 + near]:
                updates.record(at, by, clocks, site)
            return None if found is None else self._name_thread(found)
        found = found or self._polls.conflict(at, by, clocks) or self._updates.conflict(at, by, clocks)
        for accesses in (self._writes, self._reductions):
            found = found or self._find_rewrite(at, by, accesses)
        found = found or self._overwrite(at, by, site)
        return None if found is None else self._name_thread(found)

    def publish(self, at: Any, by: Any, site: int) -> Conflict | None:
        """Note that threads publish words, or return the first that two publish unordered."""
        by, order = self._by(by), np.argsort(at, kind="stable")
        again = np.flatnonzero(at[order][1:] == at[order][:-1])
        if len(again):
            first, second = order[again[0]], order[again[0] + 1]
            return self._name_thread(Conflict(int(second), int(by[first]), site))
        found = self._published.conflict(at, by, self.known)
        if found is not None:
            return self._name_thread(found)
        self._published.record(at, by, self.known, site)
        return None

    def _reduce(self, at: Any, by: Any, site: int, found: Conflict | None) -> Conflict | None:
        """Note updates by agents, which no access by a thread is atomic to; `found`: what they race with already."""
        for accesses in (self._updates, self._polls, self._near_updates, self._near_polls):
            found = found or accesses.conflict(at, by, self.known)
        found = found or self._find_rewrite(at, by, self._writes)
        if found is not None:
            return self._name_thread(found)
        self._reductions.record(at, by, self.known, site)
        return None

    def _find_rewrite(self, at: Any, by: Any, earlier: Accesses) -> Conflict | None:
        """Return a location that an agent has written since it was issued: the copies of one group are in no order."""
        if not earlier.used or not self._agents(by):
            return None
        again = (earlier.thread[at] == by) & (earlier.clock[at] == self.known.own(by))
        if not anywhere(again):
            return None
        index = int(again.argmax())
        return Conflict(index, int(earlier.thread[at][index]), int(earlier.site[at][index]))

    def message_sites(self, one: int, two: int) -> tuple[int, int] | None:
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
        earlier = (self._writes, self._reads, self._fetches, self._polls, self._updates, self._reductions)
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
        return None if found is None else self._name_thread(found)

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
        found = found or self._find_twice(at, by, site, last, excused)
        return found and replace(found, shared=True)

    def _find_twice(self, at: Any, by: Any, site: int, last: Any, excused: Any) -> Conflict | None:
        """Return two of these stores that are to one location: of different values, or by threads that are not excused."""
        bad = last != np.arange(len(at))
        if not anywhere(bad):
            order = np.argsort(at, kind="stable")
            twins = at[order][1:] == at[order][:-1]
            if anywhere(twins):
                twins &= ~excused(by[order][1:], by[order][:-1])
            if not anywhere(twins):
                return None
            index = int(twins.argmax())
            return Conflict(int(order[index]), int(by[order[index + 1]]), site)
        index = int(bad.argmax())
        return Conflict(index, int(by[last[index]]), site)

    def find_unfenced(self, at: Any, by: Any, kind: str) -> Conflict | None:
        """Return a plain access that an asynchronous one (of agents `by`) comes after, with no proxy fence between."""
        self.clocks.catch_up()
        at, by = _brief(at, self._by(by))
        found = None
        earlier = [self._writes, self._shares, self._updates]
        if kind != "read":
            earlier += [self._reads, self._fetches, self._polls]
        for accesses in earlier:
            found = found or accesses.conflict(at, by, self.known, unfenced=True)
        for accesses in earlier:
            found = found or self._find_elsewhere(at, accesses)
        return None if found is None else self._name_thread(found)

    def _find_elsewhere(self, at: Any, accesses: Accesses) -> Conflict | None:
        """Return a thread's access, where its fences since have been for other memory than that."""
        if not accesses.used:
            return None
        thread, since = accesses.thread[at], accesses.clock[at]
        some = np.flatnonzero((thread >= 0) & (thread < self._threads))
        where = np.arange(at.start, at.stop) if isinstance(at, slice) else at
        late = self._last_shown(where[some], thread[some]) < since[some]
        if not anywhere(late):
            return None
        index = int(some[int(late.argmax())])
        return Conflict(index, int(thread[index]), int(accesses.site[at][index]))

    def _last_shown(self, at: Any, threads: Any) -> Any:
        """Return at which step each thread made its last fence for the memory of a location; of ended blocks, a late one."""
        clocks = self.clocks
        if self.home is not None:
            own, far = (clocks.last_shown(space, self.home)[threads] for space in ("shared", "cluster"))
            return np.where(
                at // (self._locations * clocks.threads // self.home.count) == threads // clocks.threads, own, far
            )
        found = np.full(len(threads), np.iinfo(np.int32).max)
        for index in np.unique(threads // clocks.room):
            home, here = clocks.home_at(int(index)), threads // clocks.room == index
            if home is not None:
                found[here] = clocks.last_shown("global", home)[threads[here] - home.first]
        return found

    def _overwrite(self, at: Any, by: Any, site: int) -> Conflict | None:
        writes = self._writes
        writes.start()
        writes.thread[at] = by
        # Of two entries for one location NumPy keeps one: who isn't there wrote beside who is.
        lost = writes.thread[at] != by
        if anywhere(lost):
            index = int(lost.argmax())
            return Conflict(index, int(writes.thread[at][index]), site)
        # The write is ordered after all accesses before it, or it had been reported. So it stands for them.
        writes.clock[at], writes.site[at] = self.known.own(by), site
        for accesses in (self._reads, self._fetches, self._polls, self._updates):
            accesses.forget(at)
        for accesses in (self._near_polls, self._near_updates, self._shares, self._reductions):
            accesses.forget(at)
        if self.clocks.stale is not None:
            self.clocks.stale.forget(self.number, at)
        return None
