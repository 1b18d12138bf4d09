"""Selection on a GPU: long arrays, warm calls, graphs, threads, and positions past 2^31."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism import lib

cupy = pytest.importorskip("cupy")
L = lib.lazy


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("share", [0, 0.05, 0.5, 1])
def test_long_arrays(dtype: str, share: float) -> None:
    random = cupy.random.default_rng(0)
    for n in (1 << 23, (1 << 24) + 3):  # of shorter ones tests/gpu/test_algorithms.py has cases
        mask = random.random(n, dtype=np.float32) < share
        x = (random.random(n, dtype=np.float32) * 100 + 1).astype(dtype)
        assert bool((lib.compress(mask, x) == x[mask]).all())
        some = x * mask.astype(dtype)
        assert bool((lib.flatnonzero(some) == cupy.flatnonzero(mask)).all())
        found = lib.select(some, mask, size=1000, fill_value=3)
        wanted = cupy.full(1000, 3, dtype)
        wanted[: min(1000, int(mask.sum()))] = x[mask][:1000]
        assert bool((found == wanted).all())


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("n", [(1 << 22) + 5, (1 << 23) + 40_000, (1 << 25) + 3, (3 << 25) + 12_345])
def test_bytes_of_all_sizes(n: int, dtype: str) -> None:
    """Of each a few tiles of another size, and another kernel; also a byte past an aligned address."""
    random = cupy.random.default_rng(0)
    for share in (0.03, 0.6):
        marks = random.random(n, dtype=np.float32) < share
        values = (random.random(n, dtype=np.float32) * 200 - 100).astype(np.int8).view(dtype)
        steps = (cupy.cumsum(marks, dtype=np.int64) % 120).astype(dtype)
        for begin in (0, 1):
            x, mask, runs = values[begin:], marks[begin:], steps[begin:]
            assert bool((lib.compress(mask, x) == x[mask]).all())
            low, middle = x < 20, (x >= 20) & (x < 50)
            found = lib.select(x, lambda e: e < 20)
            assert found.dtype == dtype and bool((found == x[low]).all())
            begins = cupy.concatenate([cupy.ones(1, bool), runs[1:] != runs[:-1]])
            assert bool((lib.unique_consecutive(runs) == runs[begins]).all())
            heads, lengths = lib.run_length_encode(runs)
            wanted = cupy.diff(cupy.flatnonzero(begins), append=cupy.full(1, runs.size))
            assert bool((heads == runs[begins]).all()) and bool((lengths == wanted).all())
            for parts, each in (
                (lib.split(x, mask), (x[mask], x[~mask])),
                (lib.split(x, lambda e: e < 20), (x[low], x[~low])),
                (lib.split3(x, mask, low), (x[mask], x[~mask & low], x[~mask & ~low])),
                (lib.split3(x, lambda e: e < 20, lambda e: e < 50), (x[low], x[middle], x[~low & ~middle])),
            ):
                assert all(
                    one.size == two.size and bool((one == two).all()) for one, two in zip(parts, each, strict=True)
                )


def one_call_on_the_gpu(seed: int) -> None:
    """Random calls beside NumPy, on arrays that lie as they are drawn, or a byte past an aligned address, or with gaps."""
    from tests.lib.algorithms.select.test_api import one_call

    random = np.random.default_rng(seed)

    def put(x: np.ndarray) -> cupy.ndarray:
        given = cupy.asarray(x)
        match random.integers(3) if x.ndim else 0:
            case 1:
                return cupy.repeat(given, 2, -1)[..., ::2]
            case 2:
                return cupy.concatenate([given.ravel()[:1], given.ravel()])[given.size and 1 :].reshape(given.shape)
            case _:
                return given

    one_call(seed, put, cupy.asnumpy)


@pytest.mark.parametrize("seed", range(10))
def test_random_calls(seed: int) -> None:
    one_call_on_the_gpu(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 1800))
def test_many_random_calls(seed: int) -> None:
    one_call_on_the_gpu(seed)


def test_a_function_and_lazy_arrays() -> None:
    x = cupy.random.default_rng(0).standard_normal(3_000_001, dtype=np.float32)
    for found in (lib.select(x, lambda e: e > 0.5), lib.select(x, L.of(x) > 0.5), lib.compress(L.of(x) > 0.5, x)):
        assert bool((found == x[x > 0.5]).all())
    assert bool((lib.flatnonzero(L.of(x) > 0.5) == cupy.flatnonzero(x > 0.5)).all())


def test_warm_calls_find_as_many_as_there_are() -> None:
    x = cupy.zeros(1_000_001, np.int32)
    for share in (0.5, 0, 1, 0.01, 0.9):
        x[...] = cupy.random.default_rng(1).random(x.size) < share
        wanted = cupy.flatnonzero(x)
        for _ in range(20):
            found = lib.flatnonzero(x)
            assert found.shape == wanted.shape and bool((found == wanted).all())


def test_graphs() -> None:
    """Without waiting: with `count=True`, and with a size."""
    x, mask = cupy.arange(2_000_003, dtype=np.int32), cupy.zeros(2_000_003, bool)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
    with stream:
        calls = (
            lambda: lib.compress(mask, x, count=True),
            lambda: lib.compress(mask, x, size=5000, fill_value=-1),
            lambda: lib.nonzero(mask.reshape(1, -1), size=5000, fill_value=-1),
        )
        for call in calls:
            call()
        assert lib.compress(mask, x).size == 0  # decided before the capture, as the others
        stream.begin_capture()
        (values, number), fixed, (rows, columns) = [call() for call in calls]
        graph = stream.end_capture()
        for share in (0.001, 0.5, 0, 1):
            mask[...] = cupy.random.default_rng(2).random(mask.size) < share
            graph.launch(stream)
            stream.synchronize()
            wanted = cupy.asnumpy(x[mask])
            assert int(number[0]) == wanted.size and np.array_equal(cupy.asnumpy(values)[: wanted.size], wanted)
            full = np.full(5000, -1, np.int32)
            full[: wanted.size] = wanted[:5000]
            assert np.array_equal(cupy.asnumpy(fixed), full) and np.array_equal(cupy.asnumpy(columns), full)
            assert np.array_equal(cupy.asnumpy(rows), np.where(full < 0, -1, 0))
        stream.begin_capture()
        with pytest.raises(RuntimeError, match="pass count=True"):
            lib.compress(mask, x)
        stream.end_capture()


def test_threads() -> None:
    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            for _ in range(30):
                x = random.integers(0, 2, int(random.integers(1, 300_000)))
                given = cupy.asarray(x)
                assert np.array_equal(cupy.asnumpy(lib.flatnonzero(given)), np.flatnonzero(x))
                y = given.reshape(1, -1)
                assert np.array_equal(cupy.asnumpy(lib.argwhere(y, size=50))[:, 1][: x.sum()], np.flatnonzero(x)[:50])
                stream.synchronize()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))


def test_past_2_31() -> None:
    n = (1 << 32) + 12_345
    if cupy.cuda.Device().mem_info[0] < 4 * n:
        pytest.skip("it takes 16 GiB")
    x = cupy.zeros(n, np.uint8)
    where = np.array([0, 5, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, n - 1])
    x[cupy.asarray(where)] = np.arange(1, 8, dtype=np.uint8)
    assert np.array_equal(cupy.asnumpy(lib.flatnonzero(x, size=8, fill_value=-1)), [*where, -1])
    assert np.array_equal(cupy.asnumpy(lib.select(x, x, size=7)), np.arange(1, 8))
    assert np.array_equal(cupy.asnumpy(lib.nonzero(x.reshape(n // 41, 41), size=7)[0]), where // 41)
    x[...] = 1
    assert lib.select(x, x).size == n


def test_parts_runs_and_indices_past_2_31() -> None:
    """Of 2^32 bytes and some: parts, runs of more than 2^31, differences, elements at indices, and the first of all."""
    n = (1 << 32) + 12_345
    if cupy.cuda.Device().mem_info[0] < 5 * n:
        pytest.skip("it takes 20 GiB")
    x, where = cupy.zeros(n, np.uint8), np.array([5, (1 << 31) + 7, (1 << 32) - 1, 1 << 32, n - 1])
    x[cupy.asarray(where)] = np.arange(1, 6, dtype=np.uint8)
    values, lengths = map(cupy.asnumpy, lib.run_length_encode(x))
    ends = np.cumsum(lengths)
    assert ends[-1] == n and np.array_equal(ends[values != 0], where + 1) and lengths.max() > 1 << 31
    assert np.array_equal(cupy.asnumpy(lib.unique_consecutive(x)), values)
    assert bool((lib.repeat(cupy.asarray(values), cupy.asarray(lengths)) == x).all())
    changes = lib.diff(x)
    assert np.array_equal(cupy.asnumpy(lib.flatnonzero(changes)), np.union1d(where - 1, where[:-1]))
    del changes
    some, rest = lib.split(x, x)
    assert np.array_equal(cupy.asnumpy(some), np.arange(1, 6)) and rest.size == n - 5 and not bool(rest.any())
    some, more, rest = lib.split3(x, lambda v: v == 5, lambda v: v == 0)
    assert some.tolist() == [5] and more.size == n - 5 and not bool(more.any()) and rest.tolist() == [1, 2, 3, 4]
    del more
    assert cupy.asnumpy(lib.take(x, cupy.asarray(where))).tolist() == [1, 2, 3, 4, 5]
    assert int(lib.find(x, lambda v: v == 5)) == n - 1 and int(lib.find(x, x == 3)) == where[2]


def test_searches_past_2_31() -> None:
    """In a table of more bytes than 2^31: few needles, and as many as a tree is made for."""
    n = (1 << 31) + 12_345
    if cupy.cuda.Device().mem_info[0] < 4 * n:
        pytest.skip("it takes 8 GiB")
    ends = np.array([7, (1 << 31) - 1, (1 << 31) + 3, n])
    table = cupy.zeros(n, np.uint8)
    for value, (begin, end) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        table[int(begin) : int(end)] = 2 * value + 2
    for many in (1000, n // 64 + 1):
        needles = cupy.arange(many, dtype=np.int64) % 9
        for side, shift in (("left", 1), ("right", 0)):
            wanted = np.array([0, *ends, n])[(np.arange(9) + 2 - shift) // 2]
            found = lib.searchsorted(table, needles.astype(np.uint8), side)
            assert bool((found == cupy.asarray(wanted)[needles]).all()), (many, side)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randint(0, 2, (300, 70, 11), device="cuda")
    assert torch.equal(lib.argwhere(x), torch.nonzero(x))
    assert torch.equal(lib.select(x, x > 0), torch.masked_select(x, x > 0))
    assert torch.equal(lib.unique_consecutive(x), torch.unique_consecutive(x))
    for one, other in zip(lib.nonzero(x), torch.nonzero(x, as_tuple=True), strict=True):
        assert torch.equal(one, other)
    half = x.to(torch.bfloat16)
    assert torch.equal(lib.select(half, half), torch.masked_select(half, half != 0))


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "uint8"])
def test_searches_in_tables_of_all_sizes(dtype: str) -> None:
    """Of trees alone, of rows below them, and of a table that no L2 holds; of values in order, and of NaN."""
    random = cupy.random.default_rng(0)
    for n in (1, 1000, 1 << 13, (1 << 16) + 3, 1 << 18, (1 << 21) + 1, 1 << 24):
        table = cupy.sort((random.random(n, dtype=np.float32) * 3e7).astype(dtype))
        values = (random.random((1 << 18) + 7, dtype=np.float32) * 3.1e7).astype(dtype)
        if dtype[0] == "f":
            values[::1001] = np.nan
            table[-n // 100 :] = np.nan
        for v in (values, values[1:], cupy.sort(values), values[:100]):
            for side in ("left", "right"):
                wanted = np.searchsorted(cupy.asnumpy(table), cupy.asnumpy(v), side)
                assert np.array_equal(cupy.asnumpy(lib.searchsorted(table, v, side)), wanted)
        found = lib.searchsorted(table[1:], values)
        assert np.array_equal(cupy.asnumpy(found), np.searchsorted(cupy.asnumpy(table[1:]), cupy.asnumpy(values)))


def test_bins_and_searches_in_graphs() -> None:
    x, bins = cupy.random.default_rng(0).random(100_000), cupy.linspace(0.9, 0.1, 300)
    assert bool((lib.digitize(x, bins) == cupy.asarray(np.digitize(cupy.asnumpy(x), cupy.asnumpy(bins)))).all())
    stream, bins = cupy.cuda.Stream(non_blocking=True), bins[::-1].copy()
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
    with stream:
        found = lib.searchsorted(bins, x)
        wanted = found.copy()
        stream.begin_capture()
        lib.searchsorted(bins, x, out=found)
        graph = stream.end_capture()
        found[...] = 0
        graph.launch(stream)
        stream.synchronize()
        assert bool((found == wanted).all())


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "complex128"])
def test_splits(dtype: str) -> None:
    random = cupy.random.default_rng(0)
    for n in (1, 1000, 100_003, (1 << 23) + 5):
        x = (random.random(n, dtype=np.float32) * 100).astype(dtype)
        for share in (0, 0.3, 1):
            mask = random.random(n, dtype=np.float32) < share
            for one, other in ((x, mask), (x[1:], mask[1:])):
                for _ in range(2):
                    selected, rest = lib.split(one, other)
                    assert bool((selected == one[other]).all()) and bool((rest == one[~other]).all())
                    whole, number = lib.split(one, other, count=True)
                    assert int(number[0]) == selected.size and bool((whole[selected.size :] == rest).all())
            others = random.random(n, dtype=np.float32) < 0.5
            for begin in (0, 1):
                given, first, second = x[begin:], mask[begin:], others[begin:]
                wanted = (given[first], given[~first & second], given[~first & ~second])
                for _ in range(2):
                    for found, part in zip(lib.split3(given, first, second), wanted, strict=True):
                        assert found.dtype == part.dtype and bool((found == part).all())
    if dtype not in ("float16", "complex128"):
        low, high = lib.split(x, lambda e: e < 50)
        assert bool((low == x[x < 50]).all()) and bool((high == x[x >= 50]).all())
        parts = lib.split3(x, lambda e: e < 20, lambda e: e < 50)
        wanted = x[x < 20], x[(x >= 20) & (x < 50)], x[x >= 50]
        for found, part in zip(parts, wanted, strict=True):
            assert bool((found == part).all())
        for low in (20, 20, 30):  # numbers that lambdas name are not of what is decided
            below = wanted if low == 20 else (x[x < 30], x[(x >= 30) & (x < 50)], x[x >= 50])
            *parts, numbers = lib.split3(x, lambda e: e < low, lambda e: e < 50, count=True)
            assert numbers.tolist() == [below[0].size, below[1].size]
            for found, part in zip(parts, below, strict=True):
                assert bool((found[: part.size] == part).all())


@pytest.mark.parametrize("key", ["uint8", "float32", "int64"])
@pytest.mark.parametrize("value", ["uint8", "float16", "float32", "int64", "complex128"])
def test_the_first_of_runs_of_keys(key: str, value: str) -> None:
    random = cupy.random.default_rng(0)
    for n in (1, 1000, 70_000, 1_000_003, (1 << 24) + 5):
        for share in (0.02, 0.7):
            keys = (cupy.cumsum(random.random(n, dtype=np.float32) < share) % 100).astype(key)
            values = (random.random(n, dtype=np.float32) * 100).astype(value)
            for one, other in ((keys, values), (keys[1:], values[1:])):
                first = cupy.concatenate([cupy.ones(min(1, one.size), bool), one[1:] != one[:-1]])
                for _ in range(2):
                    unique, found = lib.unique_by_key(one, other)
                    assert bool((unique == one[first]).all()) and bool((found == other[first]).all())
                    assert unique.shape == found.shape == (int(first.sum()),)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64", "complex128"])
def test_elements_repeated(dtype: str) -> None:
    random = cupy.random.default_rng(0)
    for n, most in ((1, 100), (1000, 9), (300_000, 5), (100, 300_000), (3_000_000, 1)):
        x = (random.random(n, dtype=np.float32) * 100).astype(dtype)
        counts = random.integers(0, most + 1, n)
        wanted = np.repeat(cupy.asnumpy(x), cupy.asnumpy(counts))
        assert np.array_equal(cupy.asnumpy(lib.repeat(x, counts)), wanted)
        found = cupy.asnumpy(lib.repeat(x, counts, size=wanted.size + 9, fill_value=1))
        assert np.array_equal(found[:-9], wanted) and (found[-9:] == 1).all()
    assert np.array_equal(cupy.asnumpy(lib.repeat(x, 3)), np.repeat(cupy.asnumpy(x), 3))
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
    with stream:
        lib.repeat(x, counts, size=1000)
        stream.begin_capture()
        found = lib.repeat(x, counts, size=1000)
        graph = stream.end_capture()
        counts[...] = 2
        graph.launch(stream)
        stream.synchronize()
        assert np.array_equal(cupy.asnumpy(found), np.repeat(cupy.asnumpy(x), 2)[:1000])


def test_the_first_of_which_something_holds() -> None:
    x = cupy.zeros(30_000_001, np.float32)
    found = cupy.zeros((), np.int64)
    for place in (None, 0, 12_345_678, x.size - 1):
        x[...] = 0
        if place is not None:
            x[place], x[place + 1000 :: 1000] = 5, 5
        for condition in (x == 5, lambda e: e == 5, L.of(x) > 4):
            for _ in range(3):
                assert int(lib.find(x, condition, out=found)) == (-1 if place is None else place)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "complex128"])
def test_lengths_of_runs(dtype: str) -> None:
    random = np.random.default_rng(0)
    for n, most in ((1, 1), (6144, 2), (100_000, 1), (100_000, 90_000), ((1 << 23) + 5, 3), ((1 << 23) + 5, 40_000)):
        ends = np.cumsum(random.integers(1, most + 1, n // max(most // 2, 1) + 2))
        x = cupy.asarray((np.searchsorted(ends, np.arange(n), side="right") % 100).astype(dtype))
        starts = cupy.flatnonzero(cupy.concatenate([cupy.ones(1, bool), x[1:] != x[:-1]]))
        wanted = cupy.diff(cupy.concatenate([starts, cupy.full(1, n)]))
        for _ in range(3):
            values, lengths = lib.run_length_encode(x)
            assert bool((values == x[starts]).all()) and bool((lengths == wanted).all())
        values, lengths, number = lib.run_length_encode(x, count=True)
        assert int(number[0]) == starts.size and bool((lengths[: starts.size] == wanted).all())
        for size in (1, 1000):
            values, lengths = lib.run_length_encode(x, size=size, fill_value=7)
            many = min(size, starts.size)
            assert bool((lengths[:many] == wanted[:many]).all()) and not bool(lengths[many:].any())
            assert bool((values[:many] == x[starts][:many]).all()) and bool((values[many:] == 7).all())
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        values, lengths = lib.run_length_encode(x, size=1000, fill_value=7)
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
    assert bool((lengths[:many] == wanted[:many]).all())


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sets_and_searches_of_complex_numbers(dtype: str) -> None:
    random = cupy.random.default_rng(0)
    x, y = ((random.integers(0, 99, n) + 1j * random.integers(0, 9, n)).astype(dtype) for n in (50_000, 3000))
    here, there = cupy.asnumpy(x), cupy.asnumpy(y)
    for name in ("union1d", "setdiff1d", "setxor1d", "intersect1d", "isin"):
        assert np.array_equal(cupy.asnumpy(getattr(lib, name)(x, y)), getattr(np, name)(here, there)), name
    for one, other in zip(lib.unique(x, True, True, True), np.unique(here, True, True, True), strict=True):
        assert np.array_equal(cupy.asnumpy(one), other)
    table = lib.unique(x)
    assert np.array_equal(cupy.asnumpy(lib.searchsorted(table, y)), np.searchsorted(cupy.asnumpy(table), there))
    parts = cupy.random.default_rng(1).integers(0, 3, (1000, 4)).astype(np.int32)
    for one, other in zip(
        lib.unique(parts, True, True, True, 0), np.unique(cupy.asnumpy(parts), True, True, True, 0), strict=True
    ):
        assert np.array_equal(cupy.asnumpy(one), other)
