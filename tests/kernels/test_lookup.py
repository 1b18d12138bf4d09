"""Searches in sorted tables on the reference machine, with all its checks. Kernels: kernels/lookup.

Tests of kernels/lookup: search, find, edges, configurations.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.interpret.schedules import SCHEDULES
from prism.kernels.lookup import DEVICE, FALLS, NEITHER, RISES, find_first, lookup, lookup_few, order_of_edges, sample
from prism.kernels.select import is_set
from prism.lib.algorithms.search.plan import cut, first_of
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS, ITEMS = 32, 4
TILE = THREADS * ITEMS


def search(
    x: Any, v: Any, right: bool, nodes: int, blocks: int = 2, first: int = 0, sign: int = 1, **options: Any
) -> Any:
    """Look values up by all kernels: with a tree of so many nodes, and alone."""
    kind, n, m, log = x.dtype, x.size, v.size, 2 if x.itemsize == 8 else 3
    depth = 0
    while (n - 1) >> (log * depth) >= nodes:
        depth += 1
    levels = max(1, ((n - 1) >> (log * depth)).bit_length())
    tree, sound, y, few = np.zeros(1 << levels, kind), np.zeros(1, np.int64), np.full(m, -7), np.full(m, -7)
    rows = np.zeros(sum((((n - 1) >> (log * k) >> log) + 1) << log for k in range(1, depth)), kind)
    options = {"check": True, **options}
    common = {"T": kind, "C": kind, "LOG": log}
    sample[blocks, THREADS](x, tree, rows, sound, n, levels, depth, template={**common, "THREADS": THREADS}, **options)
    sizes = {"NODES": nodes, "THREADS": THREADS, "ITEMS": ITEMS, "BLOCKS": 1}
    template = {**common, "V": kind, "RIGHT": right, **sizes}
    lookup[min(blocks, -(-m // TILE)), THREADS](
        x,
        tree,
        rows,
        sound,
        v,
        y,
        n,
        m,
        levels,
        depth,
        first,
        sign,
        -1,
        False,
        False,
        kind.type(0),
        template=template,
        **options,
    )
    template = {"T": kind.name, "V": kind.name, "C": kind.name, "RIGHT": right, "THREADS": THREADS}
    run(prism.check(lookup_few, template), -(-m // THREADS), THREADS, (x, v, few, n, m, first, sign), **options)
    assert np.array_equal(y, few)
    return y


def draw(n: int, m: int, kind: str) -> tuple[Any, Any]:
    random = np.random.default_rng(n)
    x, v = np.sort(random.integers(0, max(2, n // 2), n).astype(kind)), random.integers(-1, n // 2 + 2, m).astype(kind)
    if kind == "float32":
        v[:: m // 5 + 1], v[-1] = np.nan, np.inf
        if n % 2 and n > 4:
            x[-2:] = np.nan
    return x, v


SIZES = (1, 2, 7, 8, 9, 16, 17, 63, 65, 127, 128, 129, 1023, 1025)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("kind", ["float32", "int64"])
@pytest.mark.parametrize("n", rarely(SIZES, but=[1, 17, 128, 1025]))
def test_every_place(n: int, kind: str, right: bool) -> None:
    """Trees alone, and up to three rows below them; NaN among values, and at the table's end."""
    x, v = draw(n, 2 * TILE + 5, kind)
    side: Any = "right" if right else "left"
    assert np.array_equal(search(x, v, right, 16), np.searchsorted(x, v, side))


@pytest.mark.parametrize("right", [False, True])
def test_values_that_rise(right: bool) -> None:
    """Of which most of a warp belong to one place; some of them fall; NaN stand last."""
    side: Any = "right" if right else "left"
    x = np.array([1, 2, 2, 7, 9], np.float32)
    v = np.sort(np.random.default_rng(0).choice([0, 1, 2, 3, 7, 8, 9, np.inf], 8 * TILE + 5)).astype(np.float32)
    v[-9:] = np.nan
    assert np.array_equal(search(x, v, right, 16), np.searchsorted(x, v, side))
    v[: 2 * TILE] = v[2 * TILE - 1 :: -1]
    v[5 * TILE + 3] = 0
    assert np.array_equal(search(x, v, right, 16), np.searchsorted(x, v, side))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(("kind", "nodes"), [("int64", 4), ("int64", 16), ("float64", 8), ("float64", 512)])
def test_needles_of_8_bytes_that_rise_go_together(kind: str, nodes: int, right: bool) -> None:
    """By trees alone, and rows of up to four levels below; all of a warp in one group, and apart at each level; one outside."""
    side: Any = "right" if right else "left"
    random = np.random.default_rng(nodes)
    x = np.sort(random.integers(0, 900, 1000)).astype(kind)
    near = np.concatenate(
        [np.full(TILE, 37), np.sort(random.integers(100, 100 + 3, TILE)), random.integers(5, 9, TILE)]
    )
    v = np.concatenate([np.sort(random.integers(-3, 905, 9 * TILE)), near, np.sort(random.integers(0, 30, TILE + 7))])
    v = v.astype(kind)
    v[2 * TILE + 5], v[3 * TILE + 9] = 10_000, -10_000
    if kind == "float64":
        x[-3:], v[4 * TILE + 7], v[5 * TILE] = np.nan, np.nan, np.nan
    wanted = np.searchsorted(x, v, side)
    assert np.array_equal(search(x, v, right, nodes, 3), wanted)
    assert np.array_equal(search(x, v, right, nodes, 1, x.size, -1), x.size - wanted)


@pytest.mark.parametrize("schedule", rarely(SCHEDULES, but=["random"]))
def test_schedules_and_positions_from_the_end(schedule: str) -> None:
    x, v = draw(300, TILE + 1, "float32")
    assert np.array_equal(search(x, v, False, 16, 3, 300, -1, schedule=schedule), 300 - np.searchsorted(x, v))


def test_values_and_tables_that_are_loaded_by_vectors() -> None:
    x, v = np.arange(0, 4096, 2, dtype=np.float32), np.arange(0, 2048, dtype=np.float32)
    tree, rows, sound, y = (
        np.zeros(256, np.float32),
        np.zeros(0, np.float32),
        np.zeros(1, np.int64),
        np.zeros(2048, np.int64),
    )
    sample[1, 32](
        x, tree, rows, sound, 2048, 8, 1, template={"T": x.dtype, "C": x.dtype, "LOG": 3, "THREADS": 32}, check=True
    )
    sizes = {"LOG": 3, "NODES": 256, "THREADS": 64, "ITEMS": 4, "BLOCKS": 1, "RIGHT": False}
    template = {"T": x.dtype, "V": x.dtype, "C": x.dtype, **sizes}
    for skew in (0, 1):
        given = np.zeros(2050, np.float32)
        begin = -given.ctypes.data % 8 // 4 + skew
        given[begin : begin + 2048] = v
        lookup[2, 64](
            x, tree, rows, sound, given[begin : begin + 2048], y, 2048, 2048, 8, 1, 0, 1, skew, True, True, np.float32(0),
            template=template, check=True,
        )  # fmt: skip
        assert np.array_equal(y, np.searchsorted(x, v))


SIZES_OF_A_TREE = {"LOG": 3, "NODES": 16, "THREADS": 64, "ITEMS": ITEMS, "BLOCKS": 1}


@functools.cache
def of_a_tree():
    kinds = {"T": "float32", "V": "float32", "C": "float32", "RIGHT": False}
    return prism.check(lookup, {**kinds, **SIZES_OF_A_TREE})


def in_a_tree(code: Any = None, **options: Any) -> None:
    """Look several tiles of values up by one block, which has a tree of the table."""
    x, v = draw(300, 3 * TILE, "float32")
    tree, rows, sound = np.zeros(16, np.float32), np.zeros(300, np.float32), np.zeros(1, np.int64)
    sample[1, 32](x, tree, rows, sound, 300, 4, 2, template={"T": x.dtype, "C": x.dtype, "LOG": 3, "THREADS": 32})
    y = np.zeros(v.size, np.int64)
    given = (x, tree, rows, sound, v, y, 300, v.size, 4, 2, 0, 1, -1, False, False, np.float32(0))
    run(code or of_a_tree(), 1, 64, given, check=True, **options)
    assert np.array_equal(y, np.searchsorted(x, v))


def test_the_barrier_is_needed() -> None:
    """Of a block: the tree is read when it is there."""
    in_a_tree()
    found = list(without_barriers(of_a_tree()))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule in SCHEDULES:
                in_a_tree(mutant, schedule=schedule, seed=0)


def test_tables_are_cut_so_that_trees_hold_their_groups() -> None:
    for compared, size, log in (("float32", 4, 3), ("int32", 4, 3), ("int64", 8, 2)):
        for n in (1, 2, 1 << 10, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 1 << 24, (1 << 31) + 5):
            for arch in ("sm_90a", "sm_86", ""):
                found = cut(n, compared, arch)
                groups = ((n - 1) >> (log * found.depth)) + 1
                assert groups <= 1 << found.levels <= found.configuration.nodes * 4 // size
    assert [cut(1 << k, "int32", "sm_90a").depth for k in (10, 13, 16, 18, 21, 24)] == [0, 0, 1, 1, 2, 3]
    assert cut(1 << 16, "int32", "sm_90a").configuration is cut(1 << 24, "int32", "sm_86").configuration is DEVICE[0]


def first(n: int, place: int | None, blocks: int, code: Any = None, **options: Any) -> None:
    """Find a place twice: the second time on the words that the first one leaves."""
    mask = np.zeros(n, np.uint8)
    if place is not None:
        mask[place], mask[place + 3 :] = 7, 1
    y, control = np.zeros(1, np.int64), np.zeros(2, np.uint64)
    for _ in range(2):
        run(code or to_find(), blocks, 64, (mask, y, n, -1, 0, control), check=True, **options)
        assert y[0] == (-1 if place is None else place) and not control.any()


@functools.cache
def to_find():
    sizes = {"THREADS": 64, "ITEMS": 8, "WIDTH": 4, "BLOCKS": 1}
    return prism.check(find_first, {"M": "uint8", "C": "uint8", "TEST": is_set, **sizes})


@pytest.mark.parametrize("n", [1, 5, 512, 513, 2500])
@pytest.mark.parametrize("blocks", [1, 3])
def test_the_first_is_found(n: int, blocks: int) -> None:
    for place in (None, 0, n // 2, n - 1):
        first(n, place, blocks)


@pytest.mark.parametrize("schedule", rarely(SCHEDULES, but=["random"]))
def test_the_first_whoever_finds_one_first(schedule: str) -> None:
    for seed in range(3):
        first(2500, 700, 4, schedule=schedule, seed=seed)


def test_each_inferred_barrier_of_find_is_needed() -> None:
    found = list(without_barriers(to_find()))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                first(2500, 700, 2, mutant, schedule=schedule)


@pytest.mark.parametrize("scalar", ["uint8", "float32"])
def test_find_does_not_spill(scalar: str) -> None:
    assert prism.compile(find_first, first_of(scalar, scalar, is_set)).spills == 0


def which_way(table: Any) -> int:
    """Return how NumPy takes a table of edges."""
    try:
        return FALLS if np.digitize(-np.inf, table) else RISES
    except ValueError:
        return NEITHER


def test_which_way_edges_run() -> None:
    """As NumPy says it, of all short tables of a few numbers, zeros of both signs and NaN; and of long ones, at each place."""
    code = prism.check(order_of_edges, {"T": "float64", "THREADS": 64})

    def order_of(table: Any) -> int:
        found = np.full(1, 77)
        run(code, 1, 64, (table, found, table.size), check=True)
        return int(found[0])

    tables = [np.array(table) for table in itertools.product([0.0, 1.0, 2.0, np.nan, -0.0], repeat=3)]
    for spot in (0, 1, 31, 32, 63, 64, 98, 99):
        for change in (0.0, 200.0, np.nan):
            table = np.arange(100.0)
            table[spot] += change
            tables += table, -table
    assert {which_way(table) for table in tables} == {RISES, FALLS, NEITHER}
    for table in tables:
        assert order_of(table) == which_way(table), table
    for _, mutant in without_barriers(code):
        with pytest.raises(RaceError):
            for schedule in SCHEDULES:
                run(mutant, 1, 64, (table, np.full(1, 77), 100), check=True, schedule=schedule)


@pytest.mark.parametrize("schedule", rarely(SCHEDULES, but=["random"]))
def test_which_way_edges_run_in_every_schedule(schedule: str) -> None:
    for kind in ("int32", "int64", "float32", "float64"):
        code, table, found = (
            prism.check(order_of_edges, {"T": kind, "THREADS": 1024}),
            np.arange(3000, dtype=kind),
            np.zeros(1, int),
        )
        for edges, wanted in ((table, RISES), (table[::-1].copy(), FALLS), (table % 2900, NEITHER)):
            run(code, 1, 1024, (edges, found, edges.size), check=True, schedule=schedule)
            assert found[0] == wanted
