"""Rings inside two loops, and visits that are atomic alone: who waits for whom, a lap later and in the same round.

Tests of prism/lang/rings: waits, fills_ahead, joint.
"""

import numpy as np
import pytest

from prism.interpret import run, schedules
from prism.lang.lower.skew import skew
from prism.lang.pipeline import build
from prism.lang.tree.plan import Program, Wait
from tests.generated.programs import HEAD, loaded
from tests.mutation import Right, caught

TRIED = [(schedule, seed) for schedule, seed in schedules(2) if schedule != "few"]
PLACES = {
    "apart in the outer loop's trips": "64 * k + (t ^ (i & 63))",
    "apart in no trip": "t ^ (i & 63)",
    "apart in the inner loop's trips": "64 * (i & 3) + (t ^ k)",
    "a thread's own": "64 * (i & 3) + t",
}
WAITED = dict(zip(PLACES, (True, True, True, False), strict=True))
"""Whether another thread's visit of a lap before is waited for. The inner loop's trips come anew in those of the outer one."""
TEXT = """\
@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def kernel(y: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        r: shared(int32[256], ring=2)
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
        for k in range(4):
            for i in range(n):
                with partition(r, thread[1], {at}) as c, group(thread[1]):
                    {fill}
                with partition(r, thread[1], {at}) as c, group(thread[1]):
                    total = (total * 3 + c[0] + i) % 1021
        with group(thread[1]):
            mine[0] = total
"""


def planned(text: str) -> Program:
    with loaded(HEAD + text) as names:
        return build(names["kernel"], None)


def passes(program: Program, n: int = 5) -> None:
    x, total = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    for step in range(4 * n):
        total = (total * 3 + x + step % n) % 1021
    for schedule, seed in TRIED:
        y = np.zeros(64, np.int32)
        run(program, 1, 64, [y, x, n], check=True, schedule=schedule, seed=seed)
        assert (y == total).all()


@pytest.mark.parametrize("place", PLACES)
def test_a_wait_where_some_loop_s_trips_meet(place: str) -> None:
    program = planned(TEXT.format(at=PLACES[place], fill="c[0] = x[t]"))
    plan = program.plans[program.entry]
    assert any(isinstance(op, Wait) for op in plan.operations) == WAITED[place]
    passes(program)


@pytest.mark.parametrize("place", PLACES)
def test_a_barrier_before_fills_ahead(place: str) -> None:
    program = planned(TEXT.format(at=PLACES[place], fill="cp_async(c[0], x[t], bytes=4)"))
    ahead = program.plans[program.entry].skewed
    assert ahead is not None and bool(ahead.barriers) == WAITED[place]
    passes(program)
    passes(skew(program))


ATOMIC = """\
@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        r: shared(int32[64], ring=2)
        u: int32 @ thread[1] = id() % 32
        total: int32 @ thread[1] = 0
        a, b = roles(warp, 1, 1)
        for i in range(n):
            with claim(r, {fill}) as c, partition(c, thread[1], u) as m, group(thread[1]):
                m[0] = i
                m[32] = i
{visits}
        with group(thread[1]):
            mine[0] = total
"""
VISITS = {
    "add": "            with claim(r, {}) as c, group(thread[1]):\n                atomic_add(c[{}], 1)",
    "read": "            with claim(r, {}) as c, group(thread[1]):\n                total += c[u] + c[63 - u]",
}


def added(visits: str, fill: str) -> Program:
    lines = []
    for number, visit in enumerate(visits.split(", ")):
        kind, who = visit.split()
        lines.append(VISITS[kind].format(who, f"(u ^ {number}) + 32 * {number % 2}"))
    return planned(ATOMIC.format(fill=fill, visits="\n".join(lines)))


def sums(visits: str) -> Right:
    """Return whether the role that reads has 2 * i and what was added before, in each of five rounds."""
    first, number = 32 * ("read b" in visits), len(visits.split(", read")[0].split(", "))

    def right(program: Program, **options: object) -> bool:
        y = np.zeros(64, np.int32)
        run(program, 1, 64, [y, 5], **options)
        return bool((y[first : first + 32] == 2 * sum(range(5)) + 5 * number).all())

    return right


@pytest.mark.parametrize("fill", "ab")
@pytest.mark.parametrize(
    "visits", ["add a, add b, read a", "add a, add b, read b", "add b, add a, add b, read a, add a"]
)
def test_visits_that_are_atomic_alone(visits: str, fill: str) -> None:
    program, right = added(visits, fill), sums(visits)
    assert all(right(program, check=True, schedule=schedule, seed=seed) for schedule, seed in TRIED)
    plan = program.plans[program.entry]
    waits = [op for op in plan.operations if isinstance(op, Wait)]
    assert waits and all(caught(program.with_plan(plan.drop_step(op)), right) for op in waits)


def test_a_ring_of_nothing_but_atomic_accesses_needs_no_wait() -> None:
    lines = [VISITS["add"].format(who, "u") for who in "ab"]
    text = ATOMIC.replace(ATOMIC[ATOMIC.index("            with claim") : ATOMIC.index("{visits}")], "")
    program = planned(text.format(visits="\n".join(lines)))
    assert not any(isinstance(op, Wait) for op in program.plans[program.entry].operations)
