"""Scans and reductions of segments and of runs on the GPU: against NumPy."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism.lib import reduce_by_key, scan, scan_by_key, segmented_reduce, segmented_scan
from tests.lib.oracles import CASES, Case

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

DTYPES = ["int8", "uint16", "int32", "uint64", "float32", "float64"]
SIZES = [1, 31, 33, 1000, 5119, 5120, 5121, 100_003, 2_000_003]


def numbers(size: int, kind: str, seed: int = 0):
    random = np.random.default_rng(seed)
    if np.dtype(kind).kind == "f":
        return random.integers(-8, 8, size).astype(kind)  # sums are exact, in any order
    return random.integers(np.iinfo(kind).min, np.iinfo(kind).max, size, dtype=kind, endpoint=True)


def bounds(size: int, segments: int, kind: str = "int64", seed: int = 0):
    found = np.sort(np.random.default_rng(seed).integers(0, size + 1, segments + 1)).astype(kind)
    found[0], found[-1] = 0, size
    return found


def sums(x, offsets):
    """The scan of each segment: the scan of all, less what is before the segment."""
    whole = np.concatenate([np.zeros(1, x.dtype), np.cumsum(x, dtype=x.dtype)])
    begin = np.repeat(offsets[:-1], np.diff(offsets))
    return (whole[1:] - whole[begin]).astype(x.dtype), (whole[offsets[1:]] - whole[offsets[:-1]]).astype(x.dtype)


@pytest.mark.parametrize("kind", DTYPES)
def test_sums(kind: str) -> None:
    for size in SIZES:
        x = numbers(size, kind)
        for segments in (1, 3, 50, size // 7 + 1, size):
            offsets = bounds(size, segments, "int32" if segments % 2 else "int64")
            scanned, reduced = sums(x, offsets)
            given, cut = cupy.asarray(x), cupy.asarray(offsets)
            assert np.array_equal(cupy.asnumpy(segmented_scan(given, cut)), scanned), (size, segments)
            assert np.array_equal(cupy.asnumpy(segmented_reduce(given, cut)), reduced), (size, segments)
            keys = cupy.asarray(np.repeat(np.arange(segments) % 5, np.diff(offsets)).astype("int16"))
            check_keys(keys, given)


def check_keys(keys, values) -> None:
    host, x = cupy.asnumpy(keys), cupy.asnumpy(values)
    starts = np.flatnonzero(np.concatenate([[True], host[1:] != host[:-1]]))
    scanned, reduced = sums(x, np.concatenate([starts, [len(x)]]))
    assert np.array_equal(cupy.asnumpy(scan_by_key(keys, values)), scanned)
    unique, found = reduce_by_key(keys, values)
    assert np.array_equal(cupy.asnumpy(unique), host[starts]) and np.array_equal(cupy.asnumpy(found), reduced)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case) -> None:
    for size, segments in ((3000, 5), (3000, 900), (30_000, 2)):
        x, offsets = case.data(size), bounds(size, segments, seed=size)
        parts = np.split(x, offsets[1:-1])
        scanned = np.concatenate([case.inclusive(part) for part in parts if part.size])
        reduced = [case.inclusive(part)[-1] if part.size else case.identity for part in parts]
        given, cut = cupy.asarray(x), cupy.asarray(offsets)
        assert np.array_equal(cupy.asnumpy(segmented_scan(given, cut, case.operator)), scanned)
        assert np.array_equal(cupy.asnumpy(segmented_reduce(given, cut, case.operator)), reduced)
        keys = cupy.asarray(np.repeat(np.arange(segments), np.diff(offsets)))
        assert np.array_equal(cupy.asnumpy(scan_by_key(keys, given, case.operator)), scanned)
        found = reduce_by_key(keys, given, case.operator)[1]
        assert np.array_equal(cupy.asnumpy(found), [r for r, part in zip(reduced, parts, strict=True) if part.size])


def test_one_segment_is_a_scan() -> None:
    x = cupy.asarray(numbers(10**7, "int32"))
    assert bool((segmented_scan(x, cupy.asarray([0, x.size])) == scan(x)).all())
    assert bool((scan_by_key(cupy.zeros(x.size, "uint8"), x) == scan(x)).all())


def test_the_number_of_runs_stays_on_the_gpu() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    keys, values = cupy.asarray(np.arange(10**6) // 3), cupy.ones(10**6, "int32")
    cupy.cuda.Device().synchronize()
    with stream:
        reduce_by_key(keys, values, count=True)
        stream.begin_capture()
        unique, found, count = reduce_by_key(keys, values, count=True)
        graph = stream.end_capture()
        graph.launch(stream)
    stream.synchronize()
    assert int(count[0]) == 333_334
    assert bool((unique[:333_334] == cupy.arange(333_334)).all()) and bool((found[:333_333] == 3).all())


def test_the_number_of_runs_is_each_call_s_own() -> None:
    """It comes through the host's memory: of many threads, on streams of their own, and not while a graph is captured."""

    def work(number: int) -> None:
        with cupy.cuda.Stream(non_blocking=True):
            for size in range(1 + number, 60_000, 997):
                keys = cupy.arange(size, dtype="int32") // (number + 2)
                unique, found = reduce_by_key(keys, cupy.ones(size, "int32"))
                many = -(-size // (number + 2))
                assert unique.shape == found.shape == (many,)
                assert bool((unique == cupy.arange(many)).all()) and int(found.sum()) == size

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))
    stream = cupy.cuda.Stream(non_blocking=True)
    keys, values = cupy.zeros(1000, "int32"), cupy.ones(1000, "int32")
    cupy.cuda.Device().synchronize()
    with stream:
        reduce_by_key(keys, values)
        stream.begin_capture()
        with pytest.raises(RuntimeError, match="pass count=True"):
            reduce_by_key(keys, values)
        stream.end_capture()
        assert int(reduce_by_key(keys, values)[1][0]) == 1000


def test_many_launches() -> None:
    random = np.random.default_rng(0)
    for number in range(200):
        size = int(random.integers(1, 300_000))
        x = numbers(size, "int32", number)
        keys = np.cumsum(random.random(size) < 1 / random.choice([2, 50, 3000, 10**6])).astype("int32")
        check_keys(cupy.asarray(keys), cupy.asarray(x))


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(10, device="cuda", dtype=torch.float32)
    offsets = torch.tensor([0, 4, 4, 10], device="cuda")
    assert segmented_reduce(x, offsets).tolist() == [6, 0, 39]
    assert segmented_scan(x, offsets).tolist() == [0, 1, 3, 6, 4, 9, 15, 22, 30, 39]
    unique, found = reduce_by_key((x > 3).to(torch.int64), x, "maximum")
    assert unique.tolist() == [0, 1] and found.tolist() == [3, 9]


@pytest.mark.parametrize("mean", [51, 1000])
def test_many_runs_of_many_elements(mean: int) -> None:
    """Again and again, exactly: each tile waits for the ones before it in another way each time."""
    size = 1 << 26
    starts = cupy.unique(cupy.random.default_rng(mean).integers(0, size, size // mean))
    starts[0] = 0
    heads = cupy.zeros(size, np.int8)
    heads[starts] = 1
    keys = cupy.cumsum(heads, dtype=np.int32) - 1
    x = cupy.random.default_rng(1).integers(-8, 8, size).astype(np.float32)  # sums are exact, in any order
    whole = cupy.concatenate([cupy.zeros(1, np.int64), cupy.cumsum(x, dtype=np.int64)])
    wanted, out = (whole[1:] - whole[starts][keys]).astype(np.float32), cupy.empty_like(x)
    for _ in range(5):
        out[...] = np.nan
        assert bool((scan_by_key(keys, x, out=out) == wanted).all())
