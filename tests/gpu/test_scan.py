"""prism.lib.scan on the GPU: every tile edge, long arrays, many launches, several streams, graphs, any alignment."""

import numpy as np
import pytest

from prism.kernels.scan import BLOCK_THREADS, DEVICE, ONCE, ONCE_ITEMS, ONCE_THREADS, ONCE_TILES
from prism.lib import scan
from prism.lib.operators import BY_NAME
from tests.lib.oracles import AFFINE, CASES, LAST, Case

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def numbers(size: int, kind: str, seed: int = 0):
    random = cupy.random.default_rng(seed)
    if np.dtype(kind).kind == "f":
        return random.standard_normal(size, dtype=cupy.float32).astype(kind)
    return random.integers(0, 256, max(1, size * np.dtype(kind).itemsize), dtype=cupy.uint8)[
        : size * np.dtype(kind).itemsize
    ].view(kind)


def is_sum(x, y, chunk: int = 1 << 28) -> bool:
    """Whether `y` is the cumulative sum of the integers `x`: its differences are `x`."""
    if not x.size:
        return not y.size
    steps = range(1, x.size, chunk)
    good = bool(y[0] == x[0])
    return good and all(
        bool((y[i : i + chunk] - y[i - 1 : -1][: y[i : i + chunk].size] == x[i : i + chunk]).all()) for i in steps
    )


def near(x, y) -> bool:
    """Whether `y` is the cumulative sum of the floats `x`, to the last few bits of what was added up."""
    given, found = cupy.asnumpy(x), cupy.asnumpy(y)
    exact = np.cumsum(given, dtype=np.float64 if given.dtype == np.float32 else np.longdouble)
    bound = 4 * np.finfo(given.dtype).eps * np.log2(given.size + 2) * np.cumsum(np.abs(given), dtype=exact.dtype)
    return bool((np.abs(found - exact) <= bound).all())


def edges(kind: str) -> list[int]:
    tile = DEVICE[np.dtype(kind).itemsize].tile
    return [k * tile + d for k in (1, 2, 3, 263, 264, 265, 528, 1000) for d in (-1, 0, 1)]


@pytest.mark.parametrize("kind", DTYPES)
def test_sizes(kind: str) -> None:
    for size in [0, 1, 2, 15, 16, 17, 31, 32, 33, 1023, 1024, 1025, *edges(kind), 10**6 + 7]:
        x = numbers(size, kind, seed=size)
        y = scan(x)
        assert y.dtype == x.dtype and y.shape == (size,)
        assert near(x, y) if y.dtype.kind == "f" else is_sum(x, y), size


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.slow
def test_2_to_the_28(kind: str) -> None:
    x = numbers(2**28, kind)
    y = scan(x)
    assert near(x, y) if y.dtype.kind == "f" else is_sum(x, y)


@pytest.mark.parametrize("kind", ["int8", "uint32"])
@pytest.mark.slow
def test_more_than_2_to_the_31(kind: str) -> None:
    x = numbers(2**31 + 3, kind)
    assert is_sum(x, scan(x))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
def test_operators(case: Case, exclusive: bool) -> None:
    x = case.data(100_000)
    wanted = case.exclusive(x) if exclusive else case.inclusive(x)
    op = case.operator if case.operator in (LAST, AFFINE) else case.operator.name
    assert np.array_equal(cupy.asnumpy(scan(cupy.asarray(x), op, exclusive=exclusive)), wanted)


@pytest.mark.parametrize("name", ["minimum", "maximum"])
@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_extrema(name: str, kind: str) -> None:
    x = numbers(10**7, kind)
    if kind == "float32":
        x[7_000_000] = np.nan
    wanted = getattr(np, name).accumulate(cupy.asnumpy(x))
    assert np.array_equal(cupy.asnumpy(scan(x, name)), wanted, equal_nan=kind == "float32")


def test_spikes_at_tile_edges() -> None:
    tile = DEVICE[4].tile
    for at in (0, 1, 31, 32, tile - 1, tile, tile + 1, 300 * tile - 1, 300 * tile):
        x = cupy.zeros(400 * tile, cupy.int32)
        x[at] = 1
        y = scan(x)
        assert int(y.sum()) == x.size - at and int(y[at]) == 1 and (at == 0 or int(y[at - 1]) == 0)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
def test_every_run_gives_the_same_bits(kind: str) -> None:
    for size in (1000, 2**16, 2**20, 30_000_001):
        x = numbers(size, "float32").astype(kind)
        wanted = scan(x).view(cupy.uint8)
        for _ in range(20):
            assert bool((scan(x).view(cupy.uint8) == wanted).all()), size


def test_sizes_of_short_arrays() -> None:
    """Each way of scanning a short array, and one element to each side of where it changes."""
    for kind in ("int8", "int32", "float64"):
        vector = 16 // np.dtype(kind).itemsize
        tiles = [ONCE_THREADS * min(vectors * vector, ONCE_ITEMS) for _, vectors, _ in ONCE]
        limits = [
            BLOCK_THREADS * vector,
            *tiles,
            *(most * vector // 16 for most, _, _ in ONCE),
            *(ONCE_TILES * t for t in tiles),
        ]
        for size in (limit + d for limit in limits for d in (-1, 0, 1)):
            x = numbers(size, kind)
            for _ in range(3):
                y = scan(x)
                assert near(x, y) if kind.startswith("float") else is_sum(x, y), size


@pytest.mark.parametrize("kind", ["int32", "float32"])
def test_from_the_end(kind: str) -> None:
    for size in (1000, 2**16 + 3, 2**22 + 5):
        x = numbers(size, kind)
        y = scan(x, reverse=True)
        assert near(x[::-1].copy(), y[::-1].copy()) if kind == "float32" else is_sum(x[::-1], y[::-1])
        if kind == "int32":
            assert bool((scan(x, reverse=True, initial=5) - 5 == y).all())


def test_exclusive() -> None:
    x = numbers(10**6 + 7, "int32")
    y = scan(x, exclusive=True)
    assert int(y[0]) == 0 and bool((y[1:] == scan(x)[:-1]).all())


@pytest.mark.parametrize("kind", ["int8", "int32", "float64"])
def test_alignment(kind: str) -> None:
    room, target = numbers(10**6, kind), cupy.empty(10**6, kind)
    for first in range(0, 17):
        for second in (0, 1):
            x, y = room[first : first + 99_999], target[second : second + 99_999]
            target[...] = 77
            assert scan(x, out=y) is y
            assert near(x, y) if y.dtype.kind == "f" else is_sum(x, y)
            assert bool((target[second + 99_999 :] == 77).all())


def test_in_place_and_overlapping() -> None:
    for size in (5, 8192, 10**6 + 7):
        x = numbers(size, "int32")
        same = x.copy()
        scan(same, out=same)
        assert is_sum(x, same)
        for shift in (1, 4, 5000):
            room = cupy.concatenate([x, cupy.zeros(shift, x.dtype)])
            scan(room[:size], out=room[shift:])
            assert is_sum(x, room[shift:])
            room = cupy.concatenate([cupy.zeros(shift, x.dtype), x])
            scan(room[shift:], out=room[:size])
            assert is_sum(x, room[:size])


def test_strides_shapes_and_dtypes() -> None:
    x = numbers(2 * 3 * 1001, "int32").reshape(2, 3, 1001)
    for view in (x, x.T, x[:, :, ::2], x[::-1]):
        assert is_sum(view.ravel(), scan(view))
    small = numbers(10**6, "int8")
    assert is_sum(small.astype("int64"), scan(small, dtype="int64"))
    assert is_sum((small > 0).astype("int32"), scan(small > 0, dtype="int32"))


def test_the_result_belongs_to_cupy_and_the_input_is_untouched() -> None:
    x = numbers(50_000, "float32")
    before = x.copy()
    y = scan(x)
    assert type(y) is cupy.ndarray and y.device == x.device
    assert bool((x == before).all())


@pytest.mark.slow
def test_many_launches() -> None:
    """10^4 launches in a row of different sizes, on one scratch: not one wrong element."""
    x = numbers(3_000_000, "int32")
    wanted = cupy.cumsum(x, dtype=x.dtype)
    out = cupy.empty_like(x)
    wrong = cupy.zeros((), cupy.int64)
    sizes = np.random.default_rng(0).integers(1, [100, 20_000, 300_000, 3_000_000], (2500, 4)).ravel()
    for size in map(int, sizes):
        y = scan(x[:size], out=out[:size])
        wrong += cupy.count_nonzero(y != wanted[:size])
    assert int(wrong) == 0


def test_two_streams_at_once() -> None:
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    xs = [numbers(20_000_000, "int32", seed) for seed in (1, 2)]
    ys = [cupy.empty_like(x) for x in xs]
    cupy.cuda.Device().synchronize()
    for _ in range(50):
        for stream, x, y in zip(streams, xs, ys, strict=True):
            with stream:
                scan(x, out=y)
    cupy.cuda.Device().synchronize()
    assert all(is_sum(x, y) for x, y in zip(xs, ys, strict=True))


def test_the_stream_argument() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x = numbers(10**6, "int32")
    cupy.cuda.Device().synchronize()
    for given in (stream, stream.ptr):
        y = scan(x, stream=given)
        stream.synchronize()
        assert is_sum(x, y)


def test_a_graph_can_be_replayed() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x, y = numbers(5_000_000, "int32"), cupy.empty(5_000_000, cupy.int32)
    cupy.cuda.Device().synchronize()
    with stream:
        scan(x, out=y)
        stream.synchronize()
        stream.begin_capture()
        scan(x, out=y)
        scan(y, out=y)
        graph = stream.end_capture()
    for seed in range(5):
        x[...] = numbers(x.size, "int32", seed)
        cupy.cuda.Device().synchronize()
        for _ in range(20):
            graph.launch(stream)
        stream.synchronize()
        assert is_sum(scan(x), y)


def test_a_warm_call_allocates_its_result_only() -> None:
    x = numbers(10**6, "int32")
    out = cupy.empty_like(x)
    scan(x, out=out)
    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    free = cupy.cuda.runtime.memGetInfo()[0]
    for _ in range(100):
        scan(x, out=out)
    assert pool.used_bytes() == before and cupy.cuda.runtime.memGetInfo()[0] == free


def test_wrong_arguments() -> None:
    x = cupy.zeros(10, cupy.int32)
    for out, error, words in [
        (cupy.empty(9, cupy.int32), ValueError, "`out` must have shape"),
        (cupy.empty(10, cupy.int64), TypeError, "`out` must be of int32"),
        (cupy.empty(20, cupy.int32)[::2], ValueError, "`out` must be C-contiguous"),
        (np.empty(10, np.int32), TypeError, "`x` is on GPU 0, `out` on the host"),
    ]:
        with pytest.raises(error, match=words):
            scan(x, out=out)


@pytest.mark.parametrize("name", BY_NAME)
def test_every_operator_compiles_for_every_dtype(name: str) -> None:
    for kind in DTYPES:
        if BY_NAME[name].integral and np.dtype(kind).kind == "f":
            continue
        x = numbers(20_000, kind)
        if name == "multiply" and kind.startswith("float"):
            x = cupy.sign(x)
        wanted = getattr(np, name).accumulate(cupy.asnumpy(x), dtype=kind)
        found = cupy.asnumpy(scan(x, name))
        assert near(x, found) if name == "add" and kind.startswith("float") else np.array_equal(found, wanted)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randint(-1000, 1000, (300, 1001), device="cuda", dtype=torch.int32)
    for given in (x, x.t(), x[:, ::2]):
        y = scan(given)
        assert isinstance(y, torch.Tensor) and y.device == x.device and y.dtype == torch.int32
        assert torch.equal(y, torch.cumsum(given.reshape(-1), 0, dtype=torch.int32))
    assert torch.equal(scan(x, dtype="float64"), torch.cumsum(x.reshape(-1).double(), 0))
    out = torch.empty(x.numel(), device="cuda", dtype=torch.int32)
    assert scan(x, out=out) is out and torch.equal(out, scan(x))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = scan(x)
    stream.synchronize()
    assert torch.equal(y, out)
    with pytest.raises(TypeError, match="`out` must be an array of torch"):
        scan(x, out=cupy.empty(x.numel(), cupy.int32))
    with pytest.raises(TypeError, match="torch tensor on cpu"):
        scan(x.cpu())
