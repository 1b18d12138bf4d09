"""What the library must stand on a GPU: more than 2^32 elements, 10^5 launches, threads at once, any alignment."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from prism import lib

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


# -- Many launches, threads -----------------------------------------------------------------------------------------------


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


# -- Shifts ---------------------------------------------------------------------------------------------------------------


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
