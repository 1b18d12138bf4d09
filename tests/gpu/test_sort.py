"""Sorts on a GPU: long rows of all types and data, graphs, streams, threads, and more than 2^31 elements."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism import lib
from prism.lang import float32

cupy = pytest.importorskip("cupy")

DTYPES = ["bool", "uint8", "int16", "float16", "uint32", "int32", "float32", "uint64", "int64", "float64"]
DATA = ["uniform", "skewed", "equal", "sorted", "reversed", "few", "mixed"]


def data(dtype: str, n: int, kind: str, seed: int = 0):
    random, of = cupy.random.default_rng(seed), cupy.dtype(dtype)
    if of.kind == "b":
        x = random.random(n, dtype=np.float32) < 0.5
    elif of.kind == "f":
        x = (random.random(n, dtype=np.float32) * 200 - 100).astype(of)
    else:
        x = random.integers(0, 256, n * of.itemsize, dtype=cupy.uint8).view(of)
    if kind == "skewed":
        x = cupy.where(random.random(n, dtype=np.float32) < 0.5, x[0], x)
    elif kind == "equal":
        x = cupy.full(n, x[0])
    elif kind in ("sorted", "reversed"):
        x = cupy.sort(x)
        x = x if kind == "sorted" else cupy.ascontiguousarray(x[::-1])
    elif kind == "few":
        x = random.integers(0, 5, n, dtype=cupy.uint8).astype(of)
    elif kind == "mixed" and of.kind == "f":  # zeros and NaNs of both signs
        some = random.integers(0, 9, n, dtype=cupy.uint8)
        for k, one in enumerate((0.0, -0.0, np.nan, -np.nan)):
            x = cupy.where(some == k, of.type(one), x)
    return x


def check(x) -> None:
    """Compare with NumPy, whose sorts are stable."""
    host = x.get()
    order = np.argsort(host, kind="stable")
    wanted = host[order]
    assert np.array_equal(lib.argsort(x).get(), order)
    found = lib.sort(x).get()
    there = wanted == wanted
    assert np.array_equal(found[there].view(np.uint8), wanted[there].view(np.uint8)) and np.array_equal(
        found == found, there
    )
    keys, values = lib.sort_by_key(x, cupy.arange(x.size, dtype=np.uint32))
    assert np.array_equal(values.get(), order) and keys.get().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_rows(dtype: str) -> None:
    """By clusters, by digits with short tiles and long ones, and by counting."""
    for k, n in enumerate((9000, 1 << 14, (1 << 15) + 1, 1 << 16, 300_000, (1 << 22) + 77, (1 << 23) + 5)):
        check(data(dtype, n, "mixed", k))


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16"])
def test_keys_that_are_counted(dtype: str, kind: str) -> None:
    """More of one key than 16 bits hold; -0.0 among 0.0; results that are not aligned."""
    x = data(dtype, (1 << 25) + 7, kind)
    wanted = cupy.sort(x)
    room = cupy.empty(x.size + 1, x.dtype)
    for out in (None, room[1:]):
        found = lib.sort(x, out=out)
        assert cupy.array_equal(found, wanted, equal_nan=x.dtype.kind == "f")
        if x.dtype.kind == "f":  # zeros keep their order
            signs = cupy.signbit(x[x == 0])
            assert bool((cupy.signbit(found[found == 0]) == signs).all())


@pytest.mark.parametrize("dtype", ["uint16", "float32", "int64"])
def test_rows_by_clusters(dtype: str) -> None:
    for rows, n in ((3, 20_001), (40, 1 << 15), (2, (1 << 16) - 1), (5, 100_001)):
        x = data(dtype, rows * n, "mixed").reshape(rows, n)
        host = x.get()
        order = np.argsort(host, axis=1, kind="stable")
        assert np.array_equal(lib.argsort(x).get(), order)
        assert cupy.array_equal(lib.sort(x), cupy.sort(x), equal_nan=True)
        values = cupy.arange(x.size, dtype=np.uint32).reshape(x.shape)
        assert np.array_equal(lib.sort_by_key(x, values)[1].get(), order + n * np.arange(rows)[:, None])


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("dtype", ["uint32", "float32", "int64"])
def test_data_of_all_kinds(dtype: str, kind: str) -> None:
    check(data(dtype, 2_000_003, kind))
    x = data(dtype, (1 << 25) + 5, kind)  # long tiles
    if kind != "mixed":
        assert bool((lib.sort(x) == cupy.sort(x)).all())
        assert bool((x[lib.argsort(x, descending=True)] == cupy.sort(x)[::-1]).all())


@pytest.mark.parametrize("kind", [*DATA, "one NaN"])
def test_by_wide_digits(kind: str) -> None:
    """Floats of few exponents, and such as other passes are left to; alone, with values, and their positions."""
    x = data("float32", (1 << 24) + 77, kind.replace("one NaN", "uniform"))
    if kind == "one NaN":
        x[5_000_000] = np.nan
    check(x)


@pytest.mark.parametrize(("items", "log"), [(64, 24), (92, 25), (32, 24), (36, 26), (44, 26)])
def test_wide_digits_around_tiles(items: int, log: int) -> None:
    """The last tile is full, or all but full, or has one element."""
    some = ((1 << log) // (512 * items) + 1) * 512 * items
    x = data("float32", some + 1, "uniform")
    for n in (some - 1, some, some + 1):
        wanted, order = cupy.sort(x[:n]), cupy.argsort(x[:n])
        assert bool((lib.sort(x[:n]) == wanted).all()) and bool((lib.argsort(x[:n]) == order).all())
        keys, values = lib.sort_by_key(x[:n], cupy.arange(n, dtype=np.uint32))
        assert bool((keys == wanted).all()) and bool((values == order).all())


LONG = {
    "wide digits": ("float32", lambda x: lib.argsort(x)),
    "wide digits, values": ("float32", lambda x: lib.sort_by_key(x, cupy.arange(x.size, dtype=np.uint32))[1]),
    "windows": ("uint64", lambda x: lib.argsort(x)),
    "windows, values": ("uint64", lambda x: lib.sort_by_key(x, cupy.arange(x.size, dtype=np.uint32))[1]),
    "keys of 2 bytes": ("float16", lambda x: lib.sort(x).view(np.uint16)),
}


@pytest.mark.parametrize("name", LONG)
def test_equal_runs_of_long_arrays(name: str) -> None:
    """As `test_equal_runs`: of pairs of equal elements, and of both zeros."""
    dtype, call = LONG[name]
    x, busy = data(dtype, (1 << 24) + 78, "uniform"), cupy.cuda.Stream(non_blocking=True)
    x[1::2] = x[::2]
    if dtype == "float16":
        x[::3] = cupy.where(x[::3] > 0, x.dtype.type(0.0), x.dtype.type(-0.0))
    wanted, big, wrong = call(x), cupy.ones(1 << 26, np.float32), cupy.zeros((), bool)
    if dtype != "float16":
        assert bool((wanted == cupy.argsort(x)).all())
    for _ in range(100):
        with busy:
            big += 1
        wrong |= (call(x) != wanted).any()
    busy.synchronize()  # before its memory is another array's
    assert not bool(wrong)


@pytest.mark.parametrize(
    ("dtype", "n"),
    [("float32", n) for n in (1 << 16, (1 << 17) + 3, 1 << 20, (1 << 24) + 5)] + [("int32", (1 << 23) + 5)],
)
def test_what_decides_is_read_when_a_graph_runs(dtype: str, n: int) -> None:
    """A graph of calls sorts data of other kinds than those that it was made with; another stream sorts at the same time."""
    stream, other = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    x, beside = data(dtype, n, "uniform"), data(dtype, n, "uniform", 1)
    y, places, out = cupy.empty_like(x), cupy.empty(n, np.int64), cupy.empty_like(beside)
    cupy.cuda.Device().synchronize()
    with stream:
        lib.sort(x, out=y)
        lib.argsort(x, out=places)
        stream.synchronize()
        stream.begin_capture()
        lib.sort(x, out=y)
        lib.argsort(x, out=places)
        graph = stream.end_capture()
    for seed, kind in enumerate(("mixed", "uniform", "equal", "uniform", "sorted", "few", "mixed")):
        x[...] = data(dtype, n, kind, seed)
        cupy.cuda.Device().synchronize()
        graph.launch(stream)
        lib.sort(beside, out=out, stream=other)
        cupy.cuda.Device().synchronize()
        host = x.get()
        order = np.argsort(host, kind="stable")
        assert np.array_equal(places.get(), order) and np.array_equal(y.get(), host[order], equal_nan=True)
        assert bool((out == cupy.sort(beside)).all())


@pytest.mark.parametrize("kind", ["uniform", "lump", "twice", "lowest", "narrow"])
@pytest.mark.parametrize(("dtype", "n"), [("int64", (1 << 24) + 77), ("uint32", (1 << 27) + 77)])
def test_by_windows(dtype: str, n: int, kind: str) -> None:
    """Windows that are full, or too full, or whose keys are equal, or differ in their lowest bits alone; with values."""
    x = data(dtype, n, "uniform")
    bits, size = x.view(f"uint{8 * x.itemsize}"), 8 * x.itemsize
    if kind == "lump":
        bits[5000:25000:2] = bits[5000:25000:2] >> 17 | bits[0] >> size - 16 << size - 16
    elif kind == "twice":
        bits[1::2] = bits[:-1:2]
    elif kind == "lowest":
        bits[:] = bits >> size - 20 << size - 20 | bits & 3
    elif kind == "narrow":
        bits[:] = bits & (1 << 25) - 1
    wanted = cupy.sort(x)
    assert bool((lib.sort(x) == wanted).all()) and bool((lib.sort(x, descending=True) == wanted[::-1]).all())
    assert bool((lib.argsort(x) == cupy.argsort(x)).all())
    x = x[: (1 << 24) + 77]
    keys, values = lib.sort_by_key(x, cupy.arange(x.size, dtype=np.uint32))
    order = cupy.argsort(x)  # stable
    assert bool((values == order).all()) and bool((keys == x[order]).all())


@pytest.mark.parametrize(
    ("dtype", "rows", "n"),
    [("int32", 3, 200_001), ("float32", 40, 1 << 17), ("float16", 33, 140_000), ("int64", 5, 400_003)],
)
def test_several_long_rows(dtype: str, rows: int, n: int) -> None:
    x = data(dtype, rows * n, "mixed").reshape(rows, n)
    order = np.argsort(x.get(), axis=1, kind="stable")
    wanted = np.take_along_axis(x.get(), order, 1)
    assert np.array_equal(lib.argsort(x).get(), order)
    assert np.array_equal(lib.sort(x).get(), wanted, equal_nan=True)
    assert np.array_equal(lib.sort(x.T, axis=0).get(), wanted.T, equal_nan=True)
    values = cupy.broadcast_to(cupy.arange(n, dtype=np.uint32), x.shape).copy()
    assert np.array_equal(lib.sort_by_key(x, values)[1].get(), order)
    assert np.array_equal(lib.sort(x, out=x).get(), wanted, equal_nan=True)


@pytest.mark.parametrize("kind", ["normal", "half", "few", "decades", "small", "special"])
def test_few_floats(kind: str) -> None:
    """By ranges, in one launch: both zeros, and all NaNs, stand as they stood; in a falling order too."""
    for n in (20_000, (1 << 15) + 1, 65_535, 1 << 16):
        random = np.random.default_rng(n)
        x = random.standard_normal(n)
        if kind == "half":
            x[random.random(n) < 0.5] = 0.5
        elif kind == "few":
            x = np.floor(4 * x)
        elif kind == "decades":
            x = np.exp(random.uniform(-80, 80, n)) * random.choice([-1, 1], n)
        elif kind == "small":
            x = x * 1e-40
        elif kind == "special":
            x[::3] = random.choice([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf], len(x[::3]))
        x = x.astype(np.float32)
        for falls in (False, True):
            order, given = np.argsort(-x if falls else x, kind="stable"), cupy.asarray(x)
            assert lib.sort(given, descending=falls).get().tobytes() == x[order].tobytes()
            assert np.array_equal(lib.argsort(given, descending=falls).get(), order)
            keys, values = lib.sort_by_key(given, cupy.arange(n, dtype=np.uint32), descending=falls)
            assert np.array_equal(values.get(), order) and keys.get().tobytes() == x[order].tobytes()


@pytest.mark.parametrize("dtype", ["uint32", "float32"])
def test_blocks_that_all_run_at_once(dtype: str) -> None:
    """Around the sizes at which tiles change; in place; on streams at once, of which each leaves no room for another."""
    for log, more in ((15, 1), (16, 0), (17, 1), (18, -1), (18, 1), (19, 0), (19, 3), (20, 0), (21, 5)):
        n = (1 << log) + more
        check(data(dtype, n, "mixed", n))
        for kind in ("uniform", "skewed", "sorted", "equal"):
            x = data(dtype, n, kind, n)
            wanted = cupy.sort(x)
            assert bool((lib.sort(x) == wanted).all()) and bool((lib.sort(x, descending=True) == wanted[::-1]).all())
            assert bool((lib.sort(x, out=x) == wanted).all())
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    xs = [data(dtype, 1 << 20, "uniform", k) for k in range(3)]
    ys = [cupy.empty_like(x) for x in xs]
    cupy.cuda.Device().synchronize()
    for _ in range(20):
        for stream, x, y in zip(streams, xs, ys, strict=True):
            lib.sort(x, out=y, stream=stream)
    cupy.cuda.Device().synchronize()
    assert all(bool((y == cupy.sort(x)).all()) for x, y in zip(xs, ys, strict=True))


@pytest.mark.parametrize("dtype", ["uint32", "int32"])
def test_by_groups(dtype: str) -> None:
    """Whole numbers that are spread evenly, and others, which passes sort."""
    for n in (1 << 22, (1 << 23) + 5, 1 << 24):
        for kind in ("uniform", "skewed", "equal", "sorted", "few"):
            x = data(dtype, n, kind, n)
            wanted = cupy.sort(x)
            assert bool((lib.sort(x) == wanted).all()) and bool((lib.sort(x, descending=True) == wanted[::-1]).all())
        x = data(dtype, n, "uniform", n + 1)
        x[:: n // 100] = x[0]  # so many in one bucket
        assert bool((lib.sort(x) == cupy.sort(x)).all())


def test_values_of_all_sizes() -> None:
    keys = data("uint16", 1_000_003, "uniform")
    order = np.argsort(keys.get(), kind="stable")
    for dtype in ("uint8", "float16", "int32", "float64", "complex128"):
        values = cupy.arange(keys.size).astype(dtype)
        assert np.array_equal(lib.sort_by_key(keys, values)[1].get(), values.get()[order])


RUNS = {
    "argsort": lambda x: lib.argsort(x[0]),
    "one launch": lambda x: lib.argsort(x[0, :1_000_000]),
    "shares": lambda x: lib.sort(x[0, :1_000_000] * x[1, :1_000_000] + cupy.arange(1_000_000, dtype=np.float32)),
    "long rows": lambda x: lib.argsort(x),
    "rows in clusters": lambda x: lib.argsort(x.ravel()[: 8 << 16].reshape(8, -1)),
    "long segments": lambda x: lib.segmented_argsort(x[0], cupy.array([0, 17, 1_000_000, x[0].size])),
    "merge sort": lambda x: lib.argsort(x[0, :400_000], less=lambda a, b: float32(a) > float32(b)),
    "lexsort": lambda x: lib.lexsort(x[:, :400_000]),
    "merge": lambda x: lib.merge_by_key(cupy.sort(x[0]), x[1], cupy.sort(x[2]), x[0])[1],
}
"""Of values of which many are equal: positions, or values, tell one equal element from another."""


@pytest.mark.parametrize("name", RUNS)
def test_equal_runs(name: str) -> None:
    """The order in which lanes add decides nothing, nor which block is first: 100 runs, beside other work."""
    x = data("float32", 3 * 1_500_001, "few").reshape(3, -1)
    wanted, busy = RUNS[name](x), cupy.cuda.Stream(non_blocking=True)
    big, wrong = cupy.ones(1 << 26, np.float32), cupy.zeros((), bool)
    for _ in range(100):
        with busy:
            big += 1
        wrong |= (RUNS[name](x) != wanted).any()
    busy.synchronize()  # before its memory is another array's
    assert not bool(wrong)


def test_graphs() -> None:
    x, y, places = (
        data("float32", 1_000_001, "uniform"),
        cupy.empty(1_000_001, np.float32),
        cupy.empty(1_000_001, np.int64),
    )
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        lib.sort(x, out=y)
        lib.argsort(x, out=places)
        stream.synchronize()
        stream.begin_capture()
        lib.sort(x, out=y)
        lib.argsort(x, out=places)
        graph = stream.end_capture()
    for seed in range(5):
        x[...] = data("float32", x.size, "uniform" if seed % 2 else "few", seed)
        cupy.cuda.Device().synchronize()
        graph.launch(stream)
        stream.synchronize()
        assert bool((y == cupy.sort(x)).all()) and bool((x[places] == y).all())


def test_threads() -> None:
    def one(seed: int) -> bool:
        x = data("int64", 400_000 + 1000 * seed, "uniform", seed)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            same = all(bool((lib.sort(x) == cupy.sort(x)).all()) for _ in range(10))
            stream.synchronize()
        return same

    cupy.cuda.Device().synchronize()
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(8)))


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(1_000_001, device="cuda")
    assert torch.equal(lib.sort(x), torch.sort(x).values)
    assert torch.equal(lib.argsort(x), torch.sort(x, stable=True).indices)
    half = x.to(torch.bfloat16)
    assert torch.equal(lib.sort(half), torch.sort(half).values)


@pytest.mark.parametrize("n", [(1 << 31) + 3, (1 << 32) + 5])
def test_past_2_31(n: int) -> None:
    if cupy.cuda.runtime.memGetInfo()[0] < 50 << 30:
        pytest.skip("needs 50 GiB of memory")
    x = cupy.tile(data("uint8", 1 << 20, "uniform"), -(-n // (1 << 20)))[:n]
    found = lib.sort(x)
    counts = cupy.concatenate([cupy.zeros(1, np.int64), cupy.cumsum(cupy.bincount(x[: n % (1 << 20)], minlength=256))])
    counts += cupy.concatenate([cupy.zeros(1, np.int64), cupy.cumsum(cupy.bincount(x[: 1 << 20], minlength=256))]) * (
        n >> 20
    )
    for d in range(256):
        low, high = int(counts[d]), int(counts[d + 1])
        assert bool((found[low:high] == d).all())
    cupy.get_default_memory_pool().free_all_blocks()


def test_keys_and_values_past_2_31() -> None:
    """By digits: 64-bit counts, and tiles beyond the first 2^31 elements. Values tell that equal keys keep their order."""
    n, period = (1 << 31) + 3, 1 << 20
    if cupy.cuda.runtime.memGetInfo()[0] < 50 << 30:
        pytest.skip("needs 50 GiB of memory")
    base = cupy.asarray(np.random.default_rng(0).permutation(period)).astype(np.uint32) * 4093
    x = cupy.tile(base, -(-n // period))[:n]
    turns = cupy.repeat(cupy.arange(-(-n // period), dtype=cupy.uint64).astype(cupy.uint8), period)[:n]
    keys, values = lib.sort_by_key(x, turns)
    del x, turns
    order = cupy.argsort(base)
    ends = cupy.cumsum(n // period + (order < n % period))
    begins = ends - n // period - (order < n % period)
    for first in range(0, n, 1 << 26):
        places = cupy.arange(first, min(first + (1 << 26), n))
        which = cupy.searchsorted(ends, places, side="right")
        assert bool((keys[first : first + (1 << 26)] == base[order[which]]).all())
        assert bool((values[first : first + (1 << 26)] == (places - begins[which]).astype(cupy.uint8)).all())
    cupy.get_default_memory_pool().free_all_blocks()


@pytest.mark.parametrize("kind", ["int8", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize(("shape", "axis"), [((1000, 70), 0), ((3, 500, 7), 1), ((5, 70_001), 0), ((200_003, 4), 0)])
def test_columns_are_brought_side_by_side(shape: tuple[int, ...], axis: int, kind: str) -> None:
    """By kernels of the same plan: also in place, into another order of axes, and in a graph."""
    host = (np.random.default_rng(1).random(shape) * 200 - 100).astype(kind)
    order = np.argsort(host, axis, kind="stable")
    wanted, x = np.take_along_axis(host, order, axis), cupy.asarray(host)
    out, across = cupy.zeros_like(x), cupy.zeros(shape[::-1], kind).T
    places, stream = cupy.zeros(shape, np.int64), cupy.cuda.Stream(non_blocking=True)
    for _ in range(2):
        assert np.array_equal(lib.sort(x, axis).get(), wanted)
        for target in (out, across):
            assert lib.sort(x, axis, out=target) is target and np.array_equal(target.get(), wanted)
        assert np.array_equal(lib.argsort(x, axis, out=places).get(), order)
    with stream:
        lib.sort(x, axis, out=out)
        stream.begin_capture()
        lib.sort(x, axis, out=out)
        graph = stream.end_capture()
        out[...] = 0
        graph.launch(stream)
    stream.synchronize()
    assert np.array_equal(out.get(), wanted)
    assert lib.sort(x, axis, out=x) is x and np.array_equal(x.get(), wanted)
