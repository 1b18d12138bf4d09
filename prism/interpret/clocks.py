"""Happens-before on the reference machine: a vector clock a thread, and one an asynchronous operation under way.

`Clocks` knows, for each thread, the latest step of each other thread that is ordered before it. A step is ordered by program
order, by the plan's barriers and mbarriers, and by release and acquire on one word; by nothing else.

An asynchronous operation is an agent: like a thread it has a row and a column. It starts after what the thread that issues it
had done, and nothing is ordered after it until somebody waits for it. A column is used again for an operation whose issuer
knows that the column's last one has ended: whoever knows of the later then rightly knows of the earlier.

With `proxies`, a row has a second half: the steps that a proxy fence made visible to asynchronous accesses, as far as they are
ordered before the thread's next one.

Most blocks learn of few others, or of none: a block has a span of threads that its own may know of, and only those columns, and
the agents', are looked at. Of a large table only what is looked at takes memory.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from weakref import WeakSet

import numpy as np

from prism.lang.diagnostics import Span

LIMIT = 16384
_LARGE = 4 << 20
"""Bytes from which on NumPy asks for memory by huge pages: of a table that is mostly empty, those are nearly all touched."""

_FEW = 9  # bounds of the parts of an array that are worth a loop


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the program that accesses memory."""

    span: Span
    kind: str
    perspective: object


@dataclass(slots=True)
class Agent:
    """The use of a column for asynchronous operations: who issued the last, what it is, and how many there were."""

    owner: int
    what: str
    generic: bool
    last: int = 0


class Clocks:
    """The vector clocks of all threads of a launch; threads are numbered through the grid, agents after them."""

    def __init__(self, blocks: int, threads: int, *, proxies: bool = False, near: bool = False) -> None:
        if blocks * threads > LIMIT:
            raise ValueError(
                f"check=True is for launches of at most {LIMIT} threads, not {blocks} x {threads}; use fewer blocks"
            )
        self.threads, self.total = threads, blocks * threads
        self.halves = 2 if proxies else 1
        self.agents: list[Agent] = []
        room = self.total + (self.total // 4 if proxies else 0)
        self._room = _zeros((room, self.halves, room))
        self._use()
        everyone = np.arange(self.total)
        self.known[everyone, everyone] = 1
        self._generic = np.ones(self.total + 1, bool)  # the last is for -1, nobody
        self._of: dict[tuple[int, bool], list[int]] = {}
        self.sites: list[Site] = []
        self._numbers: dict[int, int] = {}  # by a site's identity: `sites` keeps each
        self._spans = np.arange(blocks)[:, None] * threads + np.array([0, threads])  # a block's: first, behind the last
        self.near = near
        self._released: dict[
            tuple[int, int, int], Any
        ] = {}  # by memory, location, and the block that it is for, or -1: all
        self._shown: tuple[dict[int, Any], ...] = ({}, {})  # what a thread had done when it last met a release fence
        self._seen: tuple[dict[int, Any], ...] = (
            {},
            {},
        )  # what its relaxed reads since have seen released; of its own block
        self._fenced: Any = None  # what threads had done when they met a fence of the one order
        self.stale: Any = None  # `Versions`, where loads may see old values
        self.behind: list[Any] = []  # shadows that have yet to note some reads, before any thread learns or steps
        self.shadows: WeakSet[Any] = WeakSet()  # of all memory that is accessed by these threads

    def _use(self) -> None:
        """Take the rows and columns that there are, of those that there is room for."""
        used = self.total + len(self.agents)
        self._rows = self._room[:used, :, :used]
        self.known = self._rows[:, 0]

    def _columns(self, number: int) -> tuple[slice, ...]:
        """Return the columns of all that this thread, those of its block, and what they issued may know."""
        own = slice(*self._spans[number // self.threads])
        return (own, slice(self.total, None)) if self.agents else (own,)

    def _told(self, number: int, row: Any) -> list[slice]:
        """Return the columns of what a row knows, from now on known in the thread's block."""
        known = row[0].nonzero()[0]
        if not len(known):
            return []
        count = int(known.searchsorted(self.total))
        if count:
            span = self._spans[number // self.threads]
            span[:] = min(span[0], known[0]), max(span[1], known[count - 1] + 1)
        parts = (known[:count], known[count:])
        return [slice(part[0], part[-1] + 1) for part in parts if len(part)]

    @property
    def fenced(self) -> Any:
        """The steps that asynchronous accesses may rely on, as `known`."""
        return self._rows[:, self.halves - 1]

    def site(self, site: Site) -> int:
        """Return a number for a place in the program."""
        number = self._numbers.setdefault(id(site), len(self.sites))
        if number == len(self.sites):
            self.sites.append(site)
        return number

    def catch_up(self) -> None:
        """Let all reads be noted that were made since what threads know last changed."""
        behind, self.behind = self.behind, []
        for shadow in behind:
            shadow.catch_up()

    # -- barriers, and what is passed on ----------------------------------------------------------------------------------

    def join(self, block: int, members: Any) -> None:
        """Order what each row of `members` (threads of the block) did before what it does next."""
        self.meet(members + block * self.threads)

    def meet(self, numbers: Any) -> None:
        """Order what each row of threads did before what it does next."""
        self.catch_up()
        if not numbers.size:
            return
        spans = self._spans[numbers.min() // self.threads : numbers.max() // self.threads + 1]
        if len(spans) > 1:
            spans[:] = spans[:, 0].min(), spans[:, 1].max()
        one = _range(numbers[0]) if len(numbers) == 1 else None
        for columns in self._columns(int(numbers[0, 0])):
            part = self._rows[:, :, columns]
            if one is not None:
                part[one] = part[one].max(axis=0)
            else:
                part[numbers] = part[numbers].max(axis=1, keepdims=True)
        self._step(numbers.ravel())

    def meet_all(self) -> None:
        """Order what all threads of all blocks did before what they do next."""
        self.meet(np.arange(self.total)[None, :])

    def leave(self, numbers: Any) -> Any:
        """Return what these threads of a block have done and know, to be handed to who waits for it; they go on after it."""
        self.catch_up()
        row, one = np.zeros(self._rows.shape[1:], np.int32), _range(numbers)
        for columns in self._columns(int(numbers[0])):
            part = self._rows[:, :, columns]
            row[:, columns] = (part[numbers] if one is None else part[one]).max(axis=0)
        self._step(numbers)
        return row

    def take(self, numbers: Any, row: Any) -> None:
        """Order what was handed over before what these threads of a block do next."""
        self.catch_up()
        one = _range(numbers)
        for columns in self._told(int(numbers[0]), row):
            part, handed = self._rows[:, :, columns], row[:, columns]
            if one is not None:
                np.maximum(part[one], handed, out=part[one])
            else:
                part[numbers] = np.maximum(part[numbers], handed)

    def fence_proxy(self, numbers: Any) -> None:
        """Make what these threads did visible to asynchronous accesses ordered after this, and their own copies' data."""
        self.catch_up()
        if self.halves == 1:
            return
        self.fenced[numbers, numbers] = self.known[numbers, numbers]
        plain = np.flatnonzero(self._generic[self.total : -1]) + self.total
        if len(plain):
            at = np.ix_(numbers, plain)
            self.fenced[at] = np.maximum(self.fenced[at], self.known[at])
        self._step(numbers)

    # -- agents -----------------------------------------------------------------------------------------------------------

    def issue(self, units: Any, what: str, *, generic: bool) -> Any:
        """Return an agent for each row of threads, which start it together now; `generic`: it accesses memory as they do."""
        found = np.array([self._agent(int(unit[0]), what, generic) for unit in units], np.int64)
        self.renew(units, found)
        return found

    def renew(self, units: Any, agents: Any) -> None:
        """Let agents that are under way do something more, after what their threads did until now."""
        self.catch_up()
        for columns in self._columns(int(units[0, 0])):
            part = self._rows[:, :, columns]
            part[agents] = part[units[:, 0]] if units.shape[1] == 1 else part[units].max(axis=1)
        self.known[agents, agents] = [self.agents[int(a) - self.total].last for a in agents]
        self._step(units.ravel())

    def _agent(self, number: int, what: str, generic: bool) -> int:
        mine = self._of.setdefault((number, generic), [])
        for at in mine:
            agent = self.agents[at - self.total]
            if self.known[number, at] >= agent.last:
                break
        else:
            at = self.total + len(self.agents)
            agent = Agent(number, what, generic)
            if at == len(self._room):
                self._grow()
            self.agents.append(agent)
            self._use()
            self._generic = np.insert(self._generic, at, generic)
            mine.append(at)
        agent.last += 1
        agent.what = what
        return at

    def _grow(self) -> None:
        size = len(self._room)
        room = max(size + 64, size + size // 4)
        rows = _zeros((room, self.halves, room))
        threads = [slice(first, first + self.threads) for first in range(0, self.total, self.threads)]
        agents = [slice(at, at + 1) for at in range(self.total, size)]
        owners = [one.start for one in threads] + [agent.owner for agent in self.agents]
        for some, owner in zip([*threads, *agents], owners, strict=True):
            for columns in self._columns(owner):
                known = self._rows[some, :, columns]
                rows[some, :, columns][..., : known.shape[-1]] = known
        self._room = rows

    def last(self, agents: Any) -> Any:
        """Return the number of the last operation of each of some agents."""
        return np.array([self.agents[int(agent) - self.total].last for agent in agents], np.int64)

    def gather(self, agents: Any) -> Any:
        """Return what agents have done and know, to be handed to who waits for them."""
        return self._rows[agents].max(axis=0)

    def end(self, numbers: Any, agents: Any) -> None:
        """Order what each agent did before what its thread does next; the threads are of one block."""
        self.catch_up()
        bounds = [0, *(np.flatnonzero(agents[1:] != agents[:-1]) + 1), len(agents)]
        if len(bounds) <= _FEW:
            for first, stop in pairwise(bounds):
                self.take(numbers[first:stop], self._rows[agents[first]])
            return
        for columns in self._columns(int(numbers[0])):
            part = self._rows[:, :, columns]
            part[numbers] = np.maximum(part[numbers], part[agents])

    def who(self, number: int) -> tuple[int, int, str]:
        """Return block and thread of a number, and what the thread issued where it is an agent's."""
        what = ""
        if number >= self.total:
            agent = self.agents[number - self.total]
            number, what = agent.owner, agent.what
        return (*divmod(number, self.threads), what)

    def passed(self, one: int, two: int) -> tuple[Site, Site] | None:
        """Return where a thread wrote a word atomically and another read it so, which fences would make an order; or None."""
        found = (shadow.passed(one, two) for shadow in self.shadows)
        return next(((self.sites[write], self.sites[read]) for write, read in filter(None, found)), None)

    def plain(self, numbers: Any) -> Any:
        """Whether accesses of these are the generic proxy's: of threads, and of copies that are made as threads would."""
        if not self.agents:
            return np.ones(np.shape(numbers), bool)
        return self._generic[numbers]

    # -- words ------------------------------------------------------------------------------------------------------------

    def release(self, shadow: int, location: int, thread: int) -> None:
        """Let what `thread` did so far be seen by who acquires the location."""
        self.catch_up()
        self._hand(shadow, location, thread, self._rows[thread])
        self._step(np.array([thread]))

    def acquire(self, shadow: int, location: int, thread: int) -> None:
        """Order what was released at the location before what `thread` does next."""
        self.learn(thread, self.released(shadow, location, thread))

    def _hand(self, shadow: int, location: int, thread: int, row: Any, near: bool = False) -> None:
        """Leave at a location what a thread has done; `near`: for its own block."""
        own, all_ = (shadow, location, thread // self.threads), (shadow, location, -1)
        for key in (*((own,) if self.near else ()), *(() if near else (all_,))):
            self._released[key] = _wider(self._released.get(key), row)

    def released(self, shadow: int, location: int, thread: int, near: bool = False) -> Any:
        """Return what acquiring the location teaches a thread now, or None; `near`: only what its own block left there."""
        if not self.near:
            return self._released.get((shadow, location, -1))
        places = (thread // self.threads,) if near else (thread // self.threads, -1)
        rows = [self._released.get((shadow, location, place)) for place in places]
        return union_of([row for row in rows if row is not None])

    def learn(self, thread: int, row: Any) -> None:
        """Order what was handed over before what `thread` does next, in any block."""
        self.catch_up()
        if row is not None:
            for columns in self._told(thread, row):
                known = self._rows[thread, :, columns]
                np.maximum(known, row[:, columns], out=known)

    def fence(self, thread: int, order: str, near: bool = False) -> None:
        """Order by the relaxed accesses before an acquire fence, and after a release fence; `sc` fences have one order.

        `near`: by those of the thread's own block. Such fences have no order of their own.
        """
        self.catch_up()
        seen, one = self._seen[near].get(thread), order == "sc" and not near
        if one:
            seen = union_of([row for row in (seen, self._fenced) if row is not None])
        if order != "release":
            self.learn(thread, seen)
        if order != "acquire":
            self._shown[near][thread] = self._rows[thread].copy()
            if one:
                self._fenced = _wider(self._fenced, self._rows[thread])
            self._step(np.array([thread]))

    def fences(self, how: str) -> bool:
        """Whether there is anything that `saw` or `show` would note."""
        return bool(self._released if how == "saw" else any(self._shown))

    def saw(self, shadow: int, location: int, thread: int) -> None:
        """Note a relaxed read: what was released at the location is ordered before the next acquire fence."""
        own = self.released(shadow, location, thread, near=True) if self.near else None
        self.learnt(thread, self.released(shadow, location, thread), own)

    def learnt(self, thread: int, row: Any, near: Any = None) -> None:
        """Note what the next acquire fence of a thread orders before what comes after it; `near`: what one for its block does."""
        for seen, found in zip(self._seen, (row, near), strict=True):
            if found is not None:
                seen[thread] = _wider(seen.get(thread), found)

    def show(self, shadow: int, location: int, thread: int) -> None:
        """Note a relaxed write: it releases what the thread had done at its last release fence."""
        for near, shown in enumerate(self._shown):
            row = shown.get(thread)
            if row is not None:
                self._hand(shadow, location, thread, row, bool(near))

    def _step(self, numbers: Any) -> None:
        self.known[numbers, numbers] += 1


def _zeros(shape: tuple[int, ...]) -> Any:
    """Return a table of zeros, of which memory is taken as it is used."""
    size = 4 * int(np.prod(shape, dtype=np.int64))
    if size < _LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(shape, np.int32)
    return np.ndarray(shape, np.int32, mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def _range(numbers: Any) -> slice | None:
    """Return numbers as a slice, where each is one more than the one before."""
    first, last = int(numbers[0]), int(numbers[-1])
    rising = last - first == len(numbers) - 1 and bool((numbers[1:] > numbers[:-1]).all())
    return slice(first, last + 1) if rising else None


def _wider(one: Any, two: Any) -> Any:
    """Return the union of what two rows know; a row that is older may have fewer columns."""
    if one is None:
        return two.copy()
    long, short = (one, two) if one.shape[-1] >= two.shape[-1] else (two, one)
    long = long.copy()
    long[:, : short.shape[-1]] = np.maximum(long[:, : short.shape[-1]], short)
    return long


def union_of(rows: Sequence[Any]) -> Any:
    """Return the union of what rows know, or None of none."""
    found = None
    for row in rows:
        found = _wider(found, row)
    return found
