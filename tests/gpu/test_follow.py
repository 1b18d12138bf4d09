"""Kernels that begin before the one before them has ended see all that it wrote: in streams, graphs, past early returns."""

from __future__ import annotations

import numpy as np
import pytest

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
