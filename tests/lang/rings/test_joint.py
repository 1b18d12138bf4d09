"""Joint reduction: what barriers and the waits of rings see to between them stands there once; and what must stay.

Tests of prism/lang/rings: covers, happens, implication.
"""

# ruff: noqa: B007, F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import MachineError, run, schedules
from prism.lang import (
    attr,
    block,
    bulk_load,
    bulk_store,
    claim,
    const,
    constexpr,
    grid,
    group,
    id,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    template,
    thread,
    warp,
)
from tests.lang.plans import entry_plan, told

KERNEL = (grid[1], block[1], thread[64])


def steps(kernel: object, **values: object) -> list[str]:
    """Return what stands where, but for the rounds."""
    return [text for text in told(kernel, **values) if "advance" not in text]


def right(kernel: object, **values: object) -> None:
    """Refuse a plan with which some schedule goes wrong."""
    program, _ = entry_plan(kernel, **values)
    for n in (1, 2, 7):
        for schedule, seed in schedules(12):
            x, y = np.arange(64, dtype=np.float32), np.zeros(64 * 32, np.float32)
            run(program, 1, 64, [x, y, np.int32(n)], check=True, schedule=schedule, seed=seed)


# -- barriers and waits -----------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(*KERNEL)
@template(COPIES=constexpr(int))
def everybody(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        r: shared(float[64], ring=COPIES)
        p: shared(float[64])
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        for i in range(n):
            with partition(r, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = v + x[u]
            with partition(p, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = v
            v += p[63 - u]
            with partition(r, block[1]) as t:
                v += t[63 - u]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


@pytest.mark.parametrize("copies", [1, 2])
def test_a_barrier_for_another_object_does_for_a_visit(copies: int) -> None:
    """Each visit's writes come before the barrier, its reads behind it. On the way back one copy's wait does for the barrier;
    with two copies the barriers do for both ways.
    """
    if copies == 1:
        wanted = ["8 < wait r_read of the last lap", "11 < block block[1]", "13 > arrive r_read by warps"]
    else:
        wanted = ["9 < block block[1]", "11 < block block[1]"]
    assert steps(everybody, COPIES=copies) == wanted
    right(everybody, COPIES=copies)


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(*KERNEL)
def two_visits(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        r: shared(float[64], ring=3)
        p: shared(float[64])
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        for i in range(n):
            with partition(p, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = v
            with partition(r, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = v + x[u]
            with partition(r, block[1]) as t:
                v += t[63 - u]
            v += p[63 - u]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_a_visit_that_all_wait_for_does_for_a_barrier() -> None:
    """`p` is written before the visit that all threads wait for, and read behind it; only the way back needs a barrier."""
    assert steps(two_visits) == ["7 < block block[1]", "10 > arrive r_filled by warps", "12 < wait r_filled"]
    right(two_visits)


# -- groups -----------------------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(*KERNEL)
def twice(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        r: shared(float[64], ring=2)
        filler, storer = roles(warp, 1, 1)
        for i in range(n):
            with claim(r, filler) as t, one(thread):
                bulk_load(t, x[0])
            with claim(out, thread[1]) as o, claim(r, storer) as t, one(thread):
                bulk_store(o[128 * i], t)
            with claim(out, thread[1]) as o, claim(r, storer) as t, one(thread):
                bulk_store(o[128 * i + 64], t)


def test_stores_of_one_thread_are_one_group() -> None:
    found = steps(twice)
    assert [text for text in found if "bulk" in text] == ["10 > commit bulk", "10 > pending bulk 0 read"]
    right(twice)


# -- what must stay ---------------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(*KERNEL)
def read_between(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        r: shared(float[64])
        s: shared(float[64], ring=1)
        filler, storer = roles(warp, 1, 1)
        v: float @ thread[1] = 0.0
        u: int @ thread[1] = id()
        for i in range(n):
            with claim(s, filler) as t, one(thread):
                bulk_load(t, x[0])
            with claim(s, filler) as t:
                k: int @ thread[1] = id()
                with group(thread[1]):
                    v += t[k]
            with partition(r, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = v
            v += r[63 - u]
            with claim(out, thread[1]) as o, claim(s, storer) as t, one(thread):
                bulk_store(o[64 * i], t)


def test_a_plain_read_is_not_forgotten_for_an_engines_read() -> None:
    """The filler's warp has read the copy, then a store has: the next load still needs the warp's fence."""
    program, plan = entry_plan(read_between)
    (fence,) = [op for op in plan.operations if type(op).__name__ == "ProxyFence"]
    right(read_between)
    with pytest.raises(MachineError, match="fence"):
        run(
            program.with_plan(plan.drop_step(fence)), 1, 64,
            [np.arange(512, dtype=np.float32), np.zeros(512, np.float32), np.int32(3)], check=True,
        )  # fmt: skip


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(*KERNEL)
def drained(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        r: shared(float[64], ring=4)
        a, b = roles(warp, 1, 1)
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        for k in range(4):
            for i in range(n):
                with claim(r, a) as t:
                    w: int @ thread[1] = id()
                    with partition(t, thread[1], offset=2 * w) as mine, group(thread[1]):
                        for j in range(2):
                            mine[j] = x[w]
                with partition(r, block[1]) as t:
                    v += t[63 - u]
                with claim(out, thread[1]) as o, claim(r, a, in_flight=2) as t, one(thread):
                    bulk_store(o[64 * (k * n + i)], t)
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_late_arrivals_bring_no_late_news() -> None:
    """A loop that ends in the meantime arrives at once: who waits for that knows nothing of later trips."""
    assert any("of the last lap" in text for text in steps(drained))
    right(drained)
