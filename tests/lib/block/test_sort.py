"""Merges and sorts: stable, for any order, of any number of threads; thread.sort and thread.merge_path with them.

Tests of prism/lib/block: rank, sort; prism/lib/thread/sort.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import MachineError, run
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
from prism.lib.thread import operators
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers


@prism("device")
@requires(thread[1])
def tens(a: int32 @ thread[1], b: int32 @ thread[1]) -> bool @ thread[1]:
    """Compares all but the last digit, so that equal elements can be told apart."""
    return a // 10 < b // 10


@prism("device")
@requires(thread[1])
def descending(a: uint32 @ thread[1]) -> uint32 @ thread[1]:
    return ~a


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
@requires(grid[1], block[1], thread[THREADS])
def sorted_tile(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, group(block[1]):
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[i * ITEMS + k]
        block.merge_sort(items, THREADS=THREADS, LESS=LESS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
@requires(grid[1], block[1], thread[THREADS])
def sorted_pairs(keys: ptr(const(T)) @ grid[1], y: ptr(int32) @ grid[1], z: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, partition(z, thread[1], i * ITEMS) as own, group(block[1]):
        names: T[ITEMS] @ thread[1]
        items: int32[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                names[k] = keys[i * ITEMS + k]
                items[k] = i * ITEMS + k
        block.merge_sort_pairs(names, items, THREADS=THREADS, LESS=LESS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]
                own[k] = names[k]


@prism("global")
@template(
    T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), KEY=function, FIRST=constexpr(int), LAST=constexpr(int)
)
@requires(grid[1], block[1], thread[THREADS])
def radix_sorted(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, group(block[1]):
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[i * ITEMS + k]
        block.radix_sort(items, THREADS=THREADS, KEY=KEY, FIRST=FIRST, LAST=LAST)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
@requires(grid[1], block[1], thread[THREADS])
def merged(
    a: ptr(const(T)) @ grid[1],
    b: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    size_a: int32 @ grid[1],
    size_b: int32 @ grid[1],
    otherwise: T @ grid[1],
):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, group(block[1]):
        items: T[ITEMS] @ thread[1]
        block.merge(a, size_a, b, size_b, items, otherwise, THREADS=THREADS, LESS=LESS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


@prism("global")
@template(T=dtype, V=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), LESS=function)
@requires(grid[1], block[1], thread[THREADS])
def merged_pairs(
    a: ptr(const(T)) @ grid[1],
    a_items: ptr(const(V)) @ grid[1],
    b: ptr(const(T)) @ grid[1],
    b_items: ptr(const(V)) @ grid[1],
    y: ptr(T) @ grid[1],
    z: ptr(V) @ grid[1],
    size_a: int32 @ grid[1],
    size_b: int32 @ grid[1],
):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, partition(z, thread[1], i * ITEMS) as own, group(block[1]):
        keys: T[ITEMS] @ thread[1]
        items: V[ITEMS] @ thread[1]
        block.merge_pairs(a, a_items, size_a, b, b_items, size_b, keys, items, T(7), V(9), THREADS=THREADS, LESS=LESS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = keys[k]
                own[k] = items[k]


@prism("global")
@template(
    T=dtype, ITEMS=constexpr(int), THREADS=constexpr(int), KEY=function, FIRST=constexpr(int), LAST=constexpr(int)
)
@requires(grid[1], block[1], thread[THREADS])
def radix_sorted_pairs(keys: ptr(const(T)) @ grid[1], y: ptr(int32) @ grid[1], z: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, partition(z, thread[1], i * ITEMS) as own, group(block[1]):
        names: T[ITEMS] @ thread[1]
        items: int32[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                names[k] = keys[i * ITEMS + k]
                items[k] = i * ITEMS + k
        block.radix_sort_pairs(names, items, THREADS=THREADS, KEY=KEY, FIRST=FIRST, LAST=LAST)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]
                own[k] = names[k]


@prism("global")
@template(ITEMS=constexpr(int), THREADS=constexpr(int), BITS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def ranked(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i * ITEMS) as mine, group(block[1]):
        digits: int32[ITEMS] @ thread[1]
        ranks: int32[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                digits[k] = x[i * ITEMS + k]
        block.radix_rank(digits, ranks, THREADS=THREADS, BITS=BITS)
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = ranks[k]


SHAPES = [(32, 1), (96, 4), (160, 3), (64, 8)]


@pytest.mark.covering(2)
@pytest.mark.parametrize("kind", ["int32", "float32", "uint8"])
@pytest.mark.parametrize("downwards", [False, True])
@pytest.mark.parametrize(("threads", "items"), SHAPES)
def test_merge_sort(threads: int, items: int, kind: str, downwards: bool) -> None:
    x = np.random.default_rng(0).integers(0, 200, threads * items).astype(kind)
    template = {"ITEMS": items, "THREADS": threads, "LESS": operators.greater if downwards else operators.less}
    for schedule, seed in SCHEDULES[:2]:
        y = np.zeros_like(x)
        sorted_tile[1, threads](x, y, template=template, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, np.sort(x)[::-1] if downwards else np.sort(x))


@pytest.mark.parametrize("data", ["sorted", "reversed", "equal", "nan"])
def test_extreme_tiles(data: str) -> None:
    x = np.arange(384, dtype=np.float32)
    x = {"sorted": x, "reversed": x[::-1].copy(), "equal": 0 * x, "nan": np.where(x % 3 == 0, np.nan, -x)}[data]
    y = np.zeros_like(x, np.float32)
    template = {"ITEMS": 4, "THREADS": 96, "LESS": operators.less}
    sorted_tile[1, 96](x.astype(np.float32), y, template=template, check=True)
    assert np.array_equal(y, np.sort(x), equal_nan=True)  # NaN last, as NumPy's


@pytest.mark.parametrize(("threads", "items"), SHAPES)
def test_equal_ones_keep_their_order(threads: int, items: int) -> None:
    n = threads * items
    x = np.random.default_rng(0).integers(0, 100, n, dtype=np.int32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    template = {"ITEMS": items, "THREADS": threads, "LESS": tens}
    sorted_tile[1, threads](x, y, template=template, check=True)
    assert np.array_equal(y, x[np.argsort(x // 10, kind="stable")])
    sorted_pairs[1, threads](x, y, z, template=template, check=True)
    assert np.array_equal(y, np.argsort(x // 10, kind="stable"))
    assert np.array_equal(z, x[y])


@pytest.mark.parametrize(("threads", "items"), SHAPES)
@pytest.mark.parametrize("bits", [1, 4, 5])
def test_radix_rank(threads: int, items: int, bits: int) -> None:
    x = np.random.default_rng(0).integers(0, 2**bits, threads * items, dtype=np.int32)
    y = np.zeros_like(x)
    for schedule, seed in SCHEDULES[:3]:
        template = {"ITEMS": items, "THREADS": threads, "BITS": bits}
        ranked[1, threads](x, y, template=template, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(np.argsort(y), np.argsort(x, kind="stable"))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("threads", "items"), SHAPES[:3])
@pytest.mark.parametrize(
    ("kind", "key", "bits"),
    [
        ("int32", operators.bits_of_int32, (0, 32)),
        ("float32", operators.bits_of_float32, (0, 32)),
        ("uint32", operators.bits_of_uint32, (3, 9)),
        ("uint32", descending, (0, 32)),
    ],
)
def test_radix_sort(threads: int, items: int, kind: str, key, bits: tuple[int, int]) -> None:
    n = threads * items
    words = np.random.default_rng(0).integers(0, 2**32, n, dtype=np.uint32)
    x = words.view(kind) if kind != "float32" else (words.astype(np.float32) - 2**31)
    wanted = (
        np.argsort((words >> bits[0]) & ((1 << (bits[1] - bits[0])) - 1), kind="stable")
        if bits[0]
        else np.argsort(x, kind="stable")
    )
    wanted = np.argsort(-x.astype(np.int64), kind="stable") if key is descending else wanted
    y = np.zeros_like(x)
    template = {"ITEMS": items, "THREADS": threads, "KEY": key, "FIRST": bits[0], "LAST": bits[1]}
    radix_sorted[1, threads](x, y, template=template, check=True)
    assert np.array_equal(y, x[wanted])
    z = np.zeros(n, np.int32)
    radix_sorted_pairs[1, threads](x, z, y, template=template, check=True)
    assert np.array_equal(z, wanted) and np.array_equal(y, x[wanted])


@pytest.mark.parametrize(("size_a", "size_b"), [(0, 0), (0, 100), (100, 0), (1, 127), (64, 64), (70, 41)])
def test_merge(size_a: int, size_b: int) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 200, size, dtype=np.int32) for size in (size_a, size_b))
    a, b = (run[np.argsort(run // 10, kind="stable")] for run in (a, b))
    y = np.zeros(128, np.int32)
    merged[1, 32](a, b, y, size_a, size_b, -1, template={"ITEMS": 4, "THREADS": 32, "LESS": tens}, check=True)
    both = np.concatenate([a, b])
    assert np.array_equal(y, [*both[np.argsort(both // 10, kind="stable")], *[-1] * (128 - size_a - size_b)])


@pytest.mark.parametrize(("size_a", "size_b"), [(0, 0), (0, 60), (60, 0), (1, 127), (70, 41)])
def test_merge_pairs(size_a: int, size_b: int) -> None:
    random = np.random.default_rng(0)
    runs = [random.integers(0, 200, size, dtype=np.int32) for size in (size_a, size_b)]
    a, b = (run[np.argsort(run // 10, kind="stable")] for run in runs)
    names = np.arange(size_a + size_b, dtype=np.int16)
    y, z = np.zeros(128, np.int32), np.zeros(128, np.int16)
    template = {"ITEMS": 4, "THREADS": 32, "LESS": tens}
    given = (a, names[:size_a].copy(), b, names[size_a:].copy(), y, z, size_a, size_b)
    merged_pairs[1, 32](*given, template=template, check=True)
    both = np.concatenate([a, b])
    order, rest = np.argsort(both // 10, kind="stable"), 128 - size_a - size_b
    assert np.array_equal(y, [*both[order], *[7] * rest]) and np.array_equal(z, [*names[order], *[9] * rest])


LESS = {"ITEMS": 4, "THREADS": 64, "LESS": operators.less}
RADIX = {"ITEMS": 4, "THREADS": 64, "KEY": operators.bits_of_int32, "FIRST": 0, "LAST": 16}
SOME = np.random.default_rng(0).integers(0, 200, 256, dtype=np.int32)
RUNS = np.sort(SOME[:140]), np.sort(SOME[140:])
NONE = np.zeros(256, np.int32)


@pytest.mark.parametrize(
    ("kernel", "template", "given"),
    [
        (sorted_tile, {"T": "int32", **LESS}, (SOME, NONE)),
        (sorted_pairs, {"T": "int32", **LESS}, (SOME, NONE, NONE.copy())),
        (radix_sorted, {"T": "int32", **RADIX}, (SOME, NONE)),
        (radix_sorted_pairs, {"T": "int32", **RADIX}, (SOME, NONE, NONE.copy())),
        (merged, {"T": "int32", **LESS}, (*RUNS, NONE, 140, 116, 7)),
        (
            merged_pairs,
            {"T": "int32", "V": "int32", **LESS},
            (RUNS[0], RUNS[0], RUNS[1], RUNS[1], NONE, NONE.copy(), 140, 116),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_barrier_is_needed(kernel, template, given) -> None:
    """Data of all digits, and of one digit, which are ranked in another way."""
    found = list(without_barriers(package.check(kernel, template)))
    assert found
    tried = [given, (given[0] // 200, *given[1:])] if "KEY" in template else [given]
    for barrier, mutant in found:
        with pytest.raises(MachineError):
            for arguments in tried:
                for schedule, seed in SCHEDULES:
                    run(mutant, 1, 64, [np.copy(a) for a in arguments], check=True, schedule=schedule, seed=seed)
            print(barrier.first.text, barrier.second.text)


def test_they_compile() -> None:
    template = {"T": "int32", "ITEMS": 4, "THREADS": 96, "LESS": operators.less}
    assert package.compile(sorted_tile, {**template, "T": "float16"}).cubin
    assert package.compile(sorted_pairs, template).cubin
    assert package.compile(merged, {"T": "int32", "ITEMS": 4, "THREADS": 32, "LESS": operators.less}).cubin
    key = {"KEY": operators.bits_of_float32, "FIRST": 0, "LAST": 32}
    assert package.compile(radix_sorted, {"T": "float32", "ITEMS": 4, "THREADS": 96, **key}).cubin
