"""Exchanges of a block, and the loads and stores that use them: every arrangement, whole and partial tiles, any alignment.

Tests of prism/lib/block: exchange, load, store.
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
    function,
    grid,
    group,
    id,
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
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), EXCHANGE=function)
@requires(grid[1], block[1], thread[THREADS])
def exchange(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i * ITEMS) as mine, group(block[1]):
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[i * ITEMS + k]
        for _ in range(2):  # there and ...
            EXCHANGE(items, THREADS=THREADS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), STRIPED=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def copy(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1], n: int32 @ grid[1], otherwise: T @ grid[1]
):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t * ITEMS) as mine, partition(z, block[1]) as target, group(block[1]):
        items: T[ITEMS] @ thread[1]
        if STRIPED:
            block.load_striped(x, items, n, otherwise)
        else:
            block.load_transposed(x, items, n, otherwise, THREADS=THREADS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]
        if STRIPED:
            block.store_striped(target, items, n)
        else:
            block.store_transposed(target, items, n, THREADS=THREADS)


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), STRIPED=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def scatter(
    x: ptr(const(T)) @ grid[1], ranks: ptr(const(int32)) @ grid[1], y: ptr(T) @ grid[1], ranked: int32 @ grid[1]
):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t * ITEMS) as mine, group(block[1]):
        items: T[ITEMS] @ thread[1]
        places: int32[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[t * ITEMS + k]
                places[k] = ranks[t * ITEMS + k]
        if STRIPED:
            block.scatter_to_striped(items, places, ranked, THREADS=THREADS)
        else:
            block.scatter_to_blocked(items, places, ranked, THREADS=THREADS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


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


def permuted(name: str, tile, threads: int, items: int):
    """What an exchange makes of a tile of (threads, items)."""
    if "warp_striped" in name:
        warps = tile.reshape(-1, 32, items)
        parts = [permuted(name.replace("warp_", ""), part, 32, items) for part in warps]
        return np.concatenate(parts)
    if name == "blocked_to_striped":
        return tile.reshape(items, threads).T
    return tile.reshape(threads, items).T.reshape(threads, items)


EXCHANGES = ["blocked_to_striped", "striped_to_blocked", "blocked_to_warp_striped", "warp_striped_to_blocked"]


@pytest.mark.covering(2)
@pytest.mark.parametrize("name", EXCHANGES)
@pytest.mark.parametrize(
    ("threads", "items", "kind"),
    [(32, 1, "int32"), (96, 2, "uint8"), (64, 3, "float64"), (128, 8, "float16"), (96, 7, "int32"), (64, 32, "int32")],
)
def test_an_exchange_twice(name: str, threads: int, items: int, kind: str) -> None:
    x = np.arange(threads * items * 2).astype(kind)
    template = {"ITEMS": items, "THREADS": threads, "EXCHANGE": getattr(block, name)}
    wanted = [
        permuted(name, permuted(name, tile, threads, items), threads, items) for tile in x.reshape(2, threads, items)
    ]
    for schedule, seed in SCHEDULES[:3]:
        y = np.zeros_like(x)
        exchange[2, threads](x, y, template=template, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y.reshape(2, threads, items), wanted)


@pytest.mark.parametrize("name", EXCHANGES)
def test_only_warps_wait_where_warps_suffice(name: str) -> None:
    template = {"T": "int32", "ITEMS": 4, "THREADS": 96, "EXCHANGE": getattr(block, name)}
    program = package.check(exchange, template)
    # Of the exchange itself; before the next one writes its tile again, the block waits: callers know no parts of it.
    inside = [b for plan in program.plans.values() if plan.function.name == name for b in plan.barriers]
    assert [b.kind for b in inside] == ["warp" if "warp" in name else "block"]
    x = np.arange(96 * 4, dtype=np.int32)
    for _, mutant in without_barriers(program):
        with pytest.raises(RaceError):
            run(mutant, 1, 96, (x, np.zeros_like(x)), check=True)
    assert package.compile(exchange, template).cubin


@pytest.mark.parametrize("striped", [False, True])
@pytest.mark.parametrize(("threads", "items", "kind"), [(32, 1, "int32"), (96, 4, "float16"), (64, 5, "uint8")])
def test_loads_and_stores(threads: int, items: int, kind: str, striped: bool) -> None:
    tile = threads * items
    for n in (tile, tile - 1, min(33, tile), 1, 0):
        for shift in (0, 1):
            x = (np.arange(n + shift) % 90 + 1).astype(kind)[shift:]
            y, z = np.zeros(tile, kind), np.zeros(tile + shift, kind)[shift:]
            template = {"ITEMS": items, "THREADS": threads, "STRIPED": striped}
            copy[1, threads](x, y, z, n, np.array(99, kind)[()], template=template, check=True)
            loaded = np.array([*x, *[99] * (tile - n)], kind)
            assert np.array_equal(y, loaded.reshape(items, threads).T.ravel() if striped else loaded)
            assert np.array_equal(z, [*x, *[0] * (tile - n)])


@pytest.mark.parametrize("striped", [False, True])
@pytest.mark.parametrize(("threads", "items"), [(32, 1), (96, 4)])
def test_scatter(threads: int, items: int, striped: bool) -> None:
    random = np.random.default_rng(0)
    tile = threads * items
    x = random.integers(-99, 99, tile, dtype=np.int32)
    for ranked in (tile, tile - 7, 1, 0):
        ranks = np.full(tile, -1, np.int32)
        ranks[random.permutation(tile)[:ranked]] = random.permutation(ranked)
        places = np.empty(ranked, np.int32)
        places[ranks[ranks >= 0]] = x[ranks >= 0]
        before = x.reshape(threads, items).T.ravel() if striped else x
        wanted = np.concatenate([places, before[ranked:]])
        y = np.zeros_like(x)
        template = {"ITEMS": items, "THREADS": threads, "STRIPED": striped}
        scatter[1, threads](x, ranks, y, ranked, template=template, check=True)
        assert np.array_equal(y, wanted.reshape(items, threads).T.ravel() if striped else wanted)


def test_two_elements_of_one_rank_are_reported() -> None:
    x, ranks = np.arange(64, dtype=np.int32), np.arange(64, dtype=np.int32) % 32
    with pytest.raises(RaceError):
        template = {"ITEMS": 2, "THREADS": 32, "STRIPED": False}
        scatter[1, 32](x, ranks, np.zeros_like(x), 32, template=template, check=True)


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
