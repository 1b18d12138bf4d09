"""Asynchronous writes that may go to one place are ordered, refused or reported; and what is under way has ended at the end.

Tests of prism/lang/facts/destinations.py.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    CompileError,
    CUtensorMap,
    async_,
    attr,
    block,
    bulk_load,
    bulk_store,
    claim,
    const,
    constexpr,
    cp_async,
    float32,
    fragment,
    grid,
    group,
    half,
    id,
    int32,
    one,
    partition,
    ptr,
    requires,
    roles,
    shared,
    template,
    thread,
    tma_load,
    tma_store,
    warp,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.safety import verdicts
from prism.lang.tree.plan import Commit, Wait, WaitGroup
from tests.lang.plans import told

SOME = ("round-robin", "late", "random", "ahead")
X = np.arange(4096, dtype=np.int32)


def runs(kernel: Any, threads: int, arguments: Any, blocks: int = 1, **constants: Any) -> Any:
    """Run under every schedule with all checks; return the last argument that is an array, the same from all."""
    program, found = prism.check(kernel, constants or None), []
    for schedule in SOME:
        given = arguments()
        run(program, blocks, threads, given, check=True, schedule=schedule, seed=3)
        found.append([a for a in given if isinstance(a, np.ndarray)][-1])
    assert all(np.array_equal(found[0], other) for other in found)
    return found[0]


def loose(kernel: Any, **constants: Any) -> list[tuple[str, str, int]]:
    """What the safety report says of asynchronous writes: kind, status, line from the kernel's first."""
    program = prism.check(kernel, constants or None)
    start = program.entry.span.line
    kinds = ("asynchronous", "store")
    return [(v.kind, v.status, v.line - start) for v in verdicts(program) if v.kind in kinds and v.status != "proved"]


def waits(kernel: Any, **constants: Any) -> list[str]:
    """The groups that are waited for."""
    return [step for step in told(kernel, **constants) if "pending" in step]


# -- stores -----------------------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
@template(TWO=constexpr(int))
def in_turn(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 0) as out, group(block[1]):
        first, second = roles(warp, 1, 1)
        s: shared(int32[32])
        with partition(s, thread[1], id()) as mine, first, group(thread[1]):
            mine[0] = 1
        for k in range(n):
            if k % 2 == 0:
                with claim(out, first) as to, one(thread):
                    bulk_store(to[0], s)
            if k % 2 == 1:
                with claim(out, second) as to, one(thread):
                    bulk_store(to[TWO], s)


def test_conditions_that_exclude_each_other_in_one_trip_do_not_so_in_two():
    """Neither place depends on the loop's index, but whether it is written does."""
    runs(in_turn, 64, lambda: [np.zeros(64, np.int32), np.int32(5)], TWO=16)
    assert len(told(in_turn, TWO=16)) > len(told(in_turn, TWO=32))


@prism("global")
@attr("__launch_bounds__(32)")
@requires(grid[1], block[1], thread[32])
@template(APART=constexpr(int), SAID=constexpr(bool))
def stored(y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    with partition(y, block[1], 0) as out, group(block[1]):
        s: shared(int32[32])
        t: int32 @ thread[1] = id()
        for k in range(n):
            with partition(s, thread[1], t) as mine, group(thread[1]):
                mine[0] = k
            with one(thread):
                bulk_store(out[APART * k + m], s, disjoint=SAID)


def test_stores_to_one_place_are_in_the_order_of_the_trips():
    assert "8 < pending bulk 0" in waits(stored, APART=0, SAID=False)
    found = runs(stored, 32, lambda: [np.zeros(64, np.int32), np.int32(5), np.int32(0)], APART=0, SAID=False)
    assert (found[:32] == 4).all() and not found[32:].any()


def test_stores_that_overlap_in_part_are_ordered():
    found = runs(stored, 32, lambda: [np.zeros(64, np.int32), np.int32(5), np.int32(0)], APART=4, SAID=False)
    assert found[:20].tolist() == [k // 4 for k in range(20)] and (found[16:48] == 4).all()


def test_stores_of_other_trips_that_are_apart_need_no_wait():
    assert all(step.endswith("read") for step in waits(stored, APART=32, SAID=False))
    assert not loose(stored, APART=32, SAID=False)


def test_what_a_store_says_is_assumed_and_reported_and_the_machine_checks_it():
    assert all(step.endswith("read") for step in waits(stored, APART=0, SAID=True))
    assert loose(stored, APART=0, SAID=True) == [("store", "assumed", 8)]
    with pytest.raises(MachineError, match="two asynchronous operations"):
        runs(stored, 32, lambda: [np.zeros(64, np.int32), np.int32(5), np.int32(0)], APART=0, SAID=True)
    assert not loose(stored, APART=32, SAID=True)  # what is proved is not only assumed


@prism("global")
@attr("__launch_bounds__(32)")
@requires(grid[1], block[1], thread[32])
@template(DOWN=constexpr(int), RIGHT=constexpr(int), BY_BLOCK=constexpr(int))
def tiled(y: CUtensorMap(int32, 8, 16) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with group(block[1]):
        s: shared(int32[8, 16])
        t: int32 @ thread[1] = id()
        for k in range(n):
            with partition(s, thread[1], lambda i: (t // 4, t % 4 * 4 + i)) as mine, group(thread[1]):
                for i in range(4):
                    mine[i] = k + 10 * b
            with one(thread):
                tma_store(y[DOWN * k, RIGHT * k + BY_BLOCK * b], s)


@pytest.mark.parametrize(
    ("down", "right", "apart"), [(0, 0, 0), (4, 0, 0), (0, 8, 0), (8, 0, 1), (0, 16, 1), (8, 4, 1)]
)
def test_tiles_that_overlap_are_in_the_order_of_the_trips(down, right, apart):
    constants = {"DOWN": down, "RIGHT": right, "BY_BLOCK": 0}
    assert all(step.endswith("read") for step in waits(tiled, **constants)) == bool(apart)
    found = runs(tiled, 32, lambda: [np.zeros((40, 80), np.int32), np.int32(5)], **constants)
    wanted = np.zeros((40, 80), np.int32)
    for k in range(5):
        wanted[down * k : down * k + 8, right * k : right * k + 16] = k
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(("by_block", "said"), [(80, True), (128, True), (0, False), (8, False)])
def test_tiles_of_other_blocks_are_proved_apart_or_reported(by_block, said):
    constants = {"DOWN": 8, "RIGHT": 0, "BY_BLOCK": by_block}
    assert loose(tiled, **constants) == ([] if said else [("asynchronous", "not proved", 10)])
    arguments = lambda: [np.zeros((40, 80 + 128), np.int32), np.int32(5)]
    if said:
        runs(tiled, 32, arguments, blocks=2, **constants)
    else:
        with pytest.raises(MachineError, match="two asynchronous operations"):
            runs(tiled, 32, arguments, blocks=2, **constants)


@prism("global")
@attr("__launch_bounds__(32)")
@requires(grid[1], block[2], thread[32])
@template(BY=constexpr(int))
def together(y: CUtensorMap(int32, 8, 16) @ grid[1]):
    b: int32 @ block[1] = id() % 2
    with group(block[1]):
        s: shared(int32[8, 16])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], lambda i: (t // 4, t % 4 * 4 + i)) as mine, group(thread[1]):
            for i in range(4):
                mine[i] = b
        with one(thread):
            tma_store(y[BY * b, 0], s)


def test_a_tile_that_all_blocks_of_a_cluster_store_is_refused():
    with pytest.raises(CompileError, match="all blocks of a block\\[2\\] store the same tile of `y`"):
        prism.check(together, {"BY": 0})
    prism.check(together, {"BY": 8})


def test_parts_that_several_threads_store_surely_to_one_place_are_refused():
    with pytest.raises(CompileError, match="both write"):
        prism.check(stored_by_all)


@prism("global")
@requires(grid[1], block[1], thread[32])
def stored_by_all(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 0) as out, group(block[1]):
        s: shared(int32[32])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with partition(out, thread[1], 0) as mine, group(thread[1]):
            bulk_store(mine[0], s)


# -- copies of one group ----------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(APART=constexpr(int))
def twice(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(int32[64])
        with partition(tile, thread[1], t) as part, async_(part) as coming, group(thread[1]):
            cp_async(coming[0], x[i], 4)
            cp_async(coming[APART], x[i + 32], 4)
        with group(thread[1]):
            mine[0] = tile[31 - t]


def test_two_copies_to_one_place_are_ordered():
    assert "8 < pending cp_async 0" in waits(twice, APART=0)
    assert runs(twice, 32, lambda: [X, np.zeros(32, np.int32)], APART=0).tolist() == list(range(63, 31, -1))


def test_two_copies_to_different_places_share_a_group():
    assert waits(twice, APART=32) == ["8 < pending cp_async 0"]
    assert runs(twice, 32, lambda: [X, np.zeros(32, np.int32)], APART=32).tolist() == list(range(31, -1, -1))


def test_the_machine_sees_two_copies_of_one_group_at_one_place():
    program = prism.check(twice, {"APART": 0})
    plan = program.plans[program.entry]
    between = [op for op in plan.operations if op.side == "before" and op.at is not plan.barriers[0].before]
    for op in between:
        plan = plan.drop_step(op)
    assert [type(op) for op in between] == [Commit, WaitGroup]
    for schedule in SOME:
        with pytest.raises(MachineError, match="two asynchronous operations"):
            run(program.with_plan(plan), 1, 32, [X, np.zeros(32, np.int32)], check=True, schedule=schedule)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(COPIES=constexpr(int))
def patched(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(int32[32], ring=COPIES)
        for k in range(n):
            with partition(tile, thread[1], t) as part:
                with async_(part) as coming, group(thread[1]):
                    cp_async(coming[0], x[32 * k + i], 4)
                with group(thread[1]):
                    part[0] += 1 if t % 2 == 0 else 0
            with partition(tile, block[1]) as now, group(thread[1]):
                mine[0] += now[31 - t]


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_thread_patches_what_it_has_copied(copies):
    found = runs(patched, 32, lambda: [X, np.zeros(32, np.int32), np.int32(5)], COPIES=copies)
    rows = X[:160].reshape(5, 32) + (np.arange(32) % 2 == 0)
    assert np.array_equal(found, rows.sum(axis=0)[::-1])


# -- loads of one visit -----------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
@template(SECOND=constexpr(int), EACH=constexpr(int))
def loaded(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int32[32], ring=2)
        consumer, producer = roles(thread, 32, 32)
        with partition(out, thread[1], offset=0) as mine:
            for i in range(n):
                with claim(s, producer) as a, one(thread):
                    bulk_load(a[0], x[i * 32], n=16)
                    bulk_load(a[SECOND + EACH * m], x[i * 32 + 16], n=16)
                with claim(s, consumer) as a:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        mine[i * 32 + t] = a[31 - t] + 1


def test_loads_of_one_visit_at_one_place_are_refused():
    for second in (0, 4, 12):
        with pytest.raises(CompileError, match="`s` is loaded twice at one place in one visit"):
            prism.check(loaded, {"SECOND": second, "EACH": 0})


def test_loads_of_one_visit_that_are_apart_are_proved_so():
    assert not loose(loaded, SECOND=16, EACH=0)
    found = runs(loaded, 64, lambda: [X, np.zeros(160, np.int32), np.int32(5), np.int32(0)], SECOND=16, EACH=0)
    assert np.array_equal(found.reshape(5, 32), X[:160].reshape(5, 32)[:, ::-1] + 1)


def test_loads_of_one_visit_of_which_nothing_is_proved_are_reported_and_the_machine_checks_them():
    assert loose(loaded, SECOND=0, EACH=4) == [("asynchronous", "not proved", 8)]
    arguments = lambda m: [X, np.zeros(160, np.int32), np.int32(5), np.int32(m)]
    runs(loaded, 64, lambda: arguments(4), SECOND=0, EACH=4)
    with pytest.raises(MachineError, match="two asynchronous operations"):
        runs(loaded, 64, lambda: arguments(2), SECOND=0, EACH=4)


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[2], thread[64])
@template(BY=constexpr(int))
def shared_loads(
    x: const(CUtensorMap(int32, 8, 16)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]
):
    with partition(y, block[1], offset=0) as out:
        with group(block[2]):
            r: int32 @ block[1] = id()
            with group(block[1]):
                s: shared(int32[16, 16], ring=2)
                consumer, producer = roles(thread, 32, 32)
                total: int32 @ thread[1] = 0
                for i in range(n):
                    with claim(s, producer) as a, one(thread):
                        tma_load(a[BY * r if BY >= 0 else m * r, 0], x[16 * i + 8 * r, 0], multicast=3)
                    with claim(s, consumer) as a, group(thread[1]):
                        total += a[0, 0]


def test_what_blocks_bring_for_one_another_is_apart_or_reported_or_refused():
    assert not loose(shared_loads, BY=8)
    assert loose(shared_loads, BY=-1) == [("asynchronous", "not proved", 12)]
    with pytest.raises(CompileError, match="each block of a block\\[2\\] brings the same elements of `s`"):
        prism.check(shared_loads, {"BY": 0})


# -- what is under way at the end -------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
@template(READ=constexpr(bool), COPIES=constexpr(int))
def unread(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int32[32], ring=COPIES)
        consumer, producer = roles(thread, 32, 32)
        with partition(out, thread[1], offset=0) as mine:
            for i in range(n):
                with claim(s, producer) as a, one(thread):
                    bulk_load(a, x[i * 32])
                with claim(s, consumer) as a:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        if READ:
                            mine[i * 32 + t] = a[31 - t] + 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def filled(x: ptr(const(int32)) @ grid[1]):
    i: int32 @ thread[1] = id()
    with group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(int32[32])
        with partition(tile, thread[1], t) as part, async_(part) as coming, group(thread[1]):
            cp_async(coming[0], x[i], 4)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(COPIES=constexpr(int))
def refilled(x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    with group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(int32[32], ring=COPIES)
        for k in range(n):
            with partition(tile, thread[1], t) as part, async_(part) as coming, group(thread[1]):
                cp_async(coming[0], x[32 * k + t], 4)


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
def summed():
    with group(block[1]):
        a: shared(half[64, 64], swizzle=128)
        t: int32 @ thread[1] = id()
        acc: fragment(float32, 64, 64) @ warpgroup[1] = 0
        with partition(a, thread[1], lambda i: (i, t)) as m, group(thread[1]):
            if t < 64:
                for i in range(64):
                    m[i] = half(1)
        with group(warpgroup[1]):
            wgmma(acc, a, a)


LEFT = [
    *((unread, 64, lambda: [X, np.zeros(160, np.int32), np.int32(5)], {"READ": False, "COPIES": k}) for k in (1, 2, 7)),
    (filled, 32, lambda: [X], {}),
    *((refilled, 32, lambda: [X, np.int32(5)], {"COPIES": k}) for k in (1, 3)),
    (summed, 128, list, {}),
]


@pytest.mark.parametrize(("kernel", "threads", "arguments", "constants"), LEFT)
def test_what_nobody_reads_has_ended_when_the_block_ends(kernel, threads, arguments, constants):
    program = prism.check(kernel, constants or None)
    for schedule in SCHEDULES:
        for seed in (0, 1):
            run(program, 1, threads, arguments(), check=True, schedule=schedule, seed=seed)


@pytest.mark.parametrize(("kernel", "threads", "arguments", "constants"), LEFT)
def test_the_machine_sees_what_is_under_way_at_the_end_on_every_schedule(kernel, threads, arguments, constants):
    program = prism.check(kernel, constants or None)
    plan = program.plans[program.entry]
    gone = [op for op in plan.operations if isinstance(op, Wait | WaitGroup) and op.side == "after"]
    assert len(gone) == 1
    for schedule in SOME:
        with pytest.raises(MachineError, match="under way when its block ends|nothing orders them"):
            mutant = program.with_plan(plan.drop_step(gone[0]))
            run(mutant, 1, threads, arguments(), check=True, schedule=schedule, seed=1)


def test_a_ring_that_is_read_waits_for_no_more_than_before():
    assert told(unread, READ=True, COPIES=2) == [
        "7 < wait s_read of the last lap", "7 < expect s_filled 128", "7 > arrive s_filled", "8 > advance s",
        "12 < wait s_filled", "12 > fence", "12 > arrive s_read by warps",
    ]  # fmt: skip


# -- what nothing uses ------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def unused(y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        ring: shared(int32[32], ring=3)
        with group(thread[1]):
            mine[0] = 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def opened(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        tile: shared(int32[32])
        ring: shared(half[64, 64], ring=3, swizzle=128)
        for k in range(n):
            with partition(ring, block[1]) as a, group(thread[1]):
                mine[0] = k
            with claim(ring, thread[1]) as b, one(thread):
                mine[0] += 1


@pytest.mark.parametrize("kernel", [unused, opened])
def test_shared_objects_that_nobody_uses_compile(kernel):
    assert prism.compile(kernel, arch="sm_90a").cubin
