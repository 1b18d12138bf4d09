"""Loops split at their conditions: the same results, and nothing conditional in the middle; or the loop as it was.

Tests of prism/lang/lower: cuts, merge_pieces, split_loops.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.lang import pipeline
from prism.lang.diagnostics import CompileError
from prism.lang.pipeline import lower
from prism.lang.tree import For, If, Specialise
from prism.lang.tree.walk import statements
from tests.examples.trimmed import SIDE, between, follow
from tests.generated.programs import loaded
from tests.mutation import TRIED, score


def as_written(kernel, template):
    """Return a kernel's program with its loops as they were written. Raises CompileError."""
    return pipeline.synchronise(pipeline.check(kernel, template))


# -- each ring in its own part of the range -------------------------------------------------------------------------------------


def rows_between(start, stop, step, low, high):
    x = np.random.default_rng(0).integers(0, 2**31, (max(stop, 1), 64), np.int32)
    total = np.ones(64, np.uint32)
    for j in range(start, stop, step):
        if j >= low:
            total = 3 * total + x[j].astype(np.uint32)
        total = 7 * total
        if j < high:
            total = 5 * total + x[j].astype(np.uint32)
    return x, total.view(np.int32)


def test_rounds_without_visits_are_refused_as_they_are_written():
    with pytest.raises(CompileError, match="apart from its other scopes"):
        as_written(between, {"STEP": 1})


@pytest.mark.parametrize("step", [1, 3])
def test_each_piece_makes_the_trips_that_are_its_own(step):
    program = prism.check(between, {"STEP": step})
    ends = (-3, 0, 1, 4, 5, 9)
    for start, stop, low, high in product((0, 1), (0, 1, 2, 7), ends, ends):
        x, wanted = rows_between(start, stop, step, low, high)
        y = np.zeros(64, np.int32)
        run(program, 1, 96, [x, y, start, stop, low, high], check=True)
        assert np.array_equal(y, wanted), (start, stop, low, high)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pieces_under_each_schedule(schedule):
    x, wanted = rows_between(0, 9, 1, 3, 7)
    y = np.zeros(64, np.int32)
    run(prism.check(between, {"STEP": 1}), 1, 96, [x, y, 0, 9, 3, 7], check=True, schedule=schedule)
    assert np.array_equal(y, wanted)


@pytest.mark.parametrize("start", [-1, 1])
def test_cuts_far_from_the_range(start):
    """The places of cuts are computed without wrapping round: these are beyond the range by up to 2**31, and more."""
    program = prism.check(between, {"STEP": 3, "START": start})
    for low, high in product((-(2**31), 1 - 2**31, 2**31 - 2, 2**31 - 1), repeat=2):
        x, wanted = rows_between(1, 8, 3, low, high)
        y = np.zeros(64, np.int32)
        run(program, 1, 96, [x, y, 1, 8, low, high], check=True)
        assert np.array_equal(y, wanted)


# -- a pipeline of two products --------------------------------------------------------------------------------------------------


def product_of(end, near, step=SIDE):
    q, k, v = (
        np.random.default_rng(1).integers(-2, 3, (rows, SIDE)).astype(np.float16)
        for rows in (SIDE, end + SIDE, end + SIDE)
    )
    trips = -(-end // step)
    k[trips * step :] = 0
    wide = np.float32(q) @ np.float32(k).T
    wide *= np.where(np.arange(wide.shape[1]) >= near, 2, 1)
    return q, k, v, np.float32(np.float16(wide)) @ np.float32(v)


@pytest.mark.covering(1)
@pytest.mark.parametrize("claims", [False, True])
@pytest.mark.parametrize("end", [0, 1, 64, 100, 128, 192])
def test_two_products_that_follow_each_other(claims, end):
    for near in (0, 65, 128, 1000):
        q, k, v, wanted = product_of(end, near)
        o = np.zeros((SIDE, SIDE), np.float32)
        run(prism.check(follow, {"CLAIMS": claims, "STEP": SIDE}), 1, 256, [q, k, v, o, end, near], check=True)
        assert np.array_equal(o, wanted if end else 0 * wanted)


def test_the_middle_has_no_condition():
    program = prism.check(follow, {"CLAIMS": True, "STEP": SIDE})
    loops = [s for s in program.entry.body[0].body[0].body if isinstance(s, For)]
    assert [loop.once for loop in loops] == [True, False, False, True]
    conditions = [[s for s in statements(loop.body) if isinstance(s, If)] for loop in loops]
    assert [len(found) for found in conditions] == [1, 0, 0, 0]  # the first may be where `near` begins


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_loader_has_one_loop_for_parts_that_are_alike(schedule):
    """A scale by columns is nothing to it: what is cut apart for that is one loop there, in the form that is emitted."""
    program = prism.check(follow, {"CLAIMS": True, "STEP": SIDE})
    roles = [s for s in statements(lower(program).program.entry.body) if isinstance(s, Specialise)][-1].roles
    found = [[s.part_text for s in statements(role.body) if isinstance(s, For) and s.part] for role in roles]
    assert found == [[f"part {k} of 4" for k in (1, 2, 3, 4)], ["part 1 of 4", "parts 2 to 3 of 4", "part 4 of 4"]]
    q, k, v, wanted = product_of(640, 321)
    o = np.zeros((SIDE, SIDE), np.float32)
    run(program, 1, 256, [q, k, v, o, 640, 321], check=True, schedule=schedule)
    assert np.array_equal(o, wanted)


def test_text(golden):
    golden(prism.compile(follow, arch="sm_90a", template={"CLAIMS": False, "STEP": SIDE}).cuda)


# -- loops that stay whole -------------------------------------------------------------------------------------------------------

LOOP = """\
from prism.lang import (
    attr, block, bulk_load, claim, const, grid, group, id, int32, one, partition, prism, ptr, requires, roles, shared, thread,
    warp,
)

@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], warp[2])
def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    with partition(y, block[1], 32 * id()) as out, group(block[1]):
        a: shared(int32[32], ring=2)
        adders, loader = roles(warp, 1, 1)
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
        for j in range({range}):
{body}
        with partition(out, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = total
"""
VISITS = """\
if {condition}:
    with claim(a, loader) as coming, one(thread):
        bulk_load(coming, x[32 * j])
if {condition}:
    with claim(a, adders) as here, group(thread[1]):
        total += here[t]
"""


@contextmanager
def written(condition="j > 0", over="n", body=VISITS):
    text = "".join(f"            {line}\n" for line in body.format(condition=condition).splitlines())
    with loaded(LOOP.format(range=over, body=text)) as names:
        yield names["kernel"]


@pytest.mark.parametrize(
    "condition", ["j > 0", "j >= m and j > 0", "not j < m", "j == 0", "j < n - 1", "m + j > 7", "2 - j < m"]
)
def test_these_are_split(condition):
    with written(condition) as kernel:
        assert any(s.part for s in statements(prism.check(kernel).entry.body) if isinstance(s, For))


NESTED = """\
from prism.lang import (
    attr, block, bulk_load, claim, const, function, grid, group, id, int32, one, partition, prism, ptr, requires, roles, shared,
    template, thread, warp,
)

@prism("device")
@template(TILE=function)
@requires(block[1], thread[64])
def all_tiles(first: int32 @ block[1], tiles: int32 @ block[1]):
    tile: int32 @ block[1] = first
    while tile < tiles:
        TILE(tile)
        tile += 2

@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    with partition(y, block[1], 32 * id()) as out, group(block[1]):
        a: shared(int32[32], ring=2)
        adders, loader = roles(warp, 1, 1)
        t: int32 @ thread[1] = id()
        total: int32[1] @ thread[1] = [0]

        @prism("device")
        @requires(block[1], thread[64])
        def sum_rows(first: int32 @ block[1]):
            for j in range(first, n):
                if j >= m:
                    with claim(a, loader) as coming, one(thread):
                        bulk_load(coming, x[32 * j])
                if j >= m:
                    with claim(a, adders) as here, group(thread[1]):
                        total[0] += here[t]

        all_tiles(0, 5, TILE=sum_rows)
        with partition(out, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = total[0]
"""


def test_loops_of_functions_that_are_compiled_in():
    with loaded(NESTED) as names:
        program = prism.check(names["kernel"])
        x = np.arange(9 * 32, dtype=np.int32).reshape(9, 32)
        for n, m in product((0, 3, 9), (0, 1, 3, 12)):
            y = np.zeros(32, np.int32)
            run(program, 1, 64, [x, y, n, m], check=True)
            assert np.array_equal(y, sum(x[max(first, m) : n].sum(axis=0) for first in (0, 2, 4)))


def test_what_a_single_trip_leaves_is_looked_at_behind_it():
    """The first trip alone writes what others read behind the loop: a barrier has to stand between."""
    more = "if j == 0:\n    with partition(s, thread[1], t) as own, group(thread[1]):\n        own[0] = 7 * t\n"
    text = "".join(f"            {line}\n" for line in (VISITS.format(condition="j > 0") + more).splitlines())
    text = LOOP.format(range="n", body=text).replace("mine[0] = total", "mine[0] = total + s[63 - t]")
    with loaded(text.replace("        t: int32", "        s: shared(int32[64])\n        t: int32")) as names:
        program = prism.check(names["kernel"])
    assert any(s.once for s in statements(program.entry.body) if isinstance(s, For))
    x = np.arange(9 * 32, dtype=np.int32).reshape(9, 32)
    for schedule, n in product(SCHEDULES, (1, 2, 9)):
        y = np.zeros(32, np.int32)
        run(program, 1, 64, [x, y, n, 0], check=True, schedule=schedule)
        assert np.array_equal(y, x[1:n].sum(axis=0) + 7 * np.arange(63, 31, -1))


WHOLE = {
    "remainder": {"condition": "j % 2 == 0"},
    "twice": {"condition": "2 * j < n"},
    "some": {"condition": "j != m"},
    "step": {"over": "0, n, m"},
    "downwards": {"over": "n, 0, -1"},
    "unrolled": {"over": "0, 64, unroll=4"},
    "left": {"body": VISITS + "if j == m:\n    break\n"},
    "changed": {"condition": "j > k", "body": "k: int32 @ block[1] = 0\nk += j\n" + VISITS},
}


@pytest.mark.parametrize("name", WHOLE)
def test_these_stay_whole(name):
    with written(**WHOLE[name]) as kernel, pytest.raises(CompileError, match="apart from its other scopes"):
        prism.check(kernel)


def test_a_loop_whose_pieces_are_refused_stays_whole_and_says_so():
    """In the last trip a tile is loaded that nobody uses: there a round would have another visit than before."""
    program = prism.check(follow, {"CLAIMS": False, "STEP": SIDE, "EAGER": True})
    assert not any(s.part for s in statements(program.entry.body) if isinstance(s, For))
    assert "the loop is not split at its conditions: `k_tile`" in prism.explain(
        follow, template=dict(program.entry.template)
    )
    q, k, v, wanted = product_of(128, 65)
    o = np.zeros((SIDE, SIDE), np.float32)
    run(program, 1, 256, [q, k, v, o, 128, 65], check=True)
    assert np.array_equal(o, wanted)


def test_what_is_wrong_besides_is_told():
    """Its conditions are no fault: the loop would be split at them."""
    body = VISITS.replace("total += here[t]", "total += here[t]\n        x[0] = 1")
    with written(body=body) as kernel, pytest.raises(CompileError) as caught:
        prism.check(kernel)
    assert "apart from its other scopes" not in str(caught.value)


def test_as_it_is_written_it_computes_the_same():
    """Two forms of one program, on the reference machine: in pieces, and whole."""
    template = {"CLAIMS": False, "STEP": SIDE}
    for form in (prism.check(follow, template), as_written(follow, template)):
        q, k, v, wanted = product_of(192, 100)
        o = np.zeros((SIDE, SIDE), np.float32)
        run(form, 1, 256, [q, k, v, o, 192, 100], check=True)
        assert np.array_equal(o, wanted)


@pytest.mark.fuzz
def test_what_the_plan_has_is_needed():
    """But for one wait: the loader is held back by the other ring, which has fewer copies."""

    def right(program, **how):
        x, wanted = rows_between(0, 24, 1, 7, 17)
        y = np.zeros(64, np.int32)
        run(program, 1, 96, [x, y, 0, 24, 7, 17], **how)
        return np.array_equal(y, wanted)

    found = score(prism.check(between, {"STEP": 1}), right, 96, TRIED)
    assert found.wrong == 66 and found.survivors == ["between: without Wait(late_read) before line 33"]


UNNEEDED = {
    "without Commit(wgmma) after line 92": "the next wait is for all groups",
    "without Wait(k_tile_read) before line 78": "the first part has one round, of two copies that are free",
    "without Wait(v_tile_read) before line 81": "who waits for `k_tile_read` knows of it; or the last part's copy is free",
    "without Arrive(v_tile_read) after line 94": "of the last round of all",
    "without Advance() after line 94": "behind it no round comes",
    "without WgmmaFence() before line 95": "what it orders is ordered by the one before, in the same group of statements",
}


@pytest.mark.fuzz
def test_what_the_plan_of_two_products_has_is_needed():
    def right(program, **how):
        q, k, v, wanted = product_of(640, 321)
        o = np.zeros((SIDE, SIDE), np.float32)
        run(program, 1, 256, [q, k, v, o, 640, 321], **how)
        return np.array_equal(o, wanted)

    found = score(prism.check(follow, {"CLAIMS": True, "STEP": SIDE}), right, 256, TRIED)
    assert found.wrong > 100 and {name.removeprefix("follow: ") for name in found.survivors} <= UNNEEDED.keys()
