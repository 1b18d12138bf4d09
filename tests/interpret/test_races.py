"""Seeded races: each is found without its barrier, on every schedule, and with it there is nothing to report.

Tests of prism/interpret: homes, shadow.
"""

# ruff: noqa: F821, B007 -- names that kernels declare
from __future__ import annotations

import re

import numpy as np
import pytest

from prism.interpret import BarrierError, RaceError, run
from prism.lang import (
    atomic_add,
    block,
    constexpr,
    grid,
    group,
    id,
    int32,
    load_relaxed,
    partition,
    prism,
    ptr,
    requires,
    shared,
    shuffle_up,
    store_relaxed,
    template,
    thread,
)  # fmt: skip
from tests.generated.programs import loaded

SCHEDULES = ["round-robin", "random", "reversed"]


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(N=constexpr(int), BY=constexpr(int))
def rotate(y: ptr(int32) @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(block[1]):
            s: shared(int32[N]) @ block[1]
            t: int32 @ thread[1] = id()
            for trip in range(2):
                with partition(s, thread[1], offset=t) as mine:  # fill
                    with group(thread[1]):
                        mine[0] = t + trip
                with group(thread[1]):  # use
                    out[0] = s[(t + BY) % N]


def compare(program, barriers, threads, by, schedule="round-robin", blocks=1):
    y = np.zeros(blocks * threads, np.int32)
    run(program(rotate, barriers, N=threads, BY=by), blocks, threads, [y], check=True, schedule=schedule)
    assert y.tolist() == [(t + by) % threads + 1 for t in range(threads)] * blocks


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("threads", "by", "unit"), [(64, 32, block[1]), (64, 1, block[1]), (32, 1, thread[32]), (128, 64, block[1])]
)
def test_both_barriers_are_needed(program, threads, by, unit, schedule):
    compare(program, {"# fill": unit, "# use": unit}, threads, by, schedule, blocks=2)
    with pytest.raises(RaceError) as raw:
        compare(program, {"# fill": unit}, threads, by, schedule)
    with pytest.raises(RaceError) as war:
        compare(program, {"# use": unit}, threads, by, schedule)
    assert raw.value.here.startswith("read") and raw.value.there.startswith("write")
    assert war.value.here.startswith("write") and war.value.there.startswith("read")
    assert raw.value.access.line == war.value.other.line
    assert ("warp barrier" in raw.value.barrier) == (unit == thread[32])


def test_a_warp_barrier_is_too_weak_across_warps(program):
    with pytest.raises(RaceError):
        compare(program, {"# fill": thread[32], "# use": thread[32]}, 64, 32)
    with pytest.raises(RaceError):
        compare(program, {"# fill": thread[64], "# use": thread[64]}, 128, 64)
    compare(program, {"# fill": thread[64], "# use": thread[64]}, 64, 1)


def test_own_element_needs_no_barrier(program):
    compare(program, {}, 64, 0)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(SAME=constexpr(int))
def scatter(y: ptr(int32) @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g // SAME) as out:
        with group(thread[1]):
            out[0] = g // SAME


def test_write_write(program):
    y = np.zeros(64, np.int32)
    run(program(scatter, SAME=1), 2, 32, [y], check=True)
    with pytest.raises(RaceError):
        run(program(scatter, SAME=2), 2, 32, [y], check=True)
    with pytest.raises(RaceError) as caught:  # only the last thread of block 0 and the first of block 1
        run(program(scatter, SAME=64), 2, 32, [y], check=True, schedule="reversed")
    assert "write" in str(caught.value) and "scatter" not in caught.value.barrier


@prism("global")
@requires(grid[1], block[1], thread[32])
def neighbour(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=lambda i: i) as out:
        with group(thread[1]):
            if g % 32 == 0:
                if g // 32 == 0:
                    out[0] = 5
                else:
                    out[g] = out[0]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_between_blocks(program, schedule):
    y = np.zeros(96, np.int32)
    run(program(neighbour), 1, 32, [y, 96], check=True)
    with pytest.raises(RaceError) as caught:
        run(program(neighbour), 3, 32, [y, 96], check=True, schedule=schedule)
    assert "no barrier joins two blocks" in caught.value.barrier
    text = str(caught.value)
    assert "out[0] = 5" in text and "out[g] = out[0]" in text


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(RELAXED=constexpr(int))
def counter(y: ptr(int32) @ grid[1], order: int32 @ grid[1]):
    with partition(y, thread[1], offset=0) as c:
        with group(thread[1]):
            ticket: int32 @ thread[1] = atomic_add(c[0], 2)
            if ticket < 0:
                c[1] = ticket
            if order == 1:
                if load_relaxed(c[0]) < 0:
                    store_relaxed(c[0], 1)
            if order == 2:
                c[1] = c[0]


def test_atomics_do_not_race_each_other(program):
    y = np.zeros(2, np.int32)
    run(program(counter, RELAXED=1), 2, 32, [y, 1], check=True)
    assert y[0] == 128
    with pytest.raises(RaceError):
        run(program(counter, RELAXED=1), 2, 32, [y, 2], check=True)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(ORDER=constexpr(int))
def handed(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], offset=0) as c:
        with group(thread[1]):
            g: int32 @ thread[1] = 0
            if ORDER == 1:
                c[1 + g] = 4


@prism("global")
@requires(grid[1], block[1], thread[32])
def three_warps(y: ptr(int32) @ grid[1]):
    """Warp 0 writes, warp 1 reads after a barrier with it, warp 2 reads after no barrier with warp 0."""
    with group(block[1]):
        s: shared(int32[32]) @ block[1]
        t: int32 @ thread[1] = id()
        r: int32 @ thread[1] = 0
        with partition(s, thread[1], offset=t % 32) as mine:
            with group(thread[1]):
                if t < 32:
                    mine[0] = t
        with group(thread[1]):  # one
            if t >= 32 and t < 64:
                r = s[t % 32]
        with group(thread[1]):  # two
            if t >= 64 and t < 96:
                r = s[t % 32]


def test_immediate_predecessors_are_not_enough(program):
    y = np.zeros(1, np.int32)
    run(program(three_warps, {"# one": block[1]}), 1, 128, [y], check=True)
    run(program(three_warps, {"# one": thread[64], "# two": block[1]}), 1, 128, [y], check=True)
    with pytest.raises(RaceError):
        run(program(three_warps, {"# one": thread[64], "# two": thread[64]}), 1, 128, [y], check=True)


@prism("global")
@requires(grid[1], block[1], thread[64])
def partly(y: ptr(int32) @ grid[1], cut: int32 @ grid[1]):
    with group(block[1]):
        t: int32 @ thread[1] = id()
        z: int32 @ thread[1] = 0
        with group(thread[1]):
            if t < cut:
                z = 1


@pytest.mark.parametrize(
    ("cut", "unit", "fits"),
    [(64, block[1], True), (32, thread[32], True), (32, block[1], False), (5, thread[32], False)],
)
def test_a_barrier_needs_all_its_threads(program, cut, unit, fits):
    built = program(partly, {"z = 1": unit})
    if fits:
        run(built, 1, 64, [np.zeros(1, np.int32), cut], check=True)
        return
    with pytest.raises(BarrierError) as caught:
        run(built, 1, 64, [np.zeros(1, np.int32), cut], check=True)
    assert caught.value.thread == cut


@prism("global")
@requires(grid[1], block[1], thread[32], smem=256)  # room for one of the two objects: the other takes its bytes
def reuse(y: ptr(int32) @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(block[1]):
            t: int32 @ thread[1] = id()
            for trip in range(1):
                a: shared(int32[64]) @ block[1]
                with partition(a, thread[1], offset=t) as mine:
                    with group(thread[1]):
                        mine[0] = t
                with group(thread[1]):  # read
                    out[0] = a[63 - t]
            for trip in range(1):
                b: shared(int32[64]) @ block[1]
                with partition(b, thread[1], offset=t) as mine:  # other
                    with group(thread[1]):
                        mine[0] = t


def test_bytes_used_again(program):
    y = np.zeros(64, np.int32)
    run(program(reuse, {"# read": block[1], "# other": block[1]}), 1, 64, [y], check=True)
    with pytest.raises(RaceError):
        run(program(reuse, {"# read": block[1]}), 1, 64, [y], check=True)


@prism("global")
@requires(grid[1], block[1], thread[32])
def shuffled(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        s: shared(int32[32]) @ block[1]
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], offset=t) as mine:
            with group(thread[1]):
                mine[0] = t
        with group(thread[32]):
            z: int32 @ thread[1] = shuffle_up(t, 1)
        with group(thread[1]):
            t = s[31 - t]


def test_a_shuffle_orders_no_memory(program):
    with pytest.raises(RaceError):
        run(program(shuffled), 1, 32, [np.zeros(1, np.int32)], check=True)


LAST = """
import prism
from prism.lang import atomic_increment, block, claim, count, grid, group, id, int32, one, partition, ptr, requires
from prism.lang import shared, thread, uint32


@prism.kernel
@requires(grid[1], block[1], thread[32])
def last(part: ptr(int32) @ grid[1], done: ptr(uint32) @ grid[1], y: ptr(int32) @ grid[1]):
    b: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(part, block[1], b) as out, partition(y, block[1], 0) as result, group(block[1]):
        flag: shared(int32[1])
        t: int32 @ thread[1] = id()
        with claim(out, thread[1]) as mine, claim(flag, thread[1]) as word, one(thread):
            mine[0] = b
            word[0] = 1 if atomic_increment(done[0], blocks - 1ORDER) == uint32(blocks - 1) else 0
        if flag[0] == 1:
"""
READERS = {
    "the thread that counts": """
            with claim(result, thread[1]) as mine, one(thread):
                mine[0] = out[0 - b]
""",
    "all threads": """
            own: int32 @ thread[1] = out[t % blocks - b]
            with partition(result, thread[1], t) as mine, group(thread[1]):
                mine[0] = own
""",
}


@pytest.mark.parametrize("reader", READERS)
def test_the_help_between_blocks_orders_them_by_the_counter(reader: str) -> None:
    """The last block reads what the others wrote."""

    def launch(order: str) -> None:
        with loaded(LAST.replace("ORDER", order) + READERS[reader]) as names:
            arrays = np.zeros(3, np.int32), np.zeros(1, np.uint32), np.zeros(32, np.int32)
            names["last"][3, 32](*arrays, check=True)

    with pytest.raises(RaceError) as caught:
        launch("")
    (order,) = re.findall(r'`(order="\w+")`', str(caught.value.barrier))
    launch(f", {order}")
