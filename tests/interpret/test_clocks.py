"""The race detector against its definition: happens-before as a graph, over random traces.

Tests of prism/interpret: accesses.
"""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.interpret import shadow as shadows
from prism.interpret.clocks import Clocks, Site
from prism.interpret.shadow import Shadow
from prism.lang.diagnostics import Span
from prism.lang.types.perspective import THREAD

BLOCKS, THREADS, LOCATIONS = 3, 4, 3
TOTAL = BLOCKS * THREADS
SITE = Site(Span("f", 1, 0, 1, 1), "write", THREAD)

access = st.tuples(
    st.just("access"),
    st.sampled_from(["read", "write"]),
    st.booleans(),
    st.dictionaries(st.integers(0, TOTAL - 1), st.integers(0, LOCATIONS - 1), min_size=1, max_size=4),
)
barrier = st.tuples(st.just("barrier"), st.integers(0, BLOCKS - 1), st.sampled_from([(0, 1), (2, 3), (0, 1, 2, 3)]))
meeting = st.tuples(
    st.just("meeting"), st.integers(0, BLOCKS - 2), st.sets(st.integers(0, 2 * THREADS - 1), min_size=1)
)
everyone = st.just(("everyone",))  # at a barrier of the grid
sync = st.tuples(st.sampled_from(["release", "acquire"]), st.integers(0, TOTAL - 1), st.integers(0, 1))


def by_block(note, at, by, *more):
    """Make an access by one block's threads after the other: no access is by several. Return the first that races."""
    for block in sorted({int(b) // THREADS if b < TOTAL else BLOCKS for b in by}):
        chosen = np.flatnonzero(np.where(by < TOTAL, by // THREADS, BLOCKS) == block)
        found = note(at[chosen], by[chosen], *more)
        if found is not None:
            return replace(found, index=int(chosen[found.index]))
    return None


def one_location(shadow):
    """Return what notes reads of one location by threads of one block, the same array for the same threads."""
    kept = {}

    def note(at, by, site):
        first = int(by[0]) // THREADS * THREADS
        lanes = kept.setdefault(tuple(by), by - first)
        return shadow.read_one(int(at[0]), lanes, first, site)

    return note


class Oracle:
    """Each thread knows a set of accesses; barriers and acquires unite sets; nothing is ever forgotten."""

    def __init__(self) -> None:
        self.known: list[set[int]] = [set() for _ in range(TOTAL)]
        self.released: dict[int, set[int]] = {}
        self.log: list[tuple[int, int, str, bool]] = []  # thread, location, kind, atomic

    def access(self, kind: str, atomic: bool, where: dict[int, int]) -> bool:
        return self.batch(kind, list(where.items()), atomic)

    def batch(self, kind: str, pairs: list[tuple[int, int]], atomic: bool = False) -> bool:
        fresh = []
        for thread, location in pairs:
            self.log.append((thread, location, kind, atomic))
            fresh.append((thread, len(self.log) - 1))
        racy = any(self._races(thread, number) for thread, number in fresh)
        for thread, number in fresh:
            self.known[thread].add(number)
        return racy

    def _races(self, thread: int, number: int) -> bool:
        _, location, kind, atomic = self.log[number]
        for other, (by, at, its_kind, its_atomic) in enumerate(self.log):
            if by == thread or at != location or "write" not in (kind, its_kind) or (atomic and its_atomic):
                continue
            if other not in self.known[thread]:
                return True
        return False

    def barrier(self, members: list[int]) -> None:
        union = set().union(*(self.known[m] for m in members))
        for member in members:
            self.known[member] = set(union)


@settings(max_examples=250, deadline=None)
@given(st.lists(st.one_of(access, access, barrier, meeting, sync, everyone), max_size=25))
@pytest.mark.parametrize("cluster", [1, BLOCKS])
@pytest.mark.parametrize("together", [1, 8], ids=["by-row-and-column", "one-by-one"])
def test_detector_is_exact(together, cluster, trace):
    """`together`: from how many threads and locations on reads are noted by row and column."""
    with patch.object(shadows, "_TOGETHER", together):
        assert follow(cluster, trace) == []


def follow(cluster, trace):
    """The access at which detector and oracle differ: whether it is a race, and with another thread. The first race ends it."""
    clocks, oracle = Clocks(BLOCKS, THREADS, cluster=cluster), Oracle()
    shadow = Shadow(clocks, LOCATIONS, 4, initialised=True, home=clocks.home(0) if cluster > 1 else None)
    site, note_one = clocks.site(SITE), one_location(shadow)
    for event in trace:
        match event:
            case ("access", kind, atomic, where):
                by = np.array(sorted(where))
                at = np.array([where[thread] for thread in sorted(where)])
                if kind == "read" and not atomic and len(set(where.values())) == 1:
                    found = by_block(note_one, at, by, site)
                else:
                    found = by_block(shadow.read if kind == "read" else shadow.write, at, by, site, atomic)
                racy = oracle.access(kind, atomic, where)
                if racy or found is not None:
                    agree = racy and found is not None and found.thread != by[found.index]
                    return [] if agree else [event]
            case ("barrier", block, members):
                clocks.join(block, np.array([members]))
                oracle.barrier([block * THREADS + m for m in members])
            case ("meeting", block, members):  # of two blocks, as in a cluster
                numbers = [block * THREADS + m for m in sorted(members)]
                clocks.meet(np.array([numbers]))
                oracle.barrier(numbers)
            case ("everyone",):
                clocks.meet_all()
                oracle.barrier(list(range(TOTAL)))
            case ("release", thread, word):
                clocks.release(0, word, thread)
                oracle.released.setdefault(word, set()).update(oracle.known[thread])
            case ("acquire", thread, word):
                clocks.acquire(0, word, thread)
                oracle.known[thread] |= oracle.released.get(word, set())
    return []


# -- agents -----------------------------------------------------------------------------------------------------------

place = st.integers(0, LOCATIONS - 1)
who = st.integers(0, TOTAL - 1)
issue = st.tuples(st.just("issue"), who, st.sampled_from(["read", "write"]), place)
more = st.tuples(st.just("more"), st.integers(0, 5), st.sampled_from(["read", "write"]), place)
end = st.tuples(st.just("end"), st.integers(0, 5))
hand = st.tuples(st.just("hand"), st.integers(0, 5), who)
one = st.tuples(st.just("one"), who, st.sampled_from(["read", "write"]), place)
hands = st.tuples(st.just("release"), who, who)
all_meet = st.just(("all",))


class Operations(Oracle):
    """An operation is one more thread: it starts with what its issuer knows, and who waits for it learns what it knows.

    What it writes is in no order of its own: it may write nothing twice.
    """

    def _races(self, thread: int, number: int) -> bool:
        _, location, kind, _ = self.log[number]
        again = thread >= TOTAL and kind == "write" and (thread, location, kind, False) in self.log[:number]
        return again or super()._races(thread, number)

    def start(self, thread: int) -> int:
        self.known.append(set(self.known[thread]))
        return len(self.known) - 1


@settings(max_examples=250, deadline=None)
@given(st.lists(st.one_of(issue, issue, more, end, hand, one, one, hands, all_meet), max_size=30))
@pytest.mark.parametrize("cluster", [1, BLOCKS])
def test_operations_are_agents_of_their_own(cluster, trace):
    """What is ordered with an operation under way is what its issuer did before, and what those do who waited for it."""
    clocks, oracle = Clocks(BLOCKS, THREADS, cluster=cluster), Operations()
    shadow = Shadow(clocks, LOCATIONS, 4, initialised=True, home=clocks.home(0) if cluster > 1 else None)
    site = clocks.site(SITE)
    flying = []  # issuer, agent, the oracle's number
    handed = set()  # those that somebody waited for: they have ended

    def access(number, by, kind, location):
        note = shadow.read if kind == "read" else shadow.write
        found = note(np.array([location]), np.array([by]), site, False)
        assert (found is not None) == oracle.access(kind, False, {number: location})
        return found is not None

    for event in trace:
        match event:
            case ("issue", thread, kind, location):
                agent = clocks.issue(np.array([[thread]]), "copy", generic=False)
                flying.append((thread, agent, oracle.start(thread)))
                racy = access(flying[-1][2], int(agent[0]), kind, location)
            case ("more", number, kind, location) if number < len(flying) and flying[number][2] not in handed:
                thread, agent, known = flying[number]
                clocks.renew(np.array([[thread]]), agent)
                oracle.known[known] |= oracle.known[thread]
                racy = access(known, int(agent[0]), kind, location)
            case ("end", number) if number < len(flying):
                thread, agent, known = flying.pop(number)
                clocks.end(np.array([thread]), agent)
                oracle.known[thread] |= oracle.known[known]
                racy = False
            case ("hand", number, thread) if number < len(flying):
                _, agent, known = flying[number]
                clocks.take(np.array([thread]), clocks.gather(agent))
                handed.add(known)
                oracle.known[thread] |= oracle.known[known]
                racy = False
            case ("all",):
                clocks.meet_all()
                oracle.barrier(list(range(TOTAL)))
                racy = False
            case ("one", thread, kind, location):
                racy = access(thread, thread, kind, location)
            case ("release", first, second):
                clocks.take(np.array([second]), clocks.leave(np.array([first])))
                oracle.known[second] |= oracle.known[first]
                racy = False
            case _:
                racy = False
        if racy:
            return


def test_a_column_is_used_again_once_its_operation_has_ended():
    clocks = Clocks(1, THREADS)
    unit = np.array([[1]])
    first = clocks.issue(unit, "copy", generic=False)
    assert clocks.issue(unit, "copy", generic=False)[0] != first[0]
    clocks.end(np.array([1]), first)
    assert clocks.issue(unit, "copy", generic=False)[0] == first[0]
    assert clocks.who(int(first[0])) == (0, 1, "copy")


@pytest.mark.parametrize("cluster", [1, 2, 4])
def test_what_is_learnt_is_handed_on(cluster: int) -> None:
    """From block to block by words, hands and barriers; and of the others nothing is known."""
    clocks = Clocks(4, 2, cluster=cluster)

    def known(thread: int) -> list[int]:
        return [int(k) for k in np.flatnonzero(clocks.row(thread))]

    clocks.release(0, 0, 7)
    clocks.acquire(0, 0, 4)
    clocks.join(2, np.array([[0, 1]]))
    clocks.take(np.array([2, 3]), clocks.leave(np.array([4, 5])))
    assert [known(thread) for thread in range(8)] == [
        [0], [1], [2, 4, 5, 7], [3, 4, 5, 7], [4, 5, 7], [4, 5, 7], [6], [7]
    ]  # fmt: skip
    (agent,) = clocks.issue(np.array([[3]]), "copy", generic=False)  # the tables grow
    assert known(agent) == [3, 4, 5, 7, 8] and known(2) == [2, 4, 5, 7]
    clocks.meet(np.array([[0, 2]]))
    clocks.end(np.array([3]), np.array([agent]))
    clocks.take(np.array([6]), clocks.leave(np.array([0])))
    assert (known(6), known(3), known(1)) == ([0, 2, 4, 5, 6, 7], [3, 4, 5, 7, 8], [1])


def test_a_fence_is_of_the_thread_that_meets_it():
    clocks = Clocks(1, THREADS, proxies=True)
    shadow = Shadow(clocks, LOCATIONS, 4, initialised=True)
    site = clocks.site(SITE)
    everyone = np.arange(THREADS)
    shadow.write(np.array([0]), np.array([0]), site, False)
    clocks.join(0, everyone[None, :])
    clocks.fence_proxy(np.array([1]))  # another thread's fence, after the barrier, is none for the write
    agent = clocks.issue(np.array([[1]]), "copy", generic=False)
    assert shadow.find_unfenced(np.array([0]), agent, "read") is not None
    clocks.fence_proxy(np.array([0]))
    agent = clocks.issue(np.array([[1]]), "copy", generic=False)
    assert shadow.find_unfenced(np.array([0]), agent, "read") is not None  # nothing orders the fence before the copy
    clocks.join(0, everyone[None, :])
    agent = clocks.issue(np.array([[1]]), "copy", generic=False)
    assert shadow.find_unfenced(np.array([0]), agent, "read") is None
    assert shadow.find_unfenced(np.array([1]), agent, "read") is None


@pytest.mark.parametrize("twice", [False, True])
def test_rows_that_are_free_again(twice: bool) -> None:
    """A row of readers is given back once, by whoever writes, and holds nothing of them when other locations take it."""
    clocks, everybody = Clocks(BLOCKS, THREADS), np.array([[0, 1, 2, 3]])
    shadow, site = Shadow(clocks, 8, 4, initialised=True), clocks.site(SITE)

    def told(kind: str, by: list[int], at: list[int]) -> bool:
        return getattr(shadow, kind)(np.array(at), np.array(by), site, False) is not None

    assert not told("read", [0, 1], [0, 0])
    clocks.join(0, everybody)
    assert not told("write", [2, 2] if twice else [2], [0, 0] if twice else [0])
    assert not told("read", [4, 5], [1, 1]) and not told("read", [6, 7], [2, 2])
    clocks.join(1, np.array([[0, 1]]))
    assert not told("write", [4], [1])  # knows nothing of block 0, or of threads 6 and 7
    assert told("write", [4], [2])


def test_a_plain_write_is_unfenced_too() -> None:
    clocks = Clocks(BLOCKS, THREADS, proxies=True)
    shadow, site = Shadow(clocks, 8, 4, initialised=True), clocks.site(SITE)
    assert shadow.write(np.array([0]), np.array([1]), site, False) is None
    for fenced in (False, True):
        agent = clocks.issue(np.array([[1]]), "copy", generic=False)
        assert (shadow.find_unfenced(np.array([0]), agent, "read") is None) == fenced
        clocks.fence_proxy(np.array([1]))


# -- many accesses at a time ------------------------------------------------------------------------------------------

part = st.tuples(st.integers(0, 7), st.integers(1, 8)).map(lambda pair: list(range(pair[0], min(8, sum(pair)))))
spots = st.one_of(part, part, st.lists(st.integers(0, 7), min_size=1, max_size=8))
threads = st.one_of(who, st.lists(who, min_size=8, max_size=8))
batch = st.tuples(st.just("batch"), st.sampled_from(["read", "write"]), threads, spots)
copy = st.tuples(st.just("copy"), st.sampled_from(["read", "write"]), who, part)
fence = st.tuples(st.just("fence"), who)
done = st.tuples(st.just("done"), who)


@settings(max_examples=180, deadline=None)
@given(st.lists(st.one_of(batch, batch, copy, copy, barrier, fence, done), max_size=25))
@pytest.mark.parametrize("cluster", [1, BLOCKS])
def test_slices_and_lists_of_locations_tell_the_same(cluster, trace):
    """Accesses told as a slice, or as of one thread, are what the same ones are one by one; races by the definition."""
    clocks, oracle = Clocks(BLOCKS, THREADS, proxies=True, cluster=cluster), Operations()
    home = clocks.home(0) if cluster > 1 else None
    brief, listed = (Shadow(clocks, 8, 4, initialised=True, home=home) for _ in range(2))
    site, flying = clocks.site(SITE), []

    def access(kind, by, at, proxy=False, number=None):
        by, at = np.array(by), np.array(at)
        found = []
        for shadow, many in ((brief, 1), (listed, 1000)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(shadows, "_MANY", many)
                gap = shadow.find_unfenced(at, by, kind) if proxy else None
                found.append((by_block(getattr(shadow, kind), at, by, site, False), gap))
        assert found[0] == found[1]
        pairs = [(int(b) if number is None else number, int(a)) for b, a in zip(by, at, strict=True)]
        assert (found[0][0] is not None) == oracle.batch(kind, pairs)
        return found[0][0] is not None

    for event in trace:
        racy = False
        match event:
            case ("batch", kind, by, at):
                racy = access(kind, [by] * len(at) if isinstance(by, int) else by[: len(at)], at)
            case ("copy", kind, thread, at):
                agent = clocks.issue(np.array([[thread]]), "copy", generic=False)
                flying.append((thread, agent, oracle.start(thread)))
                racy = access(kind, [int(agent[0])] * len(at), at, True, flying[-1][2])
            case ("fence", thread):
                clocks.fence_proxy(np.array([thread]))
            case ("barrier", block, members):
                clocks.join(block, np.array([members]))
                oracle.barrier([block * THREADS + m for m in members])
            case ("done", number) if number < len(flying):
                thread, agent, known = flying.pop(number)
                clocks.end(np.array([thread]), agent)
                oracle.known[thread] |= oracle.known[known]
        if racy:
            return
