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
)
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers


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
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), SCATTER=function)
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
        SCATTER(items, places, ranked, THREADS=THREADS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


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
    within = {name, "blocked_to_striped_in", "striped_to_blocked_in"}  # what it is made of
    inside = [b for plan in program.plans.values() if plan.function.name in within for b in plan.barriers]
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


def laid_out(name: str, tile, threads: int, items: int):
    """A tile as a scatter leaves it: element `k` of thread `t` at `t * items + k`."""
    if name == "scatter_to_warp_striped":
        return tile.reshape(-1, items, 32).transpose(0, 2, 1).ravel()
    return tile.reshape(items, threads).T.ravel() if name == "scatter_to_striped" else tile


SCATTERS = ["scatter_to_blocked", "scatter_to_striped", "scatter_to_warp_striped"]


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize(("threads", "items"), [(32, 1), (96, 4)])
def test_scatter(threads: int, items: int, name: str) -> None:
    random = np.random.default_rng(0)
    tile = threads * items
    x = random.integers(-99, 99, tile, dtype=np.int32)
    places = laid_out(name, np.arange(tile), threads, items)  # of each of the threads' elements
    for ranked in (tile, tile - 7, 1, 0):
        ranks = np.full(tile, -1, np.int32)
        ranks[random.permutation(tile)[:ranked]] = random.permutation(ranked)
        found = np.empty(tile, np.int32)
        found[ranks[ranks >= 0]] = x[ranks >= 0]
        y = np.zeros_like(x)
        template = {"ITEMS": items, "THREADS": threads, "SCATTER": getattr(block, name)}
        scatter[1, threads](x, ranks, y, ranked, template=template, check=True)
        assert np.array_equal(y, np.where(places < ranked, found[places], x))


def test_two_elements_of_one_rank_are_reported() -> None:
    x, ranks = np.arange(64, dtype=np.int32), np.arange(64, dtype=np.int32) % 32
    with pytest.raises(RaceError):
        template = {"ITEMS": 2, "THREADS": 32, "SCATTER": block.scatter_to_blocked}
        scatter[1, 32](x, ranks, np.zeros_like(x), 32, template=template, check=True)
