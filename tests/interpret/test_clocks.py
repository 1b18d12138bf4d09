"""The race detector against its definition: happens-before as a graph, over random traces."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.interpret.clocks import Clocks, Site
from prism.interpret.shadow import Shadow
from prism.lang.diagnostics import Span
from prism.lang.perspective import THREAD

BLOCKS, THREADS, LOCATIONS = 2, 4, 3
TOTAL = BLOCKS * THREADS
SITE = Site(Span("f", 1, 0, 1, 1), "write", THREAD)

access = st.tuples(
    st.just("access"),
    st.sampled_from(["read", "write"]),
    st.booleans(),
    st.dictionaries(st.integers(0, TOTAL - 1), st.integers(0, LOCATIONS - 1), min_size=1, max_size=4),
)
barrier = st.tuples(st.just("barrier"), st.integers(0, BLOCKS - 1), st.sampled_from([(0, 1), (2, 3), (0, 1, 2, 3)]))
sync = st.tuples(st.sampled_from(["release", "acquire"]), st.integers(0, TOTAL - 1), st.integers(0, 1))


class Oracle:
    """Each thread knows a set of accesses; barriers and acquires unite sets; nothing is ever forgotten."""

    def __init__(self) -> None:
        self.known: list[set[int]] = [set() for _ in range(TOTAL)]
        self.released: dict[int, set[int]] = {}
        self.log: list[tuple[int, int, str, bool]] = []  # thread, location, kind, atomic

    def access(self, kind: str, atomic: bool, where: dict[int, int]) -> bool:
        fresh = []
        for thread, location in where.items():
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


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.one_of(access, access, barrier, sync), max_size=25))
def test_detector_is_exact(trace):
    clocks, oracle = Clocks(BLOCKS, THREADS), Oracle()
    shadow = Shadow(clocks, LOCATIONS, 4, initialised=True)
    site = clocks.site(SITE)
    for event in trace:
        match event:
            case ("access", kind, atomic, where):
                by, at = np.array(list(where)), np.array(list(where.values()))
                note = shadow.read if kind == "read" else shadow.write
                found = note(at, by, site, atomic)
                racy = oracle.access(kind, atomic, where)
                assert (found is not None) == racy
                if racy:
                    assert found.thread != by[found.index]
                    return
            case ("barrier", block, members):
                clocks.join(block, np.array([members]))
                oracle.barrier([block * THREADS + m for m in members])
            case ("release", thread, word):
                clocks.release(0, word, thread)
                oracle.released.setdefault(word, set()).update(oracle.known[thread])
            case ("acquire", thread, word):
                clocks.acquire(0, word, thread)
                oracle.known[thread] |= oracle.released.get(word, set())
