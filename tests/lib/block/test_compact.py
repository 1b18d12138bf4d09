"""What a block keeps of a tile: whole and partial tiles, results at any alignment.

Tests of prism/lib/block: compact.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import RaceError, run
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    grid,
    group,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
    uint32,
)
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def compact(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], kept: ptr(int32) @ grid[1], n: int32 @ grid[1], least: T @ grid[1]
):
    """Twice the elements that are greater than `least`: a second call has the same shared memory."""
    with partition(y, block[1], offset=0) as out, partition(kept, block[1], offset=0) as result, group(block[1]):
        number: int32 @ block[1] = 0
        items: T[ITEMS] @ thread[1]
        for _ in range(2):
            flags: uint32 @ thread[1] = 0
            block.load(x, items, n, least, WIDTH=WIDTH, VECTORIZED=False)
            with group(thread[1]):
                for k in range(ITEMS):
                    flags |= uint32(1 if items[k] > least else 0) << k
            number = block.compact(items, flags, WIDTH=WIDTH, THREADS=THREADS)
        block.store_striped(out, items, number)
        block.fill(result, number, 1)


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def separate(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], kept: ptr(int32) @ grid[1], n: int32 @ grid[1], least: T @ grid[1]
):
    """Twice the elements that are greater than `least`, and then the others: a second call has the same shared memory."""
    with partition(y, block[1], offset=0) as out, partition(kept, block[1], offset=0) as result, group(block[1]):
        number: int32 @ block[1] = 0
        items: T[ITEMS] @ thread[1]
        for _ in range(2):
            flags: uint32 @ thread[1] = 0
            block.load(x, items, n, least, WIDTH=WIDTH, VECTORIZED=False)
            with group(thread[1]):
                for k in range(ITEMS):
                    flags |= uint32(1 if items[k] > least else 0) << k
            number = block.separate(items, flags, WIDTH=WIDTH, THREADS=THREADS)
        block.store_striped(out, items, n)
        block.fill(result, number, 1)


@prism("global")
@template(T=dtype, TO=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), THREADS=constexpr(int), VECTOR=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def store(
    x: ptr(const(T)) @ grid[1],
    y: ptr(TO) @ grid[1],
    kept: ptr(int32) @ grid[1],
    n: int32 @ grid[1],
    room: int32 @ grid[1],
    first: int32 @ grid[1],
    skew: int32 @ grid[1],
    least: T @ grid[1],
    more: TO @ grid[1],
):
    """Of what is greater than `least`, `more` and at most `room` elements, twice, from `y[first]` on."""
    with partition(y, block[1], offset=first) as out, partition(kept, block[1], offset=0) as result, group(block[1]):
        items: T[ITEMS] @ thread[1]
        before: int32[1] @ thread[32]
        flags: uint32 @ thread[1] = 0
        before[0] = 0

        @requires(thread[1])
        def above(item: T @ thread[1]) -> TO @ thread[1]:
            return TO(item) + more

        block.load(x, items, n, least, WIDTH=WIDTH, VECTORIZED=False)
        with group(thread[1]):
            for k in range(ITEMS):
                flags |= uint32(1 if items[k] > least else 0) << k
        for _ in range(2):
            number: int32 @ block[1] = block.count_flags(flags, before, THREADS=THREADS)
            block.store_flagged(
                out,
                items,
                flags,
                before[0],
                min(number, room),
                skew,
                TO=TO,
                AS=above,
                WIDTH=WIDTH,
                THREADS=THREADS,
                VECTOR=VECTOR,
            )
            block.fill(result, number, 1)


COMPACT = [
    (32, 1, 1, "int32"), (32, 32, 1, "int16"), (96, 12, 4, "float32"), (64, 20, 4, "int32"), (64, 6, 2, "int64"),
    (128, 24, 8, "int8"), (64, 16, 16, "uint8"), (64, 7, 7, "float64"), (1024, 4, 4, "int32"), (32, 32, 32, "uint32"),
]  # fmt: skip


@pytest.mark.parametrize(("threads", "items", "width", "kind"), COMPACT)
def test_compact(threads: int, items: int, width: int, kind: str) -> None:
    """All, none and some elements, in their order; the rest of `y` is not written."""
    random, tile = np.random.default_rng(0), threads * items
    template = {"ITEMS": items, "WIDTH": width, "THREADS": threads}
    for n, least in [(tile, 49), (tile - 1, 90), (tile, 0), (tile, 99), (0, 1), (1, 5)]:
        x = random.integers(1, 100, n).astype(kind)
        y, kept = np.zeros(tile, kind), np.zeros(1, np.int32)
        compact[1, threads](x, y, kept, n, np.array(least, kind)[()], template=template, check=True)
        assert np.array_equal(y, [*x[x > least], *[0] * (tile - kept[0])]) and kept[0] == (x > least).sum()


@pytest.mark.parametrize(("threads", "items", "width", "kind"), rarely(COMPACT, but=COMPACT[2:5]))
def test_separate(threads: int, items: int, width: int, kind: str) -> None:
    random, tile = np.random.default_rng(0), threads * items
    template = {"ITEMS": items, "WIDTH": width, "THREADS": threads}
    for n, least in [(tile, 49), (tile - 1, 90), (tile, 0), (tile, 99), (0, 1), (1, 5)]:
        x = random.integers(1, 100, n).astype(kind)
        y, kept = np.zeros(tile, kind), np.zeros(1, np.int32)
        separate[1, threads](x, y, kept, n, np.array(least, kind)[()], template=template, check=True)
        assert np.array_equal(y[:n], [*x[x > least], *x[x <= least]]) and kept[0] == (x > least).sum()


@pytest.mark.parametrize("kernel", [compact, separate], ids=lambda kernel: kernel.__name__)
def test_compact_needs_its_barriers(kernel) -> None:
    template = {"T": "int32", "ITEMS": 4, "WIDTH": 2, "THREADS": 96}
    program = package.check(kernel, template)
    # Two of its own; before the second call a caller, which knows no parts of it, waits as well.
    assert sum(len(plan.barriers) for plan in program.plans.values() if plan.function is not program.entry) == 2
    x = np.arange(96 * 4, dtype=np.int32)
    for _, mutant in without_barriers(program)[:2]:
        with pytest.raises(RaceError):
            run(mutant, 1, 96, (x, np.zeros_like(x), np.zeros(1, np.int32), 384, 30), check=True)
    for schedule, seed in SCHEDULES:
        y = np.zeros_like(x)
        run(program, 1, 96, (x, y, np.zeros(1, np.int32), 384, 30), check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y[:353], x[31:])
    assert package.compile(kernel, template).cubin


STORED = [
    (32, 1, 1, 4, "int32", "int32"), (96, 12, 4, 2, "float32", "float64"), (64, 16, 16, 16, "uint8", "uint8"),
    (64, 6, 2, 1, "int64", "int64"), (128, 24, 8, 2, "uint16", "int64"), (32, 32, 32, 8, "int16", "int16"),
]  # fmt: skip


@pytest.mark.parametrize(("threads", "items", "width", "vector", "kind", "to"), STORED)
def test_store_flagged(threads: int, items: int, width: int, vector: int, kind: str, to: str) -> None:
    """All, none and some elements, from any place on; nothing else is written."""
    random, tile = np.random.default_rng(0), threads * items
    template = {"TO": to, "ITEMS": items, "WIDTH": width, "THREADS": threads, "VECTOR": vector}
    for n, least, room, first in [
        (tile, 49, tile, 0), (tile - 1, 90, tile, 1), (tile, 0, tile, 2), (tile, 99, 5, 3), (0, 1, 9, 1), (1, 5, 2, 3),
        (tile, 49, tile // 3, 7), (tile, 0, 2, 1), (tile, 0, 0, 1), (tile, 0, -4, 1), (tile, 30, tile, 15),
    ]:  # fmt: skip
        x = random.integers(1, 100, n).astype(kind)
        wanted = x[x > least].astype(to) + np.array(3, to)
        for skew in (first % vector, -1):
            y, kept = np.zeros(tile + 20, to), np.zeros(1, np.int32)
            numbers = (n, room, first, skew, np.array(least, kind)[()], np.array(3, to)[()])
            store[1, threads](x, y, kept, *numbers, template=template, check=True)
            there = max(0, min(room, wanted.size))
            assert kept[0] == wanted.size
            assert np.array_equal(y, [*[0] * first, *wanted[:there], *[0] * (tile + 20 - first - there)])


def test_store_flagged_needs_its_barriers() -> None:
    template = {"T": "int32", "TO": "int32", "ITEMS": 4, "WIDTH": 2, "THREADS": 96, "VECTOR": 4}
    program = package.check(store, template)
    x = np.arange(96 * 4, dtype=np.int32)

    def call(code, **options):
        y = np.zeros(400, np.int32)
        run(code, 1, 96, (x, y, np.zeros(1, np.int32), 384, 384, 2, 2, 30, 0), check=True, **options)
        assert np.array_equal(y[2:355], x[31:])

    mutants = list(without_barriers(program))
    assert len(mutants) >= 2
    for _, mutant in mutants:
        with pytest.raises(RaceError):
            call(mutant)
    for schedule, seed in SCHEDULES:
        call(program, schedule=schedule, seed=seed)
    assert package.compile(store, template).cubin
