"""Rings that are declared in loops: the same plan, and the same results, as before the loops; where a ring may not stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import schedules
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.tree import SharedDeclare
from prism.runtime.compile import compile_cubin
from tests.lang.check import test_rules as rules
from tests.lang.plans import told

KERNEL = """
@prism("global")
@requires(grid[1], block[1], warp[3])
@template(COPIES=constexpr(int))
def f(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], tiles: int32 @ grid[1], rows: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as y_block, group(block[1]):
        consumers, producer = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
{before}
        for j in range(tiles):
{between}
            for k in range(rows):
{inside}
                with claim(row, producer) as coming, one(thread):
                    bulk_load(coming, x[64 * (j * rows + k)])
                with claim(row, consumers) as now, group(thread[1]):
                    total = 2 * total + now[t]
        with partition(y_block, thread[1], t) as mine, consumers:
            with group(thread[1]):
                mine[0] = total
"""
RING = "row: shared(float32[64], ring=COPIES)"
PLACES = {"before": " " * 8 + RING, "between": " " * 12 + RING, "inside": " " * 16 + RING}


SPARE = """
@prism("global")
@requires(grid[1], block[1], warp[2])
@template(USED=constexpr(bool))
def f(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], rows: int32 @ grid[1]):
    with partition(y, block[1], 32 * id()) as y_block, group(block[1]):
        reader, writer = roles(warp, 1, 1)
        spare: shared(float32[64], ring=4)
        row: shared(float32[32], ring=2)
        t: int32 @ thread[1] = id() % 32
        total: float32 @ thread[1] = 0
        for k in range(rows):
            with claim(row, writer) as next, claim(spare, writer) as more:
                with partition(next, thread[1], t) as mine, partition(more, thread[1], t) as own, group(thread[1]):
                    mine[0] = x[32 * k + t]
                    if USED:
                        own[0] = 1.0
            with claim(row, reader) as now, claim(spare, reader) as more, group(thread[1]):
                total += now[31 - (31 - t)]
                if USED:
                    total += more[t]
        with partition(y_block, thread[1], t) as mine, reader:
            with group(thread[1]):
                mine[0] = total
"""


def kernel(place: str) -> Any:
    return rules.load(KERNEL.format(**{**dict.fromkeys(PLACES, ""), place: PLACES[place]}))["f"]


@pytest.mark.parametrize("place", ["between", "inside"])
def test_the_plan_is_that_of_a_ring_before_the_loops(place: str) -> None:
    assert told(kernel("before"), COPIES=2) == told(kernel(place), COPIES=2)
    one, two = (prism.check(kernel(p), template={"COPIES": 2}) for p in ("before", place))
    assert [p.layouts[p.entry].bytes for p in (one, two)] == [2 * 256 + 4 * 8] * 2
    assert compile_cubin(emit(lower(two)).source, "sm_90a").spills == 0


@pytest.mark.parametrize("used", [False, True])
def test_a_ring_that_nothing_uses_takes_no_room(used: bool) -> None:
    """As where a template's argument leaves nothing to be put into it: no bytes, no mbarriers, no line of the map."""
    kernel = rules.load(SPARE)["f"]
    program = prism.check(kernel, template={"USED": used})
    assert program.layouts[program.entry].bytes == 2 * 128 + 4 * 8 + (4 * 256 + 4 * 8 if used else 0)
    assert ("spare" in prism.explain(kernel, template={"USED": used}).partition("shared memory")[2]) == used
    x, y = np.arange(96, dtype=np.float32), np.zeros(32, np.float32)
    kernel[1, 64](x, y, 3, template={"USED": used}, check=True)
    assert np.array_equal(y, x.reshape(3, 32).sum(0) + 3 * used)


@pytest.mark.parametrize("copies,tiles,rows", [(1, 2, 3), (2, 3, 1), (2, 0, 4), (3, 3, 4), (3, 2, 0)])
@pytest.mark.parametrize("place", ["between", "inside"])
def test_copies_go_round_over_the_outer_loops_trips(place: str, copies: int, tiles: int, rows: int) -> None:
    x = np.random.default_rng(tiles + rows).integers(0, 9, (max(1, tiles * rows), 64)).astype(np.float32)
    expected = np.zeros(64, np.float32)
    for row in x[: tiles * rows]:
        expected = 2 * expected + row
    for schedule, seed in schedules(6):
        y = np.zeros(64, np.float32)
        arguments = (x, y, tiles, rows)
        kernel(place)[1, 96](*arguments, template={"COPIES": copies}, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, expected)


def test_the_declaration_stands_before_the_outermost_loop() -> None:
    entry = prism.check(kernel("inside"), template={"COPIES": 2}).entry
    found = [type(s) for s in entry.body[0].body[0].body]  # of the partition, of its group
    assert found.index(SharedDeclare) + 1 == next(k for k, kind in enumerate(found) if kind.__name__ == "For")
