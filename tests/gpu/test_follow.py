"""Kernels that begin before the one before them has ended see all that it wrote: in streams, graphs, past early returns.

In graphs they begin early behind Prism's own alone: the edges of what was captured tell.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lang import block, const, grid, group, id, int32, partition, prism, ptr, requires, thread
from prism.runtime.driver import check, driver

try:
    import cupy
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need them, and fail
    cupy = torch = None

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
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
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


# -- In graphs: which launches are early ----------------------------------------------------------------------------------

PLAIN, EARLY = 0, 1  # CU_GRAPH_DEPENDENCY_TYPE_DEFAULT, _PROGRAMMATIC


def edges(graph: Any) -> dict[tuple[int, int], int]:
    """Return the types of a graph's edges."""
    begins, ends, data, count = check(driver().cuGraphGetEdges(graph, 64), "asking for a graph's edges")
    found = zip(begins[:count], ends[:count], data[:count], strict=True)
    return {(int(begin), int(end)): int(one.type) for begin, end, one in found}


def along(graph: Any) -> list[int]:
    """Return the types of the edges of a graph that is a chain, from its first node on."""
    found = edges(graph)
    following = {begin: (end, kind) for (begin, end), kind in found.items()}
    (at,) = {begin for begin, _ in found} - {end for _, end in found}
    kinds = []
    while at in following:
        at, kind = following[at]
        kinds.append(kind)
    assert len(kinds) == len(found), "no chain"
    return kinds


@contextlib.contextmanager
def capture(stream: Any, times: int) -> Iterator[list[Any]]:
    """Capture what is launched on CuPy's stream, and then run it so often; the graph stands in the list meanwhile."""
    cuda, mode = driver(), driver().CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    given: list[Any] = []
    check(cuda.cuStreamBeginCapture(stream.ptr, mode), "capturing")
    try:
        yield given
    finally:
        captured = cuda.cuStreamEndCapture(stream.ptr)
    graph = check(captured, "capturing")
    given.append(graph)
    ready = check(cuda.cuGraphInstantiate(graph, 0), "making a graph")
    for _ in range(times):
        check(cuda.cuGraphLaunch(ready, stream.ptr), "launching a graph")
    stream.synchronize()
    check(cuda.cuGraphExecDestroy(ready), "destroying a graph")


def test_captured_launches_are_early_behind_prisms_own_alone() -> None:
    n, times = 264 * THREADS, 5
    start = np.random.default_rng(1).integers(0, 1000, n).astype(np.int32)
    x, y, room = cupy.asarray(start), cupy.zeros(n, "i4"), cupy.ones(n, "i4")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        moved[264, THREADS](x, y, -1, 0)  # ready before the capture, and so are CuPy's
        room += 3
        room += y
        with capture(stream, times) as given:
            moved[264, THREADS](x, y, n, 500)
            moved[264, THREADS](y, x, n, 500)
            x += 3
            moved[264, THREADS](x, y, n, 500)
            moved[264, THREADS](y, x, n, 500)
            check(driver().cuMemsetD8Async(room.data.ptr, 0, room.nbytes, stream.ptr), "writing zeros")
            moved[264, THREADS](x, y, n, 500)
            room += y
            check(driver().cuMemcpyDtoDAsync(x.data.ptr, room.data.ptr, x.nbytes, stream.ptr), "copying")
            moved[264, THREADS](x, y, n, 500)
            moved[264, THREADS](y, x, n, 500)
    assert along(given[0]) == [EARLY, PLAIN, PLAIN, EARLY, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, EARLY]
    want = start
    for _ in range(times):
        want = expected(expected(expected(want, 2) + 3, 3), 2)
    np.testing.assert_array_equal(x.get(), want)


def test_a_captured_join_with_what_another_library_launched_is_plain() -> None:
    n, times = 264 * THREADS, 5
    start = np.random.default_rng(2).integers(0, 1000, n).astype(np.int32)
    x, y, other = (cupy.asarray(start) for _ in range(3))
    stream, beside = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    forked, joined = (cupy.cuda.Event(disable_timing=True) for _ in range(2))
    cupy.cuda.Device().synchronize()
    with stream:
        moved[264, THREADS](x, y, -1, 0)
        other += 0
        with capture(stream, times) as given:
            moved[264, THREADS](x, y, n, 500)
            forked.record(stream)
            beside.wait_event(forked)
            with beside:
                other += 1
            joined.record(beside)
            moved[264, THREADS](y, x, n, 500)
            stream.wait_event(joined)
            moved[264, THREADS](x, y, n, 500)
            moved[264, THREADS](y, x, n, 500)
    found = edges(given[0])
    into = {end: sorted(kind for (_, to), kind in found.items() if to == end) for _, end in found}
    assert sorted(into.values()) == [[PLAIN], [PLAIN, PLAIN], [EARLY], [EARLY]]
    np.testing.assert_array_equal(x.get(), expected(start, 4 * times))
    np.testing.assert_array_equal(other.get(), start + times)


def test_the_librarys_captured_calls() -> None:
    """Made again, and by a plan."""
    x = cupy.asarray(np.random.default_rng(3).integers(-100, 100, 1 << 16).astype(np.int32))
    start, y, total = x.get(), cupy.empty_like(x), cupy.empty((), "i4")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        planned = lib.plan(lib.scan, x, out=y)
        for _ in range(2):
            lib.scan(x, out=y), lib.scan(y, out=y), lib.reduce(y, out=total)
        x += 0
        with capture(stream, 2) as given:
            x += 1
            lib.scan(x, out=y)
            lib.reduce(y, out=total)
            x += 1
            planned()
            planned()
            lib.scan(y, out=y)
    assert along(given[0]) == [PLAIN, EARLY, PLAIN, PLAIN, EARLY, EARLY]
    once = np.cumsum(start + 4, dtype=np.int32)
    np.testing.assert_array_equal(y.get(), np.cumsum(once, dtype=np.int32))
    assert int(total) == int(np.cumsum(start + 3, dtype=np.int32).sum(dtype=np.int32))


def test_torchs_graph_of_a_product() -> None:
    a, b = (torch.randint(-2, 3, (256, 256), device="cuda").to(torch.bfloat16) for _ in range(2))
    c, d = (torch.empty_like(a) for _ in range(2))
    exact = (a.double() + 3) @ b.double()
    for _ in range(2):  # ready before the capture
        lib.hgemm(a, b, out=c), lib.hgemm(c, b, out=d)
    try:
        graph = torch.cuda.CUDAGraph(keep_graph=True)
    except TypeError:
        pytest.skip("this torch keeps no graph")
    with torch.cuda.graph(graph):
        a.add_(1.0)
        lib.hgemm(a, b, out=c)
        lib.hgemm(c, b, out=d)
    assert along(graph.raw_cuda_graph()) == [PLAIN, EARLY]
    graph.instantiate()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(c, exact.to(torch.bfloat16))


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
