"""Happens-before on the reference machine: a vector clock a thread, and one an asynchronous operation under way.

`Clocks` knows, for each thread, the latest step of each other thread that is ordered before it. A step is ordered by program
order, by the plan's barriers and mbarriers, and by release and acquire on one word; by nothing else.

An asynchronous operation is an agent: like a thread it has a row and a column. It starts after what the thread that issues it
had done, and nothing is ordered after it until somebody waits for it. A column is used again for an operation whose issuer
knows that the column's last one has ended: whoever knows of the later then rightly knows of the earlier.

With `proxies`, a row has a second half: the steps that a proxy fence made visible to asynchronous accesses, as far as they are
ordered before the thread's next one.
"""

from __future__ import annotations

from collections.abc import Sequence
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


@dataclass(slots=True)
class Agent:
    """The use of a column for asynchronous operations: who issued the last, what it is, and how many there were."""

    owner: int
    what: str
    generic: bool
    last: int = 0


class Clocks:
    """The vector clocks of all threads of a launch; threads are numbered through the grid, agents after them."""

    def __init__(self, blocks: int, threads: int, *, proxies: bool = False, cluster: int = 1) -> None:
        if blocks * threads > LIMIT:
            raise ValueError(
                f"check=True is for launches of at most {LIMIT} threads, not {blocks} x {threads}; use fewer blocks"
            )
        self.threads, self.total = threads, blocks * threads
        self.halves = 2 if proxies else 1
        self._rows = np.zeros((self.total, self.halves, self.total), np.int32)
        self.known = self._rows[:, 0]
        np.fill_diagonal(self.known, 1)
        self.agents: list[Agent] = []
        self._generic = np.ones(self.total + 1, bool)  # the last is for -1, nobody
        self._of: dict[tuple[int, bool], list[int]] = {}
        self.sites: list[Site] = []
        self._numbers: dict[int, int] = {}  # by a site's identity: `sites` keeps each
        self._foreign = np.full(blocks, cluster > 1)
        self._released: dict[tuple[int, int], Any] = {}
        self._shown: dict[int, Any] = {}  # what a thread had done when it last met a release fence
        self._seen: dict[int, Any] = {}  # what its relaxed reads since have seen released
        self._fenced: Any = None  # what threads had done when they met a fence of the one order
        self.stale: Any = None  # `Versions`, where loads may see old values

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

    # -- barriers, and what is passed on ----------------------------------------------------------------------------------

    def join(self, block: int, members: Any) -> None:
        """Order what each row of `members` (threads of the block) did before what it does next."""
        first = block * self.threads
        self.meet(members + first, slice(None) if self._foreign[block] else slice(first, first + self.threads))

    def meet(self, numbers: Any, own: slice = slice(None)) -> None:
        """Order what each row of threads did before what it does next; all that they know is in `own`, or of agents."""
        for columns in (own, slice(self.total, None)) if self.agents and own != slice(None) else (own,):
            part = self._rows[:, :, columns]
            part[numbers] = part[numbers].max(axis=1, keepdims=True)
        self._step(numbers.ravel())

    def meet_all(self) -> None:
        """Order what all threads of all blocks did before what they do next."""
        self._foreign[:] = True
        self.meet(np.arange(self.total)[None, :])

    def leave(self, numbers: Any) -> Any:
        """Return what these threads have done and know, to be handed to who waits for it; they go on after it."""
        row = self._rows[numbers].max(axis=0)
        self._step(numbers)
        return row

    def take(self, numbers: Any, row: Any) -> None:
        """Order what was handed over before what these threads do next."""
        known = row.shape[-1]  # columns made since are unknown to it
        if len(numbers) > 1 and bool((numbers[1:] - numbers[:-1] == 1).all()):
            rows = self._rows[numbers[0] : numbers[-1] + 1, :, :known]
            np.maximum(rows, row, out=rows)
        else:
            self._rows[numbers, :, :known] = np.maximum(self._rows[numbers, :, :known], row)

    def fence_proxy(self, numbers: Any) -> None:
        """Make what these threads did visible to asynchronous accesses ordered after this, and their own copies' data."""
        if self.halves == 1:
            return
        self.fenced[numbers, numbers] = self.known[numbers, numbers]
        plain = np.array([k for k, agent in enumerate(self.agents, self.total) if agent.generic], np.int64)
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
        self._rows[agents] = self._rows[units].max(axis=1)
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
            self.agents.append(agent)
            self._generic = np.insert(self._generic, at, generic)
            mine.append(at)
            if at == len(self._rows):
                self._grow()
        agent.last += 1
        agent.what = what
        return at

    def _grow(self) -> None:
        size = len(self._rows)
        room = max(size + 64, size + size // 4)
        rows = np.zeros((room, self.halves, room), np.int32)
        rows[:size, :, :size] = self._rows
        self._rows, self.known = rows, rows[:, 0]

    def gather(self, agents: Any) -> Any:
        """Return what agents have done and know, to be handed to who waits for them."""
        return self._rows[agents].max(axis=0)

    def end(self, numbers: Any, agents: Any) -> None:
        """Order what each agent did before what its thread does next."""
        self._rows[numbers] = np.maximum(self._rows[numbers], self._rows[agents])

    def who(self, number: int) -> tuple[int, int, str]:
        """Return block and thread of a number, and what the thread issued where it is an agent's."""
        what = ""
        if number >= self.total:
            agent = self.agents[number - self.total]
            number, what = agent.owner, agent.what
        return (*divmod(number, self.threads), what)

    def plain(self, numbers: Any) -> Any:
        """Whether accesses of these are the generic proxy's: of threads, and of copies that are made as threads would."""
        if not self.agents:
            return np.ones(np.shape(numbers), bool)
        return self._generic[numbers]

    # -- words ------------------------------------------------------------------------------------------------------------

    def release(self, shadow: int, location: int, thread: int) -> None:
        """Let what `thread` did so far be seen by who acquires the location."""
        self._released[shadow, location] = _wider(self._released.get((shadow, location)), self._rows[thread])
        self._step(np.array([thread]))

    def acquire(self, shadow: int, location: int, thread: int) -> None:
        """Order what was released at the location before what `thread` does next."""
        self.learn(thread, self._released.get((shadow, location)))

    def learn(self, thread: int, row: Any) -> None:
        """Order what was handed over before what `thread` does next, in any block."""
        if row is not None:
            self._rows[thread, :, : row.shape[-1]] = np.maximum(self._rows[thread, :, : row.shape[-1]], row)
            self._foreign[thread // self.threads] = True

    def fence(self, thread: int, order: str) -> None:
        """Order by the relaxed accesses before an acquire fence, and after a release fence; `sc` fences have one order."""
        seen = self._seen.get(thread)
        if order == "sc":
            seen = union_of([row for row in (seen, self._fenced) if row is not None])
        if order != "release":
            self.learn(thread, seen)
        if order != "acquire":
            self._shown[thread] = self._rows[thread].copy()
            if order == "sc":
                self._fenced = _wider(self._fenced, self._rows[thread])
            self._step(np.array([thread]))

    def released(self, shadow: int, location: int) -> Any:
        """Return what acquiring the location teaches now, or None."""
        return self._released.get((shadow, location))

    def fences(self, how: str) -> bool:
        """Whether there is anything that `saw` or `show` would note."""
        return bool(self._released if how == "saw" else self._shown)

    def saw(self, shadow: int, location: int, thread: int) -> None:
        """Note a relaxed read: what was released at the location is ordered before the next acquire fence."""
        self.learnt(thread, self._released.get((shadow, location)))

    def learnt(self, thread: int, row: Any) -> None:
        """Note what the next acquire fence of a thread orders before what comes after it."""
        if row is not None:
            self._seen[thread] = _wider(self._seen.get(thread), row)

    def show(self, shadow: int, location: int, thread: int) -> None:
        """Note a relaxed write: it releases what the thread had done at its last release fence."""
        row = self._shown.get(thread)
        if row is not None:
            self._released[shadow, location] = _wider(self._released.get((shadow, location)), row)

    def _step(self, numbers: Any) -> None:
        self.known[numbers, numbers] += 1


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
