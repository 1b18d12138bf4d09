"""Kernels that begin before the one before them has ended see all that it wrote: in streams, graphs, past early returns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lang import block, const, grid, group, id, int32, partition, prism, ptr, requires, thread

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

THREADS = 128


@prism("global")
@requires(grid[1], block[1], thread[THREADS])
def moved(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], spins: int32 @ grid[1]):
    """`y[i] = x[(i + 12345) % n] + 1`, in some blocks late; `spins` is how late. Nothing where n is negative."""
    t: int32 @ thread[1] = id()
    b: int32 @ block[1] = id()
    if n < 0:
        return
    with partition(y, thread[1], offset=t) as mine, group(thread[1]):
        late: int32 = 0
        for k in range(spins if b % 7 == 3 else 0):
            late = (late * 5 + k) % 1000003
        if t < n and late >= 0:
            mine[0] = x[(t + 12345) % n] + 1


def expected(x: np.ndarray, times: int) -> np.ndarray:
    return np.roll(x, -12345 * times) + times


@pytest.mark.parametrize("spins", [0, 2000])
@pytest.mark.parametrize("blocks", [3, 264, 3000])
@pytest.mark.parametrize("between", [False, True], ids=["alone", "with-ones-that-return"])
def test_each_sees_what_the_one_before_wrote(blocks: int, spins: int, between: bool) -> None:
    n, times = blocks * THREADS, 60
    start = np.random.default_rng(0).integers(0, 1000, n).astype(np.int32)
    x, y = cupy.asarray(start), cupy.zeros(n, "i4")
    for _ in range(times):
        moved[blocks, THREADS](x, y, n, spins)
        if between:
            moved[blocks, THREADS](x, y, -1, spins)
        x, y = y, x
    np.testing.assert_array_equal(x.get(), expected(start, times))


def test_in_a_graph() -> None:
    n = 264 * THREADS
    start = np.arange(n, dtype=np.int32)
    x, y = cupy.asarray(start), cupy.zeros(n, "i4")
    moved[264, THREADS](x, y, n, 0)  # ready before the capture
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        for _ in range(20):
            moved[264, THREADS](x, y, n, 500)
            moved[264, THREADS](y, x, n, 500)
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch()
    stream.synchronize()
    np.testing.assert_array_equal(x.get(), expected(start, 120))


def test_behind_and_before_what_others_launch() -> None:
    n = 264 * THREADS
    x = cupy.asarray(np.arange(n, dtype=np.int32))
    want = np.arange(n, dtype=np.int32)
    for _ in range(30):
        y = cupy.empty_like(x)
        x *= 3
        moved[264, THREADS](x, y, n, 500)
        x = y - 7
        want = expected(want * 3, 1) - 7
    np.testing.assert_array_equal(x.get(), want)


# -- The library's: what they prefetch, before they wait, is what the one before still writes -------------------------------

ROUNDS, REPEATS = 6, 50


def played(a: Any, b: Any, scan: Callable[[Any], None], total: Callable[[Any, Any, int], None]) -> None:
    """Scan two arrays in place, again and again, and put sums of each into the other: each reads what the one before wrote."""
    for k in range(ROUNDS):
        scan(a)
        scan(a)
        at = k * 7919 * 13 % a.size
        total(a, b, at)
        total(b, a, a.size - 1 - at)
        scan(b)


@functools.lru_cache(maxsize=1)
def played_on_the_host(kind: str, log: int) -> tuple[np.ndarray, ...]:
    """Return two arrays, and what becomes of them."""
    random = np.random.default_rng(log)
    given = [random.integers(-(2**31), 2**31, 1 << log).astype(kind) for _ in range(2)]
    a, b = (x.copy() for x in given)

    def scan(x: np.ndarray) -> None:
        x[...] = np.cumsum(x, dtype=kind)

    def total(x: np.ndarray, y: np.ndarray, at: int) -> None:
        y[at] = x.sum(dtype=kind)

    played(a, b, scan, total)
    return (*given, a, b)


@pytest.mark.parametrize("log", [12, 17, 20, 21, 22, 23, 24])
@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("captured", [False, True], ids=["stream", "graph"])
def test_the_librarys_kernels_see_what_the_one_before_wrote(kind: str, log: int, captured: bool) -> None:
    *given, first, second = (cupy.asarray(x) for x in played_on_the_host(kind, log))
    a, b = (cupy.empty_like(x) for x in given)
    cupy.cuda.Device().synchronize()  # arrays are copied to the GPU on another stream than what follows

    def scan(x: Any) -> None:
        lib.scan(x, out=x)

    def total(x: Any, y: Any, at: int) -> None:
        lib.reduce(x, out=y[at : at + 1].reshape(()))

    wrong = cupy.zeros((REPEATS, 2), cupy.int64)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        scan(a), total(a, b, 0)  # ready before the capture
        if captured:
            stream.begin_capture()
            played(a, b, scan, total)
            graph = stream.end_capture()
        for k in range(REPEATS):
            a[...], b[...] = given
            graph.launch() if captured else played(a, b, scan, total)
            wrong[k, 0], wrong[k, 1] = cupy.count_nonzero(a != first), cupy.count_nonzero(b != second)
    stream.synchronize()
    bad = [(k, *counts) for k, counts in enumerate(wrong.tolist()) if any(counts)]
    last = [int(cupy.argmax(x != y)) for x, y in ((a, first), (b, second))]  # where the last repeat is wrong first
    assert not bad, f"{len(bad)} of {REPEATS} are wrong, {bad[:4]}...; {last}"
