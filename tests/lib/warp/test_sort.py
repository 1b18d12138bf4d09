"""Networks of lane groups: every size of group and number of items, equal elements, structs, and pairs that keep their order.

Tests of prism/lib/warp: sort; prism/lib/thread/sort.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.lang import (
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
    uint64,
    warp,
)
from prism.lib.thread import operators
from tests.lib.block.test_sort import tens


@prism("device")
@requires(thread[1])
def by_high_word(a: uint64 @ thread[1], b: uint64 @ thread[1]) -> bool @ thread[1]:
    """An order in which elements are equal that are not the same."""
    return a >> 32 < b >> 32


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function, TOTAL=constexpr(bool))
@requires(grid[1], thread[32])
def sorted_groups(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, group(warp[1]):
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[i * ITEMS + k]
        warp.sort(items, SIZE=SIZE, LESS=LESS, TOTAL=TOTAL)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function)
@requires(grid[1], thread[32])
def sorted_group_pairs(keys: ptr(const(T)) @ grid[1], y: ptr(int32) @ grid[1], z: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, partition(z, thread[1], i * ITEMS) as own, group(warp[1]):
        names: T[ITEMS] @ thread[1]
        items: int32[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                names[k] = keys[i * ITEMS + k]
                items[k] = i * ITEMS + k
        warp.sort_pairs(names, items, SIZE=SIZE, LESS=LESS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]
                own[k] = names[k]


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), LESS=function)
@requires(grid[1], thread[32])
def sorted_alone(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1]):
    """Each thread's elements sorted; and what is kept of the first two of them."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, partition(z, thread[1], i * 2) as own, group(thread[1]):
        items: T[ITEMS]
        for k in range(ITEMS):
            items[k] = x[i * ITEMS + k]
        thread.sort_network(items, LESS=LESS)
        for k in range(ITEMS):
            mine[k] = items[k]
        own[0] = thread.keep(x[i * ITEMS], x[i * ITEMS + 1], True, LESS=LESS, TOTAL=False)
        own[1] = thread.keep(x[i * ITEMS], x[i * ITEMS + 1], False, LESS=LESS, TOTAL=True)


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), SIZE=constexpr(int), LESS=function)
@requires(grid[1], thread[32])
def merged_groups(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, partition(z, thread[1], i * ITEMS) as own, group(warp[1]):
        items: T[ITEMS] @ thread[1]
        others: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[i * ITEMS + k]
                others[k] = items[k]
            thread.merge_bitonic(others, ITEMS, LESS=LESS)
        warp.merge_bitonic(items, SIZE=SIZE, LESS=LESS, TOTAL=True)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]
                own[k] = others[k]


def data(kind: str, n: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.integers(0, 2**40, n).astype(kind) if kind == "uint64" else random.integers(0, 90, n).astype(kind)


@pytest.mark.covering(2)
@pytest.mark.parametrize("kind", ["uint32", "uint64", "float32", "int8"])
@pytest.mark.parametrize("items", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32])
def test_each_group_is_sorted(size: int, items: int, kind: str) -> None:
    x = data(kind, 64 * items)
    y = np.zeros_like(x)
    for total in (False, True):
        template = {"ITEMS": items, "SIZE": size, "LESS": operators.less, "TOTAL": total}
        sorted_groups[1, 64](x, y, template=template, check=True)
        assert np.array_equal(y.reshape(-1, size * items), np.sort(x.reshape(-1, size * items), axis=1))


@pytest.mark.parametrize("kind", ["sorted", "reversed", "equal", "two"])
def test_extreme_groups(kind: str) -> None:
    x = np.arange(256, dtype=np.uint32)
    x = {"sorted": x, "reversed": x[::-1].copy(), "equal": 0 * x, "two": x % 2}[kind]
    y = np.zeros_like(x)
    template = {"ITEMS": 8, "SIZE": 32, "LESS": operators.less, "TOTAL": True}
    sorted_groups[1, 32](x, y, template=template, check=True)
    assert np.array_equal(y, np.sort(x))


@pytest.mark.parametrize(("size", "items"), [(4, 4), (32, 2)])
def test_equal_elements_are_all_kept(size: int, items: int) -> None:
    """Elements that are equal, and not the same: none is lost, though in any order."""
    x = np.random.default_rng(0).integers(0, 5, 64 * items, dtype=np.uint64) << np.uint64(32)
    x |= np.arange(x.size, dtype=np.uint64)
    y = np.zeros_like(x)
    template = {"ITEMS": items, "SIZE": size, "LESS": by_high_word, "TOTAL": False}
    sorted_groups[1, 64](x, y, template=template, check=True)
    rows, found = x.reshape(-1, size * items), y.reshape(-1, size * items)
    assert np.array_equal(np.sort(rows, axis=1), np.sort(found, axis=1))
    assert (np.diff((found >> np.uint64(32)).astype(np.int64), axis=1) >= 0).all()


@pytest.mark.covering(2)
@pytest.mark.parametrize("items", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("less", [tens, operators.greater])
def test_pairs_keep_their_order(size: int, items: int, less) -> None:
    x = data("int32", 64 * items)
    y, z = np.zeros_like(x), np.zeros_like(x)
    sorted_group_pairs[1, 64](x, y, z, template={"ITEMS": items, "SIZE": size, "LESS": less}, check=True)
    ranks = (x // 10 if less is tens else -x).reshape(-1, size * items)
    wanted = np.argsort(ranks, axis=1, kind="stable") + np.arange(len(ranks))[:, None] * size * items
    assert np.array_equal(y, wanted.ravel()) and np.array_equal(z, x[y])


@pytest.mark.parametrize("items", [2, 4, 16])
def test_one_thread_sorts(items: int) -> None:
    x = data("int32", 32 * items)
    y, z = np.zeros_like(x), np.zeros(64, np.int32)
    sorted_alone[1, 32](x, y, z, template={"ITEMS": items, "LESS": operators.less}, check=True)
    assert np.array_equal(y.reshape(-1, items), np.sort(x.reshape(-1, items), axis=1))
    assert np.array_equal(z.reshape(-1, 2), np.sort(x.reshape(-1, items)[:, :2], axis=1))


@pytest.mark.parametrize(("size", "items"), [(1, 8), (4, 2), (32, 4)])
def test_what_rises_and_falls_is_merged(size: int, items: int) -> None:
    """Of a group, and of each thread's elements: a rising half before a falling one, and all of it turned by some places."""
    rows = np.sort(data("uint32", 32 * items).reshape(-1, size * items), axis=1)
    half = rows.shape[1] // 2
    rows[:, half:] = rows[:, half:][:, ::-1]
    alone = np.sort(data("uint32", 32 * items, 1).reshape(-1, items), axis=1)
    alone[:, items // 2 :] = alone[:, items // 2 :][:, ::-1]
    template = {"ITEMS": items, "SIZE": size, "LESS": operators.less}
    for x in (rows, np.roll(rows, 3, axis=1)):
        y, z = np.zeros(32 * items, np.uint32), np.zeros(32 * items, np.uint32)
        merged_groups[1, 32](x.ravel(), y, z, template=template, check=True)
        assert np.array_equal(y.reshape(rows.shape), np.sort(x, axis=1))
        merged_groups[1, 32](np.roll(alone, 1, axis=1).ravel(), y, z, template=template, check=True)
        assert np.array_equal(z.reshape(alone.shape), np.sort(alone, axis=1))


def test_they_compile() -> None:
    template = {"T": "uint32", "ITEMS": 8, "SIZE": 32, "LESS": operators.less, "TOTAL": True}
    for kind in ("uint32", "uint64"):
        found = package.compile(sorted_groups, {**template, "T": kind}, arch="sm_90a")
        assert found.spills == 0 and "__syncthreads" not in found.cuda
    pairs = {"T": "float16", "ITEMS": 4, "SIZE": 8, "LESS": operators.less}
    assert package.compile(sorted_group_pairs, pairs, arch="sm_90a").spills == 0
