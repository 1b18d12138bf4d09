"""block.scan_segments, scan_heads, reduce_segments, scan_by_key, reduce_by_key: segments inside a warp, and over many.

Of scan_heads with thread.continue_segment, and warp.scan_heads in it. Tests of prism/lib/block/segments.py and
prism/lib/thread/segments.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
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
    uint8,
    uint32,
)
from tests.lib.oracles import CASES, SCHEDULES, SOME, Case, heads_of


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int), EXCLUSIVE=constexpr(bool))
def scanned(
    x: ptr(const(T)) @ grid[1],
    heads: ptr(const(uint8)) @ grid[1],
    y: ptr(T) @ grid[1],
    ends: ptr(T) @ grid[1],
    n: int32 @ grid[1],
    before: T @ grid[1],
    identity: T @ grid[1],
):
    t: int32 @ thread[1] = id()
    with partition(ends, thread[1], offset=t) as own, partition(y, block[1]) as target, group(block[1]):
        items: T[ITEMS] @ thread[1]
        marks: uint8[ITEMS] @ thread[1]
        flags: bool[ITEMS] @ thread[1]
        block.load(x, items, n, identity, WIDTH=WIDTH, VECTORIZED=False)
        block.load(heads, marks, n, 0, WIDTH=WIDTH, VECTORIZED=False)
        with group(thread[1]):
            for k in range(ITEMS):
                flags[k] = marks[k] != 0
        end: T @ block[1] = block.scan_segments(items, flags, before, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
        block.store(target, items, n, WIDTH=WIDTH, VECTORIZED=False)
        with group(thread[1]):
            own[0] = end


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(
    T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int), EXCLUSIVE=constexpr(bool), RUNS=constexpr(bool)
)  # fmt: skip
def headed(
    x: ptr(const(T)) @ grid[1],
    heads: ptr(const(uint8)) @ grid[1],
    y: ptr(T) @ grid[1],
    ends: ptr(T) @ grid[1],
    facts: ptr(int32) @ grid[1],
    n: int32 @ grid[1],
    before: T @ grid[1],
    initial: T @ grid[1],
    identity: T @ grid[1],
):
    """A tile is scanned before it is known what came `before`."""
    t: int32 @ thread[1] = id()
    with partition(ends, thread[1], offset=t) as own, partition(facts, thread[1], offset=3 * t) as told:
        with partition(y, block[1]) as target, group(block[1]):
            items: T[ITEMS] @ thread[1]
            marks: uint8[ITEMS] @ thread[1]
            found: int32[3] @ thread[1]
            flags: uint32 @ thread[1] = 0
            block.load(x, items, n, identity, WIDTH=WIDTH, VECTORIZED=False)
            block.load(heads, marks, n, 0, WIDTH=WIDTH, VECTORIZED=False)
            with group(thread[1]):
                for k in range(ITEMS):
                    flags = flags | uint32(marks[k]) << k
            end: T @ block[1] = block.scan_heads(
                items, flags, found, identity, initial, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE, RUNS=RUNS
            )
            at: int32 @ thread[1] = block.place(ITEMS=ITEMS, WIDTH=WIDTH)
            thread.continue_segment(items, before, at, found[0], WIDTH=WIDTH, OP=OP, RUNS=RUNS)
            block.store(target, items, n, WIDTH=WIDTH, VECTORIZED=False)
            with group(thread[1]):
                own[0] = end
                for k in range(3):
                    told[k] = found[k]


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, OP=function)
def reduced(x: ptr(const(T)) @ grid[1], heads: ptr(const(uint8)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i) as own, group(block[1]):
        value: T @ thread[1] = x[i]
        begins: bool @ thread[1] = heads[i] != 0
        once: T @ thread[1] = block.reduce_segments(value, begins, OP=OP)
        value = OP(value, value)
        twice: T @ thread[1] = block.reduce_segments(value, begins, OP=OP)
        with group(thread[1]):
            own[0] = OP(once, twice)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(K=dtype, T=dtype, OP=function, ITEMS=constexpr(int), EXCLUSIVE=constexpr(bool))
def by_key(
    keys: ptr(const(K)) @ grid[1],
    x: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    unique: ptr(K) @ grid[1],
    sums: ptr(T) @ grid[1],
    runs: ptr(int32) @ grid[1],
    n: int32 @ grid[1],
    identity: T @ grid[1],
):
    i: int32 @ thread[1] = id()
    with partition(y, block[1]) as target, partition(unique, block[1]) as found, partition(sums, block[1]) as results:
        with partition(runs, thread[1], i) as own, group(block[1]):
            names: K[ITEMS] @ thread[1]
            items: T[ITEMS] @ thread[1]
            block.load(keys, names, n, 0, WIDTH=ITEMS, VECTORIZED=False)
            block.load(x, items, n, identity, WIDTH=ITEMS, VECTORIZED=False)
            block.scan_by_key(names, items, identity, WIDTH=ITEMS, OP=OP, EXCLUSIVE=EXCLUSIVE)
            block.store(target, items, n, WIDTH=ITEMS, VECTORIZED=False)
            block.load(x, items, n, identity, WIDTH=ITEMS, VECTORIZED=False)
            count: int32 @ block[1] = block.reduce_by_key(names, items, n, identity, found, results, OP=OP)
            with group(thread[1]):
                own[0] = count


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", SOME, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("threads", "items", "width"), [(32, 1, 1), (96, 4, 2), (160, 3, 3)])
def test_scan(case: Case, threads: int, items: int, width: int, exclusive: bool) -> None:
    tile = threads * items
    before = case.data(20, seed=1)[-1]
    template = {"OP": case.function, "ITEMS": items, "WIDTH": width, "EXCLUSIVE": exclusive}
    for density in (0.0, 0.01, 0.3, 1.0):
        x, heads = case.data(tile), heads_of(tile, density)
        wanted, end = case.segmented(x, heads, before, exclusive)
        for schedule, seed in SCHEDULES[:2]:
            y, ends = np.zeros_like(x), np.zeros(threads, case.dtype)
            arguments = (x, heads, y, ends, tile, before, case.identity)
            scanned[1, threads](*arguments, template=template, check=True, schedule=schedule, seed=seed)
            assert np.array_equal(y, wanted)
            assert (ends == end).all()


@pytest.mark.parametrize("case", SOME, ids=str)
@pytest.mark.parametrize(("exclusive", "runs"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize(("threads", "items", "width"), [(32, 1, 1), (96, 4, 2), (64, 32, 4)])
def test_scan_of_bits(case: Case, threads: int, items: int, width: int, exclusive: bool, runs: bool) -> None:
    tile = threads * items
    before, initial = case.data(20, seed=1)[-2:]
    template = {"OP": case.function, "ITEMS": items, "WIDTH": width, "EXCLUSIVE": exclusive, "RUNS": runs}
    for density in (0.0, 0.01, 0.3):
        x, heads = case.data(tile), heads_of(tile, density)
        wanted, running, end = np.empty_like(x), before, case.identity
        with np.errstate(over="ignore"):
            for i, (value, head) in enumerate(zip(x, heads, strict=True)):
                last, running = running, initial if head else running
                here = case.meaning(running, value)
                wanted[i] = last if runs else running if exclusive else here
                running, end = here, case.meaning(initial if head else end, value)
        y, ends, facts = np.zeros_like(x), np.zeros(threads, case.dtype), np.zeros((threads, 3), np.int32)
        arguments = (x, heads, y, ends, facts, tile, before, initial, case.identity)
        headed[1, threads](*arguments, template=template, check=True)
        assert np.array_equal(y, wanted)
        assert (ends == end).all()
        (places,) = np.nonzero(heads)
        assert (facts[:, :2] == [places[0] if len(places) else tile, len(places)]).all()
        assert (facts[:, 2] == np.searchsorted(places, np.arange(threads) // 32 * 32 * items)).all()


@pytest.mark.parametrize("case", SOME, ids=str)
@pytest.mark.parametrize("threads", [32, 96, 256])
def test_reduce(case: Case, threads: int) -> None:
    for density in (0.0, 0.005, 0.03, 0.3, 1.0):
        x, heads = case.data(threads), heads_of(threads, density)
        with np.errstate(over="ignore"):
            doubled = np.array([case.meaning(v, v) for v in x], case.dtype)
            pairs = zip(case.of_segments(x, heads), case.of_segments(doubled, heads), strict=True)
            wanted = np.array([case.meaning(a, b) for a, b in pairs], case.dtype)
        for schedule, seed in SCHEDULES[:2]:
            y = np.zeros_like(x)
            template = {"OP": case.function}
            reduced[1, threads](x, heads, y, template=template, check=True, schedule=schedule, seed=seed)
            assert np.array_equal(y, wanted)


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", SOME, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("threads", "items", "longest"), [(32, 1, 1), (96, 4, 3), (96, 4, 200), (160, 3, 1000)])
def test_by_key(case: Case, threads: int, items: int, longest: int, exclusive: bool) -> None:
    tile = threads * items
    random = np.random.default_rng(0)
    for n in (tile, tile - 1, min(tile, 33), 1):
        lengths = random.integers(1, longest, n, endpoint=True)
        # Equal keys come back later: only neighbours make a run.
        keys = np.repeat(np.arange(n) % 3 - 1, lengths)[:n].astype(np.int16)
        x = case.data(n)
        heads = np.concatenate([[True], keys[1:] != keys[:-1]])
        wanted, _ = case.segmented(x, heads, case.identity, exclusive)
        ends = case.of_segments(x, heads)[heads]
        y, unique, sums = np.zeros_like(x), np.zeros(n, np.int16), np.zeros_like(x)
        runs = np.zeros(threads, np.int32)
        template = {"OP": case.function, "ITEMS": items, "EXCLUSIVE": exclusive}
        by_key[1, threads](keys, x, y, unique, sums, runs, n, case.identity, template=template, check=True)
        assert np.array_equal(y, wanted)
        assert (runs == heads.sum()).all()
        assert np.array_equal(unique, [*keys[heads], *[0] * (n - heads.sum())])
        assert np.array_equal(sums[: heads.sum()], ends) and not sums[heads.sum() :].any()


def test_they_compile() -> None:
    assert package.compile(reduced, {"T": "float16", "OP": CASES[0].function}).cubin
    template = {"K": "int64", "T": "int8", "OP": CASES[0].function, "ITEMS": 4, "EXCLUSIVE": True}
    assert package.compile(by_key, template).cubin
