"""What the library must stand on a GPU: more than 2^32 elements, 10^5 launches, streams and threads at once, half a chip."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lib.algorithms.reduce import plan as reduce_plans
from prism.lib.algorithms.scan import plan as scan_plans
from prism.runtime.driver import driver
from prism.runtime.scratch import SCRATCH

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

OFFSETS = (0, 1, 3, 4, 7, 8, 11, 12, 16)
"""How many elements arrays begin past an aligned one."""
CHUNK = 1 << 28


def bytes_of(size: int, seed: int = 0) -> Any:
    """Random int8, made a part at a time."""
    found = cupy.empty(size, cupy.int8)
    random = cupy.random.default_rng(seed)
    for first in range(0, size, CHUNK):
        part = found[first : first + CHUNK]
        part[...] = random.integers(-128, 128, part.size, dtype=cupy.int8)
    return found


def is_sum(x: Any, y: Any) -> bool:
    """Whether `y` is the cumulative sum of the integers `x`: its differences are `x`."""
    if int(y[0]) != int(x[0]):
        return False
    for first in range(1, x.size, CHUNK):
        part = y[first : first + CHUNK]
        if not bool((part - y[first - 1 : first - 1 + part.size] == x[first : first + CHUNK]).all()):
            return False
    return True


# -- Long arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_scan_of_more_than_2_to_the_32() -> None:
    x = bytes_of((1 << 32) + 3)
    y = lib.scan(x)
    assert is_sum(x, y)
    lib.scan(y, "maximum", out=y)
    at = (1 << 32) - 5
    most = int(y[at])
    assert int(y[-1]) == max(most, int(y[at:].max())) and bool((y[1:CHUNK] >= y[: CHUNK - 1]).all())


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
def test_an_axis_of_an_array_of_more_than_2_to_the_32(axis: int) -> None:
    """Columns of an index beyond 2^32, and rows."""
    shape = ((1 << 16) + 1, 1 << 16)
    x = bytes_of(shape[0] * shape[1]).reshape(shape)
    y = lib.scan(x, axis=axis)
    totals = lib.sum(x, axis=axis)
    for k in (0, 1, 40_000, shape[1 - axis] - 1):
        given, found = (x[:, k], y[:, k]) if axis == 0 else (x[k], y[k])
        assert is_sum(cupy.ascontiguousarray(given), cupy.ascontiguousarray(found))
        assert int(totals[k]) == int(given.sum(dtype=cupy.int64))


@pytest.mark.slow
def test_reductions_of_more_than_2_to_the_32() -> None:
    x = cupy.zeros((1 << 32) + 3, cupy.int8)
    x[-2] = 7
    assert (int(lib.sum(x)), int(lib.argmax(x)), int(lib.count_nonzero(x))) == (7, (1 << 32) + 1, 1)
    assert bool(lib.any(x)) and not bool(lib.all(x)) and int(lib.max(x)) == 7


@pytest.mark.slow
def test_segments_of_an_array_of_more_than_2_to_the_32() -> None:
    x = bytes_of((1 << 32) + 3)
    offsets = cupy.asarray(np.array([0, 5, (1 << 31) + 1, (1 << 32) - 1, x.size], np.int64))
    found = lib.segmented_reduce(x, offsets, dtype="int64")
    bounds = offsets.tolist()
    wanted = [int(x[a:b].sum(dtype=cupy.int64)) for a, b in zip(bounds, bounds[1:], strict=False)]
    assert found.tolist() == wanted
    y = lib.segmented_scan(x, offsets)
    for first in bounds[:-1]:
        assert int(y[first]) == int(x[first])
    assert is_sum(x[bounds[3] :], y[bounds[3] :])


# -- Many launches, streams, threads ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_thousand_launches() -> None:
    """Scans and sums of all sizes, on one scratch: not one wrong element, looked for on the GPU."""
    x = cupy.random.default_rng(0).integers(-9, 9, 1 << 18, dtype=cupy.int32)
    wanted = cupy.cumsum(x, dtype=x.dtype)
    totals = cupy.cumsum(x.astype(cupy.int64))
    out, total = cupy.empty_like(x), cupy.zeros((), cupy.int64)
    wrong = cupy.zeros((), cupy.int64)
    compare = cupy.ElementwiseKernel(
        "T y, T w, raw int64 total, raw int64 totals, int64 last", "raw int64 wrong",
        "if (y != w || (i == 0 && total[0] != totals[last])) atomicAdd((unsigned long long*)&wrong[0], 1ull)", "differ",
    )  # fmt: skip
    sizes = np.random.default_rng(1).integers(1, [100, 4000, 40_000, 1 << 18], (12_500, 4)).ravel()
    for size in map(int, sizes):
        lib.scan(x[:size], out=out[:size])
        lib.sum(x[:size], out=total)
        compare(out[:size], wanted[:size], total, totals, size - 1, wrong)
    assert int(wrong) == 0


WORK: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("int32", lambda x, y: lib.scan(x, out=y)),
    ("int64", lambda x, y: lib.scan(x, "maximum", out=y)),
    ("float32", lambda x, y: lib.scan(x, "minimum", reverse=True, out=y)),
    ("uint8", lambda x, y: lib.scan(x, "bitwise_xor", out=y)),
]


def expected(x: Any, number: int) -> Any:
    given = cupy.asnumpy(x)
    with np.errstate(over="ignore"):
        return [
            lambda: np.cumsum(given, dtype=given.dtype),
            lambda: np.maximum.accumulate(given),
            lambda: np.minimum.accumulate(given[::-1])[::-1],
            lambda: np.bitwise_xor.accumulate(given),
        ][number % 4]()


def test_eight_streams_at_once() -> None:
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(8)]
    random = cupy.random.default_rng(0)
    xs = [random.integers(0, 100, 3_000_000 + 7 * k).astype(WORK[k % 4][0]) for k in range(8)]
    ys, sums = [cupy.zeros_like(x) for x in xs], [cupy.zeros((), cupy.int64) for _ in xs]
    cupy.cuda.Device().synchronize()
    for _ in range(40):
        for k, stream in enumerate(streams):
            with stream:
                WORK[k % 4][1](xs[k], ys[k])
                lib.count_nonzero(xs[k], out=sums[k])
    cupy.cuda.Device().synchronize()
    for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
        assert np.array_equal(cupy.asnumpy(y), expected(x, k)), k
        assert int(sums[k]) == int(cupy.count_nonzero(x))


def test_two_threads_of_the_host() -> None:
    """Each on a stream of its own, and both make the same calls for the first time at once: loaded once, right in both."""
    faults: list[str] = []
    start = threading.Barrier(2)
    xs = [cupy.asarray(np.random.default_rng(k).integers(0, 99, (300, 7001)).astype(np.int16)) for k in range(2)]
    cupy.cuda.Device().synchronize()

    def work(number: int) -> None:
        try:
            x, given = xs[number], cupy.asnumpy(xs[number])
            with cupy.cuda.Device(0), cupy.cuda.Stream(non_blocking=True) as stream:
                start.wait()
                for _ in range(200):
                    y, total = lib.scan(x, axis=1), lib.sum(x, axis=0)
                    most = lib.scan(x, "maximum")
                stream.synchronize()
                assert np.array_equal(cupy.asnumpy(y), np.cumsum(given, axis=1, dtype=np.int16))
                assert np.array_equal(cupy.asnumpy(total), given.sum(axis=0))
                assert np.array_equal(cupy.asnumpy(most), np.maximum.accumulate(given.ravel()))
        except BaseException as error:
            faults.append(f"thread {number}: {error!r}")
            start.abort()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


# -- A chip that is not free ------------------------------------------------------------------------------------------------

HOG = r"""
extern "C" __global__ void hog(volatile int* flag, int* running, long long limit) {
    extern __shared__ char room[];
    room[threadIdx.x] = 0;
    if (threadIdx.x == 0) atomicAdd_system(running, 1);
    const long long start = clock64();
    while (*flag == 0 && clock64() - start < limit) __nanosleep(1000);
}
"""


@contextmanager
def half_the_chip() -> Iterator[Any]:
    """Keep half of the multiprocessors busy, each with one block that takes all of its shared memory."""
    device = cupy.cuda.Device()
    most = device.attributes["MaxSharedMemoryPerBlockOptin"]
    blocks = device.attributes["MultiProcessorCount"] // 2
    kernel = cupy.RawKernel(HOG, "hog")
    kernel.max_dynamic_shared_size_bytes = most
    memory = cupy.cuda.alloc_pinned_memory(64)  # which the GPU reads where it lies
    words = np.frombuffer(memory, np.int32, 16)
    words[:] = 0
    stream = cupy.cuda.Stream(non_blocking=True)
    address = int(memory.ptr)
    limit = 20 * 2_000_000_000  # clocks: it ends by itself, whatever a test does
    try:
        with stream:
            kernel((blocks,), (1024,), (address, address + 32, np.int64(limit)), shared_mem=most)
        until = time.monotonic() + 10
        while words[8] < blocks and time.monotonic() < until:
            time.sleep(1e-3)
        assert words[8] == blocks, "the hog did not start"
        yield words
    finally:
        words[0] = 1
        stream.synchronize()


def test_while_a_kernel_hogs_half_the_chip() -> None:
    """Blocks that a launch counts on start late, one after the other: none may wait for one that has not begun."""
    sizes = (1000, 1 << 16, 1 << 20, 30_000_001)
    xs = [cupy.random.default_rng(size).integers(-9, 9, size, dtype=cupy.int32) for size in sizes]
    m = xs[-1][: 5000 * 6000].reshape(5000, 6000)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # that stream doesn't wait for the one on which these are made

    def work() -> list[Any]:
        found = [call(x) for x in xs for call in (lib.scan, lib.sum, lib.max, lib.argmin)]
        return [*found, *(call(m, axis=axis) for axis in (0, 1) for call in (lib.cumsum, lib.sum))]

    with stream:
        wanted = work()  # compiled and loaded: what loads might wait for the chip
        stream.synchronize()
    with half_the_chip() as words, stream:
        for _ in range(5):
            found = work()
        done = cupy.cuda.Event()
        done.record(stream)
        until = time.monotonic() + 15
        while not done.done and time.monotonic() < until:
            time.sleep(1e-3)
        assert done.done and words[0] == 0, "it waits for the chip to be free"
    for one, other in zip(found, wanted, strict=True):
        assert bool((one == other).all())
    assert is_sum(xs[2], wanted[8])


# -- Scratch memory, graphs, shifts ---------------------------------------------------------------------------------------


def poison(stream: int) -> int:
    """Fill the stream's scratch memory with ones, but for the counters and numbers of launches; return how many bytes."""
    filled = 0
    for (_, of, tag, _), block in SCRATCH._blocks.items():
        if of != stream:
            continue
        control = {"columns": 8 * scan_plans._STRIPS, "reduce": 0}.get(tag.split(" ")[0] if " " in tag else tag)
        if control is None or tag.startswith("reduce "):
            control = max(scan_plans._CONTROL, reduce_plans.CONTROL)
        driver().cuMemsetD8Async(block.pointer + control, 0xFF, block.nbytes - control, stream)
        filled += block.nbytes - control
    return filled


def test_scratch_memory_that_holds_anything() -> None:
    """Words of other launches, whatever they are, are not taken for this one's; partial results are written before read."""
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.random.default_rng(0).integers(-99, 99, (2000, 4001), dtype=cupy.int32)
    flat, offsets = x.ravel(), cupy.arange(0, x.size + 1, 1000)
    cupy.cuda.Device().synchronize()

    def work() -> list[Any]:
        return [
            lib.scan(flat), lib.scan(flat.astype("int64")), lib.scan(flat[:70_000]), lib.scan(x, axis=0), lib.scan(x, axis=1),
            lib.scan(x[:, :30].copy(), axis=0), lib.sum(flat), lib.sum(x, axis=0), lib.sum(x, axis=1), lib.argmax(flat),
            lib.sum(flat.astype("float64")), lib.segmented_scan(flat, offsets[:-1]),
        ]  # fmt: skip

    with stream:
        wanted = work()
        for _ in range(10):
            assert poison(stream.ptr) > 0
            for one, other in zip(work(), wanted, strict=True):
                assert bool((one == other).all())


def test_a_graph_of_many_functions_with_other_inputs() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x, most = cupy.zeros((300, 5001), cupy.int32), cupy.zeros((), cupy.int32)
    sums, down = cupy.zeros(x.size, cupy.int64), cupy.zeros_like(x)
    cupy.cuda.Device().synchronize()
    with stream:
        plans = [
            lib.plan(lib.cumsum, x, out=sums),
            lib.plan(lib.scan, x, "maximum", axis=0, out=down),
            lib.plan(lib.max, down, out=most),
        ]
        stream.synchronize()
        stream.begin_capture()
        for plan in plans:
            plan()
        graph = stream.end_capture()
    for seed in range(10):
        x[...] = cupy.random.default_rng(seed).integers(-99, 99 + seed, x.shape, dtype=cupy.int32)
        cupy.cuda.Device().synchronize()
        for _ in range(5):
            graph.launch(stream)
        stream.synchronize()
        given = cupy.asnumpy(x)
        assert np.array_equal(cupy.asnumpy(sums), np.cumsum(given))
        assert np.array_equal(cupy.asnumpy(down), np.maximum.accumulate(given, axis=0)) and int(most) == given.max()


@pytest.mark.parametrize(
    ("given", "made"), [("int8", "int64"), ("bool", "int32"), ("float16", "float32"), ("int32", "int32")]
)
def test_shifted_arrays_and_results(given: str, made: str) -> None:
    """Each begins anywhere past an aligned element, and what is beside the result stays as it is; of 2 elements too."""
    for size in (1, 2, 5, 1023, 70_001):
        values = np.random.default_rng(size).integers(0, 2, size)
        wanted = np.cumsum(values).astype(made) if given != "float16" else np.cumsum(values, dtype=np.float32)
        for first in OFFSETS:
            room = cupy.zeros(first + size, given)
            room[first:] = cupy.asarray(values.astype(given))
            for second in OFFSETS:
                target = cupy.full(second + size + 16, 77, made)
                lib.scan(room[first:], dtype=made, out=target[second : second + size])
                found = cupy.asnumpy(target)
                assert np.array_equal(found[second : second + size], wanted), (size, first, second)
                assert (found[:second] == 77).all() and (found[second + size :] == 77).all(), (size, first, second)
                lib.sum(room[first:], dtype=made, out=target[second])
                assert target[second] == wanted[-1]
