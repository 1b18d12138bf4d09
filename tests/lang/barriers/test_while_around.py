"""A `while` around a `for`: the loop of which trips are other ones is the one around, whatever order a set has.

Tests of prism/lang/facts/touches.py: other_trip.
"""

import numpy as np
import pytest

from prism.interpret import SCHEDULES, run
from prism.lang import tree
from prism.lang.pipeline import build
from prism.lang.tree.plan import Program, WaitGroup
from tests.generated.programs import HEAD, loaded

TILE = """\
@prism("global")
@requires(grid[1], block[1], thread[64])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        s: shared(int32[8])
        left: int32 @ block[1] = n
        total: int32 @ thread[1] = 0
        while left > 0:
            for i in range(m):
                with claim(s, thread[1]) as own, one(thread):
                    own[i] = left
                with group(thread[1]):
                    total += s[i]
                left -= 1
        with group(thread[1]):
            mine[0] = total
"""
COPIES = """\
@prism("global")
@attr("__launch_bounds__(32)")
@requires(grid[1], block[1], thread[32])
def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        s: shared(int32[256])
        t: int32 @ thread[1] = id()
        left: int32 @ block[1] = n
        while left > 0:
            for i in range(m):
                with async_(s) as own, partition(own, thread[1], 32 * i + t) as part, group(thread[1]):
                    cp_async(part[0], x[32 * left + t], bytes=4)
                left -= 1
        with group(thread[1]):
            mine[0] = s[t]
"""


@pytest.fixture(params=["for", "while"])
def first_of_sets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of two loops a set has first: by their hashes, which are random otherwise."""
    monkeypatch.setattr(tree.For, "__hash__", lambda self: int(request.param == "while"), raising=False)
    monkeypatch.setattr(tree.While, "__hash__", lambda self: int(request.param == "for"), raising=False)


def planned(text: str) -> Program:
    with loaded(HEAD + text) as names:
        return build(names["kernel"], None)


@pytest.mark.usefixtures("first_of_sets")
def test_a_barrier_in_each_trip_of_the_while() -> None:
    program = planned(TILE)
    assert [barrier.before.span.line for barrier in program.plans[program.entry].barriers] == [17, 20]
    for schedule in SCHEDULES:
        y = np.zeros(64, np.int32)
        run(program, 1, 64, [y, 4, 1], check=True, schedule=schedule)
        assert (y == 10).all()


@pytest.mark.usefixtures("first_of_sets")
def test_a_wait_in_each_trip_of_the_while() -> None:
    program = planned(COPIES)
    waits = [op.at.span.line for op in program.plans[program.entry].operations if isinstance(op, WaitGroup)]
    assert waits == [18, 22]
    x = np.arange(32 * 9, dtype=np.int32)
    for schedule in SCHEDULES:
        y = np.zeros(32, np.int32)
        run(program, 1, 32, [x, y, 8, 2], check=True, schedule=schedule)
        assert (y == np.arange(64, 96)).all()
