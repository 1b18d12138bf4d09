"""Happens-before on the reference machine: a vector clock a thread, and one an asynchronous operation under way.

`Clocks` knows, for each thread, the latest step of each other thread that is ordered before it. A step is ordered by program
order, by the plan's barriers and mbarriers, and by release and acquire on one word; by nothing else.

An asynchronous operation is an agent: like a thread it has a row and a column. It starts after what the thread that issues it
had done, and nothing is ordered after it until somebody waits for it. A column is used again for an operation whose issuer
knows that the column's last one has ended: whoever knows of the later then rightly knows of the earlier.

With `proxies`, a row has a second half: the steps that a proxy fence made visible to asynchronous accesses, as far as they are
ordered before the thread's next one.

Threads are numbered through the grid, agents after them, in the order in which they are first used. The tables are kept by block,
or cluster (`homes`), while it runs: a launch may have any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from weakref import WeakSet

import numpy as np

from prism.interpret.homes import Home, Row, make_home, union_of
from prism.interpret.lanes import anywhere, everywhere
from prism.lang.diagnostics import Span
from prism.lang.keep.bases import Value

LIMIT = 1 << 30
"""Threads of a checked launch: the numbers of threads, and of what they have under way, are of 32 bits."""

SPACES = ("shared", "cluster", "global")
"""Memory that proxy fences are for."""

_FEW = 9  # bounds of the parts of an array that are worth a loop


class Site(Value):
    """A place in the program that accesses memory."""

    span: Span
    kind: str
    perspective: object


@dataclass(slots=True)
class Agent:
    """The use of a column for asynchronous operations: who issued the last, what it is, and how many there were."""

    owner: int
    what: str
    last: int = 0


class Clocks:
    """The vector clocks of all threads of a launch of blocks that run `cluster` at a time."""

    def __init__(
        self, blocks: int, threads: int, *, proxies: bool = False, near: bool = False, cluster: int = 1
    ) -> None:
        if blocks * threads > LIMIT:
            raise ValueError(
                f"check=True is for launches of at most {LIMIT} threads, not {blocks} x {threads}; use fewer blocks"
            )
        self.threads, self.total, self.room = threads, blocks * threads, cluster * threads
        self.halves = 2 if proxies else 1
        self.agents: list[Agent] = []
        self._homes: dict[int, Home] = {}
        self._last_shown: dict[tuple[str, int], Any] = {}
        self._where = np.zeros((3, 16), np.int32)  # of each agent: its home, its place there, and whether it is generic
        self.sites: list[Site] = []
        self._numbers: dict[int, int] = {}  # by a site's identity: `sites` keeps each
        self.near = near  # whether fences, or accesses, are of one block
        self._released: dict[
            tuple[int, int, int], Row
        ] = {}  # by memory, location, and the block that it is for; -1: all
        # Of each thread, for all blocks and for its own: what it had done when it last met a release fence, and what its
        # relaxed reads since have seen released.
        self._shown: tuple[dict[int, Row], dict[int, Row]] = ({}, {})
        self._seen: tuple[dict[int, Row], dict[int, Row]] = ({}, {})
        self._fenced: Row | None = None  # what threads had done when they met a fence of the one order
        self.stale: Any = None  # `Versions`, where loads may see old values
        self.behind: list[Any] = []  # shadows that have yet to note some reads, before any thread learns or steps
        self.shadows: WeakSet[Any] = WeakSet()  # of all memory that is accessed by these threads

    # -- who knows what ---------------------------------------------------------------------------------------------------

    def home(self, block: int) -> Home:
        """Return the home of a block's threads."""
        return self._home(block * self.threads)

    def home_at(self, index: int) -> Home | None:
        """Return a home by its index; None: it has not begun, or has ended."""
        return self._homes.get(index)

    def place(self, home: Home, number: int) -> int:
        """Return the place of a thread in a home; -1: it is of another."""
        return number - home.first if home.first <= number < home.first + home.count else -1

    def _home(self, number: int) -> Home:
        """Return the home of a thread, or an agent."""
        index = number // self.room if number < self.total else int(self._where[0, number - self.total])
        home = self._homes.get(index)
        if home is None:
            first = index * self.room
            home = self._homes[index] = make_home(index, first, min(self.room, self.total - first), self.halves)
        return home

    def home_of(self, by: Any) -> int:
        """Return which home these threads are of."""
        return int(by.item(0)) // self.room if len(by) else 0

    def places(self, home: Home, by: Any) -> Any:
        """Return the places of threads, or of agents (not some of each), in their home."""
        first = by if isinstance(by, int) else int(by.item(0))
        return by - home.first if first < self.total else self._where[1][by - self.total]

    def leave_home(self, block: int) -> None:
        """Drop the tables of a block, or a cluster, that has ended. What was handed to others stays."""
        self.catch_up()
        index = block * self.threads // self.room
        self._homes.pop(index, None)
        for space in SPACES:
            self._last_shown.pop((space, index), None)

    def steps(self, by: Any, of: Any, half: int = 0) -> Any:
        """Return the latest step that each of `by`, or the one, knows of each of `of`; -1 is nobody.

        `by` are all threads, or all agents, of one home. `half`: 1 for the steps that asynchronous accesses may rely on.
        """
        if not isinstance(by, int) and not by.size:
            return np.zeros(np.broadcast_shapes(by.shape, np.shape(of)), np.int32)
        home = self._home(by if isinstance(by, int) else by.item(0))
        mine, there = self.places(home, by), of - home.first
        if isinstance(there, int):
            if not 0 <= there < home.count:
                return self.steps(by, np.array([of]), half)
            return home.table[mine, half, there]
        other = (there < 0) | (there >= home.count)
        if not anywhere(other):
            return home.table[mine, half, there]
        elsewhere = np.flatnonzero(other)
        there[elsewhere] = self._agents_at(home, of[elsewhere])
        found = home.table[mine, half, there]
        if len(home.pool) > 1:
            self._put_other_homes(home, mine, of, (there < 0) & (of >= 0), half, found)
        return found

    def _agents_at(self, home: Home, of: Any) -> Any:
        """Return the places of those that are agents of a home, and of others its last column, where nobody is."""
        if home.used == home.count:
            return -1
        number = of - self.total
        index, place, _ = self._where[:, np.maximum(number, 0)]
        return np.where((number >= 0) & (index == home.index), place, -1)

    @staticmethod
    def _put_other_homes(home: Home, mine: Any, of: Any, other: Any, half: int, found: Any) -> None:
        """Put in what is known of threads and agents of other homes."""
        rows, of, other = np.broadcast_arrays(home.far[mine], of, other)
        for k in np.unique(rows[other]):
            if k:
                far = home.pool[k][half]
                chosen = other & (rows == k) & (of < len(far))
                found[chosen] = far[of[chosen]]

    def own(self, by: Any) -> Any:
        """Return the step that each of `by`, or the one, is at."""
        if not isinstance(by, int) and not by.size:
            return np.zeros(by.shape, np.int32)
        home = self._home(by if isinstance(by, int) else by.item(0))
        mine = self.places(home, by)
        return home.table[mine, 0, mine]

    def common_of(self, first: int, last: int) -> Any:
        """Return a row that all of these know: there is none over several homes."""
        return None

    def row(self, number: int) -> Any:
        """Return what one knows of all threads and agents of the launch."""
        return self.steps(number, np.arange(self.total + len(self.agents)))

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
        home = self._home(int(numbers[0, 0]))
        if home.first <= numbers.min() and numbers.max() < home.first + home.count:
            home.meet(numbers - home.first)
        else:
            for row in numbers:
                single = [row[k : k + 1] for k in range(len(row))]
                every = union_of(map(self._told, single))
                assert every is not None
                for one in single:
                    self._learn(one, every)
        self._step(numbers.ravel())

    def meet_all(self) -> None:
        """Order what all threads of all blocks did before what they do next."""
        self.catch_up()
        homes = [self._home(first) for first in range(0, self.total, self.room)]
        every = np.zeros((self.halves, self.total + len(self.agents)), np.int32)
        for home in homes:
            threads = np.arange(home.count)
            columns = home.numbers[: home.used]
            every[:, columns] = np.maximum(every[:, columns], home.known[: home.count].max(axis=0))
            far = home.far_of(threads)
            if far is not None:
                np.maximum(every[:, : far.shape[-1]], far, out=every[:, : far.shape[-1]])
        for home in homes:
            home.table[: home.count, :, : home.used] = every[:, home.numbers[: home.used]]
            home.learn_far(np.arange(home.count), every, everything=True)
            self._step(home.first + np.arange(home.count))

    def leave(self, numbers: Any) -> Row:
        """Return what these threads of a block have done and know, to be handed to who waits for it; they go on after it."""
        self.catch_up()
        row = self._told(numbers)
        self._step(numbers)  # what they do after they arrived is not in the row, so it must have a later step
        return row

    def take(self, numbers: Any, row: Row) -> None:
        """Order what was handed over before what these threads of a block do next."""
        self.catch_up()
        self._learn(numbers, row)

    def _told(self, numbers: Any) -> Row:
        home = self._home(int(numbers[0]))
        return home.row(self.places(home, numbers))

    def _learn(self, numbers: Any, row: Row) -> None:
        home = self._home(int(numbers[0]))
        home.learn(self.places(home, numbers), row)

    def fence_proxy(self, numbers: Any, spaces: Sequence[str] = SPACES) -> None:
        """Make what these threads did visible to asynchronous accesses ordered after this, and their own copies' data.

        `spaces`: of which memory: the block's own `shared` memory, that of others in its `cluster`, `global` memory.
        """
        self.catch_up()
        if self.halves == 1:
            return
        home = self._home(int(numbers[0]))
        places = self.places(home, numbers)
        home.table[places, 1, places] = home.table[places, 0, places]  # of plain accesses only a thread's own
        for space in spaces:
            self.last_shown(space, home)[places] = home.table[places, 0, places]
        generic = self._where[2][: len(self.agents)] != 0
        mine = home.numbers[home.count : home.used] - self.total
        plain = home.count + np.flatnonzero(generic[mine])
        if len(plain):
            known, visible = home.table[:, 0], home.table[:, 1]
            at = np.ix_(places, plain)
            visible[at] = np.maximum(visible[at], known[at])
        if len(home.pool) > 1 and anywhere(generic):
            rows = home.far[places]
            seen = [(places[rows == k], self._shown_far(home.pool[k], generic)) for k in np.unique(rows) if k]
            for chosen, far in seen:
                home.learn_far(chosen, far, everything=True)
        self._step(numbers)

    def last_shown(self, space: str, home: Home) -> Any:
        """Return the step of each thread of a home at its last fence for some memory."""
        found = self._last_shown.get((space, home.index))
        if found is None:
            found = self._last_shown[space, home.index] = np.zeros(home.count, np.int32)
        return found

    def _shown_far(self, far: Any, generic: Any) -> Any:
        """Return a far row in which the generic agents' steps are visible to asynchronous accesses."""
        far, columns = far.copy(), self.total + np.flatnonzero(generic)
        columns = columns[columns < far.shape[-1]]
        far[1, columns] = np.maximum(far[1, columns], far[0, columns])
        return far

    # -- agents -----------------------------------------------------------------------------------------------------------

    def issue(self, units: Any, what: str, *, generic: bool) -> Any:
        """Return an agent for each row of threads, which start it together now; `generic`: it accesses memory as they do."""
        found = np.array([self._agent(int(unit[0]), what, generic) for unit in units], np.int64)
        self.renew(units, found)
        return found

    def renew(self, units: Any, agents: Any) -> None:
        """Let agents that are under way do something more, after what their threads did until now."""
        self.catch_up()
        home = self._home(int(units[0, 0]))
        threads, places = units - home.first, self.places(home, agents)
        part = home.known
        part[places] = part[threads[:, 0]] if units.shape[1] == 1 else part[threads].max(axis=1)
        if len(home.pool) > 1:
            for at, row in zip(places, threads, strict=True):
                home.learn_far(np.array([at]), home.far_of(row), everything=True)
        # An agent's own step is the number of its operation. Its threads go on to their next step: what they do from here on
        # is beside the operation, not before it.
        home.table[places, 0, places] = self.last(agents)
        self._step(units.ravel())

    def _agent(self, number: int, what: str, generic: bool) -> int:
        home = self._home(number)
        mine = home.agents.setdefault((number, generic), [])
        for at in mine:
            agent = self.agents[at - self.total]
            # Only where the issuer knows of the last one's end: else who knows of the new one (a greater number in the same
            # column) would seem to know of the old one too.
            if home.table[number - home.first, 0, self._where[1, at - self.total]] >= agent.last:
                break
        else:
            at, agent = self.total + len(self.agents), Agent(number, what)
            if len(self.agents) == self._where.shape[1]:
                self._where = np.concatenate([self._where, np.zeros_like(self._where)], axis=1)
            self._where[:, len(self.agents)] = home.index, home.add(at, generic), generic
            self.agents.append(agent)
            mine.append(at)
        agent.last += 1
        agent.what = what
        return at

    def last(self, agents: Any) -> Any:
        """Return the number of the last operation of each of some agents."""
        return np.array([self.agents[int(agent) - self.total].last for agent in agents], np.int64)

    def gather(self, agents: Any) -> Row:
        """Return what agents of a home have done and know, to be handed to who waits for them."""
        return self._told(agents)

    def end(self, numbers: Any, agents: Any) -> None:
        """Order what each agent did before what its thread does next; the threads are of one block."""
        self.catch_up()
        bounds = [0, *(np.flatnonzero(agents[1:] != agents[:-1]) + 1), len(agents)]
        home = self._home(int(numbers[0]))
        if len(bounds) <= _FEW or len(home.pool) > 1:
            for first, stop in pairwise(bounds):
                self._learn(numbers[first:stop], self._told(agents[first : first + 1]))
            return
        part, threads, places = home.known, numbers - home.first, self.places(home, agents)
        part[threads] = np.maximum(part[threads], part[places])

    def who(self, number: int) -> tuple[int, int, str]:
        """Return block and thread of a number, and what the thread issued where it is an agent's."""
        what = ""
        if number >= self.total:
            agent = self.agents[number - self.total]
            number, what = agent.owner, agent.what
        return (*divmod(number, self.threads), what)

    def message_sites(self, one: int, two: int) -> tuple[Site, Site] | None:
        """Return where a thread wrote a word atomically and another read it so, which fences would make an order; or None."""
        found = (shadow.message_sites(one, two) for shadow in self.shadows)
        return next(((self.sites[write], self.sites[read]) for write, read in filter(None, found)), None)

    def plain(self, numbers: Any) -> Any:
        """Whether accesses of these are the generic proxy's: of threads, and of copies that are made as threads would."""
        found = np.ones(np.shape(numbers), bool)
        if self.agents and anywhere(agents := numbers >= self.total):
            found[agents] = self._where[2][numbers[agents] - self.total] != 0
        return found

    # -- words ------------------------------------------------------------------------------------------------------------

    def release(self, shadow: int, location: int, thread: int) -> None:
        """Let what `thread` did so far be seen by who acquires the location."""
        self.catch_up()
        number = np.array([thread])
        self._hand(shadow, location, thread, self._told(number))
        self._step(number)

    def acquire(self, shadow: int, location: int, thread: int) -> None:
        """Order what was released at the location before what `thread` does next."""
        self.learn(thread, self.find_release(shadow, location, thread))

    def _hand(self, shadow: int, location: int, thread: int, row: Row, near: bool = False) -> None:
        """Leave at a location what a thread has done; `near`: for its own block."""
        own, all_ = (shadow, location, thread // self.threads), (shadow, location, -1)
        for key in (*((own,) if self.near else ()), *(() if near else (all_,))):
            before = self._released.get(key)
            self._released[key] = row if before is None else before.join(row)

    def find_release(self, shadow: int, location: int, thread: int, near: bool = False) -> Row | None:
        """Return what acquiring the location teaches a thread now, or None; `near`: only what its own block left there."""
        if not self.near:
            return self._released.get((shadow, location, -1))
        # A block's own place has what was released with its scope; what was released to all is for the block too.
        places = (thread // self.threads,) if near else (thread // self.threads, -1)
        return union_of(self._released.get((shadow, location, place)) for place in places)

    def learn(self, thread: int, row: Row | None) -> None:
        """Order what was handed over before what `thread` does next, in any block."""
        self.catch_up()
        if row is not None:
            self._learn(np.array([thread]), row)

    def fence(self, thread: int, order: str, near: bool = False) -> None:
        """Order by the relaxed accesses before an acquire fence, and after a release fence; `sc` fences have one order.

        `near`: by those of the thread's own block. Such fences have no order of their own.
        """
        self.catch_up()
        seen, one = self._seen[near].get(thread), order == "sc" and not near
        if one:
            seen = union_of([seen, self._fenced])
        # Acquire before release: what the thread has just learnt is in what it shows, so orders go on through a third thread.
        if order != "release":
            self.learn(thread, seen)
        if order != "acquire":
            shown = self._shown[near][thread] = self._told(np.array([thread]))
            if one:
                self._fenced = union_of([self._fenced, shown])
            self._step(np.array([thread]))

    def fences(self, how: str) -> bool:
        """Whether there is anything that `saw` or `show` would note."""
        return bool(self._released if how == "saw" else any(self._shown))

    def saw(self, shadow: int, location: int, thread: int) -> None:
        """Note a relaxed read: what was released at the location is ordered before the next acquire fence."""
        own = self.find_release(shadow, location, thread, near=True) if self.near else None
        self.learnt(thread, self.find_release(shadow, location, thread), own)

    def learnt(self, thread: int, row: Row | None, near: Row | None = None) -> None:
        """Note what the next acquire fence of a thread orders before what comes after it; `near`: what one for its block does."""
        for seen, found in zip(self._seen, (row, near), strict=True):
            if found is not None:
                before = seen.get(thread)
                seen[thread] = found if before is None else before.join(found)

    def show(self, shadow: int, location: int, thread: int) -> None:
        """Note a relaxed write: it releases what the thread had done at its last release fence."""
        for near, shown in enumerate(self._shown):
            row = shown.get(thread)
            if row is not None:
                self._hand(shadow, location, thread, row, bool(near))

    def _step(self, numbers: Any) -> None:
        """Let threads go on to their next step; they may be of several homes."""
        home = self._home(int(numbers[0]))
        places = numbers - home.first
        inside = (places >= 0) & (places < home.count)
        if not everywhere(inside):
            self._step(numbers[~inside])
            places = places[inside]
        home.table[places, 0, places] += 1
