"""Random calls of sorts, segments, merges, first elements and sorts by merging, beside NumPy, in several processes.

    python -m tests.gpu.random_orders [--kinds 24] [--calls 1000] [--first 0] [--jobs 8] [--seconds 60] [FUNCTION ...]

Needs a GPU and CuPy. A seed decides what chooses kernels, so that there are few to compile; a number decides lengths and data. Of
each function so many calls run, with so many seeds, but none begins after so many seconds. It prints how many ran, and the
function, seed and number of each that failed, and ends with 1 if one did.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

DTYPES = ["uint8", "int16", "float16", "uint32", "int32", "float32", "uint64", "int64", "float64"]
Random = np.random.Generator


def data(random: Random, dtype: str, n: int) -> np.ndarray:
    """Return an array: uniform bits, few values, sorted, half of it one value, small numbers; floats have zeros of both signs."""
    of, kind = np.dtype(dtype), random.integers(6)
    if of.kind == "f":
        x = random.standard_normal(n).astype(of) * of.type(10.0 ** random.integers(-2, 3))
        some = random.random(n)
        for k, one in enumerate((0.0, -0.0, np.nan, -np.nan)[: random.choice([0, 2, 4])]):
            x[(some > 0.1 * k) & (some < 0.1 * k + 0.03)] = one
    else:
        x = random.integers(0, 256, n * of.itemsize, dtype=np.uint8).view(of)
    if kind == 1:
        x = x[random.integers(0, min(n, 5), n)]
    elif kind == 2:
        x = np.sort(x)
    elif kind == 3:
        x = np.where(random.random(n) < 0.5, x[n // 2], x)
    elif kind == 4:
        x = (x.astype(np.float64) if of.kind == "f" else x % of.type(100)).astype(of)
    return np.ascontiguousarray(x)


def order_of(x: np.ndarray, falling: bool, segments: np.ndarray | None = None) -> np.ndarray:
    """Return the stable order of an array, of each segment by itself where there are numbers of these."""
    keys = (-x if x.dtype.kind == "f" else ~x) if falling else x
    return np.argsort(keys, kind="stable") if segments is None else np.lexsort((keys, segments))


def same(found: Any, wanted: np.ndarray) -> None:
    """Compare bits, but for those of NaN."""
    got = found.get()
    assert got.dtype == wanted.dtype and got.shape == wanted.shape, (got.dtype, got.shape)
    there = wanted == wanted
    assert np.array_equal(got == got, there) and got[there].tobytes() == wanted[there].tobytes()


def check_sort(seed: int, number: int) -> None:
    """By blocks, clusters, ranges, blocks that all run at once, and digits."""
    kind, random = np.random.default_rng(seed), np.random.default_rng([seed, number])
    dtype, falling, what = kind.choice(DTYPES), bool(kind.integers(2)), kind.integers(3)
    low, high = ((13, 14), (14, 16), (14, 16), (16, 18), (18, 20))[kind.integers(5)]
    check_one(data(random, dtype, int(random.integers((1 << low) + 1, (1 << high) + 1))), what, falling)


def check_wide(seed: int, number: int) -> None:
    """By wide digits, or by bytes where these don't do."""
    kind, random = np.random.default_rng(seed), np.random.default_rng([seed, number])
    x = data(random, "float32", (1 << 24) + int(random.integers(1 << 20)))
    if random.random() < 0.5:
        x[np.isnan(x) | (x == 0)] = 1
    check_one(x, kind.integers(3), bool(kind.integers(2)))


def check_alone(seed: int, number: int) -> None:
    """Keys of 4 bytes alone: by ranges, by shares, or by digits where these fail; many whole numbers by groups, or by passes."""
    import cupy

    from prism import lib

    kind, random = np.random.default_rng(seed), np.random.default_rng([seed, number])
    dtype, falling = ("uint32", "int32", "float32")[kind.integers(3)], bool(kind.integers(2))
    if dtype == "float32" or kind.random() < 0.6:
        low, high = ((14, 16), (16, 17), (17, 18), (18, 20))[kind.integers(4)]
        check_one(data(random, dtype, int(random.integers((1 << low) + 1, (1 << high) + 1))), 0, falling)
        return
    x = data(random, dtype, int(random.integers(1 << 23, (1 << 24) + 1)))
    wanted = np.sort(x)[::-1] if falling else np.sort(x)
    same(lib.sort(cupy.asarray(x), descending=falling), wanted)


def check_one(x: np.ndarray, what: int, falling: bool) -> None:
    """Sort an array, find its order, or sort it with values, and compare with NumPy."""
    import cupy

    from prism import lib

    order, put = order_of(x, falling), cupy.asarray(x)
    if what == 0:
        same(lib.sort(put, descending=falling), x[order])
    elif what == 1:
        same(lib.argsort(put, descending=falling), order)
    else:
        values = np.arange(x.size, dtype=np.uint32) * np.uint32(7)
        keys, moved = lib.sort_by_key(put, cupy.asarray(values), descending=falling)
        same(keys, x[order])
        same(moved, values[order])


def check_segments(seed: int, number: int) -> None:
    """Segments of all lengths, with gaps before and behind; of few lengths, so that lists are empty or all."""
    import cupy

    from prism import lib

    kind, random = np.random.default_rng(seed), np.random.default_rng([seed, number])
    dtype, falling, what = kind.choice(DTYPES), bool(kind.integers(2)), kind.integers(4)
    mean = int(kind.choice([3, 16, 40, 256, 700, 4096, 20_000]))
    many = int(random.integers(1, max(2, 200_000 // mean)))
    spread = random.integers(3)
    lengths = random.integers(0, 2 * mean + 1, many) if spread < 2 else np.full(many, mean)
    if spread == 1:  # some are much longer
        lengths[random.integers(0, many, 3)] *= int(random.integers(2, 30))
    offsets = np.concatenate([[0], np.cumsum(lengths)]) + int(random.integers(0, 5))
    n = int(offsets[-1]) + int(random.integers(0, 5))
    x = data(random, dtype, max(n, 1))
    numbers = np.searchsorted(offsets, np.arange(x.size), side="right")
    order = order_of(x, falling, numbers)
    inside = (numbers > 0) & (numbers <= many)
    order[~inside] = np.flatnonzero(~inside)
    put, bounds = cupy.asarray(x), cupy.asarray(offsets)
    if what == 0:
        same(lib.segmented_sort(put, bounds, descending=falling), x[order])
    elif what == 1:
        starts = np.concatenate([[0], offsets])[np.clip(numbers, 0, many)]
        wanted = np.where(inside, order - starts, -1)
        same(lib.segmented_argsort(put, bounds, descending=falling), wanted)
    elif what == 2:
        values = np.arange(x.size, dtype=np.uint32) * np.uint32(7)
        keys, moved = lib.segmented_sort_by_key(put, cupy.asarray(values), bounds, descending=falling)
        same(keys, x[order])
        same(moved, values[order])
    else:
        k = int(kind.choice([1, 5, 40]))
        order = order_of(x, True, numbers)[inside[order_of(x, True, numbers)]]
        places = lib.segmented_top_k(put, bounds, k)[1].get()
        wanted = np.full((many, k), -1)
        rank = np.arange(order.size) - (offsets[:-1] - offsets[0])[numbers[order] - 1]
        short = rank < k
        wanted[numbers[order][short] - 1, rank[short]] = (order - offsets[:-1][numbers[order] - 1])[short]
        assert np.array_equal(places, wanted)


def check_merge(seed: int, number: int) -> None:
    """Two runs, with and without values, in the order of numbers and by a comparator."""
    import cupy

    from prism import lib

    kind, random = np.random.default_rng(seed), np.random.default_rng([seed, number])
    dtype, what = kind.choice(DTYPES), kind.integers(3)
    sizes = random.integers(0, 1 << int(kind.choice([8, 16, 19])), 2)
    runs = [np.sort(one[one == one]) for one in (data(random, dtype, int(size) + 1) for size in sizes)]
    both = np.concatenate(runs)
    a, b = (cupy.asarray(run) for run in runs)
    order = order_of(both, False)
    if what == 0:
        same(lib.merge(a, b), both[order])
    elif what == 1:
        same(lib.merge(a, b, less=lambda a, b: not b <= a), both[order])
    else:
        values = np.arange(both.size, dtype=np.uint32)
        keys, moved = lib.merge_by_key(a, cupy.asarray(values[: a.size]), b, cupy.asarray(values[a.size :]))
        same(keys, both[order])
        same(moved, values[order])


def check_less(seed: int, number: int) -> None:
    """Sorts by merging: four runs at a time."""
    import cupy

    from prism import lib

    kind, random = np.random.default_rng(seed), np.random.default_rng([seed, number])
    dtype, falling, what = kind.choice(DTYPES), bool(kind.integers(2)), kind.integers(3)
    x = data(random, dtype, int(random.integers(1, 1 << int(kind.choice([12, 16, 19])))))
    x[x != x] = 0  # NaN has no place in these orders
    less = (lambda a, b: not a <= b) if falling else (lambda a, b: not b <= a)
    order, put = order_of(x, falling), cupy.asarray(x)
    if what == 0:
        same(lib.sort(put, less=less), x[order])
    elif what == 1:
        same(lib.argsort(put, less=less), order)
    else:
        values = np.arange(x.size, dtype=np.uint32) * np.uint32(7)
        keys, moved = lib.sort_by_key(put, cupy.asarray(values), less=less)
        same(keys, x[order])
        same(moved, values[order])


def check_top(seed: int, number: int) -> None:
    """First elements of rows of all lengths."""
    import cupy

    from prism import lib

    kind, random = np.random.default_rng(seed), np.random.default_rng([seed, number])
    dtype, largest, k = kind.choice(DTYPES), bool(kind.integers(2)), int(kind.choice([1, 10, 100, 1000]))
    most = int(kind.choice([2000, 8192, 1 << 15, 1 << 20]))
    length = int(random.integers(max(k, most // 4), most + 1)) // 16 * 16 + int(random.choice([0, 0, 1]))
    length = max(length, k)
    rows = int(random.integers(1, max(2, min(2000, (1 << 20) // length))))
    x = data(random, dtype, rows * length).reshape(rows, length)
    keys = (-x if x.dtype.kind == "f" else ~x) if largest else x
    order = np.argsort(keys, axis=1, kind="stable")[:, :k]
    values, places = lib.top_k(cupy.asarray(x), k, largest=largest)
    assert np.array_equal(places.get(), order)
    same(values, np.take_along_axis(x, order, 1))


CHECKS = {
    "sort": check_sort,
    "wide": check_wide,
    "alone": check_alone,
    "segments": check_segments,
    "merge": check_merge,
    "less": check_less,
    "top": check_top,
}
Check = Callable[[int, int], None]
Kind = tuple[str, Check, int, int, int, float]
"""A function's name, what checks it, a seed, the number of the first call, how many there are, and when none begins any more."""


def run_kind(kind: Kind) -> tuple[str, int, list[str]]:
    """Return the function, how many calls ran, and what is to be said of those that failed."""
    name, check, seed, first, calls, end = kind
    failed, ran = [], 0
    while ran < calls and time.time() < end:
        try:
            check(seed, first + ran)
        except Exception as wrong:  # of any kind: it is told, and others go on
            what = " ".join(f"{type(wrong).__name__}: {wrong}".split())
            failed.append(f"FAILED {name}: {check.__name__}({seed}, {first + ran}): {what[:300]}")
        ran += 1
    return name, ran, failed


def main(checks: Mapping[str, Check], told: str) -> int:
    """Run what the command line asks for of some checks, which a text tells of."""
    parser = argparse.ArgumentParser(description=told.splitlines()[0])
    parser.add_argument("functions", nargs="*", default=[*checks], metavar="FUNCTION", help=", ".join(checks))
    parser.add_argument("--kinds", type=int, default=24, help="seeds of each function")
    parser.add_argument("--calls", type=int, default=1000, help="calls of each function")
    parser.add_argument("--first", type=int, default=0, help="number of the first call of each seed")
    parser.add_argument("--jobs", type=int, default=8, help="processes")
    parser.add_argument("--seconds", type=float, default=60.0, help="begin nothing more after this")
    options = parser.parse_args()
    begin = time.time()
    each = -(-options.calls // options.kinds)
    until = begin + options.seconds
    kinds = [
        (name, checks[name], seed, options.first, each, until)
        for seed in range(options.kinds)
        for name in options.functions
    ]
    many, failures = dict.fromkeys(options.functions, 0), 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for done, (name, ran, failed) in enumerate(pool.imap_unordered(run_kind, kinds), 1):
            many[name] += ran
            failures += len(failed)
            print(*failed, sep="\n", end="\n" * bool(failed), flush=True)
            if done % 20 == 0 or done == len(kinds):
                counts = ", ".join(f"{name} {number}" for name, number in many.items())
                print(
                    f"{sum(many.values())} calls, {failures} failed, {time.time() - begin:.0f} s: {counts}", flush=True
                )
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(CHECKS, __doc__))
