"""prism.lib's reductions on the GPU: every edge, long arrays, axes, many launches, several streams, graphs, any alignment."""

import math

import numpy as np
import pytest

from prism import lib
from prism.host.machine import Gpu
from prism.kernels.reduce import DEVICE
from prism.kernels.reduce.configurations import MIDDLE, SHORT, SHORT_LAST, SHORT_ROWS
from prism.lib.algorithms.reduce.plan import plan_reduction, stages
from tests.lib.algorithms.reduce.test_plan import aligned, perform, sum_of
from tests.lib.oracles import AFFINE, CASES, LAST, Case

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, "float16", "float32", "float64"]
NAMES = ["sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "count_nonzero"]


def numbers(shape, kind: str, seed: int = 0):
    """Random elements; floats are small integers, so that sums are exact in any order."""
    random = cupy.random.default_rng(seed)
    if kind == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if kind.startswith("float"):
        return random.integers(-4, 5, shape).astype(kind)
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    size = np.dtype(kind).itemsize
    return random.integers(0, 256, max(count, 1) * size, dtype=cupy.uint8)[: count * size].view(kind).reshape(shape)


def check(name: str, x, **options) -> None:
    """Compare a reduction with NumPy's."""
    if name == "prod" and x.dtype.kind == "f":
        x = cupy.sign(x)
    found = getattr(lib, name)(x, **options)
    with np.errstate(over="ignore"):
        wanted = np.asarray(getattr(np, name)(cupy.asnumpy(x), **options))
    assert isinstance(found, cupy.ndarray) and found.shape == wanted.shape
    assert found.dtype == (np.dtype("int64") if name == "count_nonzero" else wanted.dtype)
    assert np.array_equal(cupy.asnumpy(found), wanted, equal_nan=wanted.dtype.kind == "f"), (x.shape, options)


def edges(kind: str) -> list[int]:
    """Sizes about one load of a block, one batch, one wave of blocks, and where another way to cut short arrays begins."""
    size = np.dtype(kind).itemsize
    configuration, vector = DEVICE[size], 16 // size
    row = configuration.threads * vector
    places = [k * row for k in (1, configuration.rows, configuration.rows + 1, 264, 528, 2112)]
    places += [threads * SHORT_ROWS * blocks * vector for threads, blocks in (*SHORT, SHORT_LAST[size])]
    places += [vectors * vector for vectors, _ in MIDDLE.get(size, ())]
    return [place + d for place in places for d in (-1, 0, 1, vector)]


@pytest.mark.parametrize("kind", DTYPES)
def test_sizes(kind: str) -> None:
    for size in [1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, *edges(kind), 10**6 + 7]:
        check("sum" if kind != "float16" else "max", numbers(size, kind, seed=size))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", DTYPES)
def test_names(name: str, kind: str) -> None:
    for shape in [(100_003,), (37, 1001), (33, 20, 9)]:
        x = numbers(shape, kind)
        if name in ("prod", "sum") and kind == "float16":
            x = cupy.abs(x[..., :30] > 0).astype(kind)
        for axis in (None, *range(len(shape))):
            check(name, x, axis=axis)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case) -> None:
    op = case.operator if case.operator in (LAST, AFFINE) else case.operator.name
    for size in (1, 33, 100_003):
        x = case.data(size)
        wanted = case.inclusive(x)[-1]
        assert int(lib.reduce(cupy.asarray(x), op)) == int(wanted)
        pair = cupy.stack([cupy.asarray(x)] * 2, axis=1)
        assert lib.reduce(pair, op, axis=0).tolist() == [wanted.item()] * 2
        assert lib.reduce(cupy.ascontiguousarray(pair.T), op, axis=1).tolist() == [wanted.item()] * 2


SHAPES = [(1 << k, 1 << (20 - k)) for k in range(0, 21, 2)] + [(1000, 1003), (3, 400_001), (400_001, 3), (65, 63, 129)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["int8", "int32", "float32", "float64"])
def test_axes(shape: tuple[int, ...], kind: str) -> None:
    x = numbers(shape, kind)
    for axis in range(len(shape)):
        for name in ("sum", "max", "argmax"):
            check(name, x, axis=axis)
    check("sum", x, axis=(0, len(shape) - 1), keepdims=True)


def test_strides() -> None:
    x = numbers((60, 70, 80), "int32")
    for view in (
        x.T,
        x[::2],
        x[:, ::3],
        x[:, :, ::2],
        x[::-1],
        x[:, 1:-1, 3:],
        x.transpose(1, 0, 2),
        x[5],
        x[:, 4],
        x[..., 7],
    ):
        for axis in (None, *range(view.ndim)):
            check("sum", view, axis=axis)
            check("argmin", view, axis=axis)
    check("sum", cupy.broadcast_to(x[0, 0], (50, 80)), axis=0)
    check("max", numbers((5, 6, 7, 8), "int16").transpose(2, 0, 3, 1), axis=(0, 2))


@pytest.mark.parametrize("kind", ["int8", "int32", "float64"])
def test_alignment(kind: str) -> None:
    room = numbers(10**6, kind)
    for first in range(17):
        for size in (5, 99_999, 300_000):
            check("sum", room[first : first + size])
        check("max", room[first : first + 90_000].reshape(300, 300), axis=1)
        check("max", room[first : first + 90_000].reshape(300, 300), axis=0)


@pytest.mark.parametrize("kind", DTYPES)
def test_both_extremes_at_once(kind: str) -> None:
    room = numbers(3_000_017, kind)
    for first in (0, 1, 5):
        for size in (1, 31, 5000, 100_003, 3_000_000):
            x = room[first : first + size]
            for _ in range(2):
                assert [int(one) for one in lib.argminmax(x)] == [int(x.argmin()), int(x.argmax())]
                assert all(bool(a == b) for a, b in zip(lib.minmax(x), (x.min(), x.max()), strict=True))
    x = room[: 1500 * 2000].reshape(1500, 2000)
    for axis in (0, 1):
        for found, wanted in zip(lib.minmax(x, axis), (x.min(axis), x.max(axis)), strict=True):
            assert found.dtype == wanted.dtype and bool((found == wanted).all())
    if kind.startswith("float"):
        room[1_000_000] = np.nan
        assert all(bool(one != one) for one in lib.minmax(room))
        assert [int(one) for one in lib.argminmax(room)] == [1_000_000] * 2


@pytest.mark.parametrize("into", ["int32", "uint16", "int64", "int8"])
def test_positions_in_other_integers(into: str) -> None:
    """Also where they do not fit: as a conversion has them."""
    x = cupy.zeros(70_000, cupy.float32)
    for at in (0, 100, 69_999):
        x[at] = 1 + at
        out = cupy.full((), 7, into)
        for _ in range(2):
            assert lib.argmax(x, out=out) is out and int(out) == np.int64(at).astype(into)


def test_both_extremes_in_a_graph() -> None:
    x = numbers(100_003, "int32") // 2
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
    with stream:
        lib.minmax(x), lib.argminmax(x)
        stream.synchronize()
        stream.begin_capture()
        ends, places = lib.minmax(x), lib.argminmax(x)
        graph = stream.end_capture()
        for at in (5, 99_999):
            x[at] = largest = 2**31 - 100_000 + at
            graph.launch(stream)
            stream.synchronize()
            assert [int(one) for one in (*ends, *places)] == [int(x.min()), largest, int(x.argmin()), at]


def test_one_element_wherever_it_stands() -> None:
    n = 3_000_017
    x = cupy.zeros(n, cupy.int32)
    for at in [0, 1, 2, 3, 4, n - 1, n - 2, n - 3, n - 4, *np.random.default_rng(0).integers(0, n, 40).tolist()]:
        x[at] = 3
        assert int(lib.sum(x)) == 3 and int(lib.argmax(x)) == at and int(lib.count_nonzero(x)) == 1
        x[at] = 0


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
def test_float_sums(kind: str) -> None:
    for size in (1000, 10**6, 3 * 10**7):
        x = cupy.random.default_rng(size).standard_normal(size, dtype=cupy.float32).astype(kind)
        given = cupy.asnumpy(x).astype(np.longdouble)
        eps = np.finfo("float32" if kind == "float16" else kind).eps
        bound = 4 * eps * math.log2(size) * np.abs(given).sum()  # KERNELS: grouped sums, c = 4
        bound += np.finfo(kind).eps * abs(given.sum()) if kind == "float16" else 0
        assert abs(np.longdouble(float(lib.sum(x))) - given.sum()) <= bound


def test_results_are_the_same_from_run_to_run() -> None:
    x = cupy.random.default_rng(0).standard_normal(30_000_000, dtype=cupy.float32)
    y = x.reshape(3000, 10_000)
    wanted = [
        cupy.asnumpy(f()).tobytes()
        for f in (lambda: lib.sum(x), lambda: lib.sum(y, axis=0), lambda: lib.sum(y, axis=1))
    ]
    for _ in range(100):
        for function, bits in zip(
            (lambda: lib.sum(x), lambda: lib.sum(y, axis=0), lambda: lib.sum(y, axis=1)), wanted, strict=True
        ):
            assert cupy.asnumpy(function()).tobytes() == bits


@pytest.mark.parametrize("size", [1, 33, 2000, 70_001])
def test_sums_of_float64_are_those_of_the_reference_machine(size: int) -> None:
    """To the bit, where it runs the same kernel: also by tensor cores."""
    x = aligned(size, "float64")
    x[...] = np.random.default_rng(size).standard_normal(size)
    plan = plan_reduction(sum_of("float64", "float64"), stages((size,), (1,), (0,), True), 0, Gpu(0))
    assert lib.sum(cupy.asarray(x)).get().tobytes() == perform(plan, x, 1, "float64")[0].tobytes()
    x[...] = -0.0
    assert bool(cupy.signbit(lib.sum(cupy.asarray(x))))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_not_a_number(kind: str) -> None:
    x = numbers((300, 4000), kind)
    assert float(lib.sum(cupy.where(x == 2, cupy.inf, x))) == np.inf
    x[17, 5], x[17, 3000], x[200, 1] = np.nan, np.nan, np.nan
    for name in ("max", "min", "argmax", "argmin", "sum", "any", "count_nonzero"):
        for axis in (None, 0, 1):
            check(name, x, axis=axis)


def test_ties() -> None:
    for first in (0, 1, 511, 512, 70_000, 1_999_999):
        x = cupy.zeros(2_000_000, cupy.int8)
        x[first:] = 1
        assert int(lib.argmax(x)) == first


@pytest.mark.parametrize("kind", ["int8", "int32", "float32", "int64"])
@pytest.mark.slow
def test_2_to_the_28(kind: str) -> None:
    x = numbers(2**28, kind)
    wanted = int(cupy.asnumpy(x).sum(dtype=np.float64 if kind == "float32" else None))
    assert int(lib.sum(x, dtype="float64" if kind == "float32" else None)) == wanted
    for axis in (0, 1):
        if kind != "float32":  # NumPy adds up columns one after the other
            check("sum", x.reshape(1 << 14, 1 << 14), axis=axis)


@pytest.mark.slow
def test_more_than_2_to_the_32() -> None:
    n = 2**32 + 5
    x = cupy.ones(n, cupy.int8)
    assert int(lib.sum(x)) == n and int(lib.count_nonzero(x)) == n
    x[n - 2] = 2
    assert int(lib.argmax(x)) == n - 2 and int(lib.max(x)) == 2
    x[n - 2] = 1
    group_m = x[: 1 << 32].reshape(1 << 31, 2)
    assert bool((lib.sum(group_m, axis=1) == 2).all()) and lib.sum(group_m, axis=0).tolist() == [1 << 31] * 2


def test_empty_arrays_and_initial() -> None:
    assert int(lib.sum(cupy.zeros(0))) == 0 and bool(lib.all(cupy.zeros(0))) and float(lib.prod(cupy.zeros((0,)))) == 1
    assert lib.sum(cupy.zeros((3, 0), "int8"), axis=1).tolist() == [0, 0, 0]
    assert lib.max(cupy.zeros((0, 3)), axis=1).shape == (0,)
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        lib.max(cupy.zeros(0))
    assert float(lib.max(cupy.zeros(0), initial=3)) == 3
    x = numbers((1000, 300), "int32")
    for axis in (None, 0, 1):
        check("sum", x, axis=axis, initial=7)


# -- Streams, graphs, many launches ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_thousand_launches() -> None:
    x = numbers(3_000_000, "int32")
    sums = cupy.concatenate([cupy.zeros(1, cupy.int64), cupy.cumsum(x.astype(cupy.int64))])
    out, wrong = cupy.zeros((), cupy.int64), cupy.zeros((), cupy.int64)
    sizes = np.random.default_rng(0).integers(1, [100, 20_000, 300_000, 3_000_000], (2500, 4)).ravel()
    for size in map(int, sizes):
        lib.sum(x[:size], out=out)
        wrong += out != sums[size]
    assert int(wrong) == 0


def test_two_streams_at_once() -> None:
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    xs = [numbers(20_000_000, "int32", seed) for seed in (1, 2)]
    outs = [cupy.zeros(50, cupy.int64) for _ in xs]
    cupy.cuda.Device().synchronize()
    for k in range(50):
        for stream, x, out in zip(streams, xs, outs, strict=True):
            with stream:
                lib.sum(x, out=out[k])
    cupy.cuda.Device().synchronize()
    for x, out in zip(xs, outs, strict=True):
        assert bool((out == int(cupy.asnumpy(x).sum())).all())


def test_the_stream_argument() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x = numbers((1000, 1000), "int32")
    cupy.cuda.Device().synchronize()
    for given in (stream, stream.ptr):
        whole, columns = lib.sum(x, stream=given), lib.sum(x, axis=0, stream=given)
        stream.synchronize()
        assert int(whole) == int(cupy.asnumpy(x).sum()) and np.array_equal(
            cupy.asnumpy(columns), cupy.asnumpy(x).sum(axis=0)
        )


def test_a_graph_can_be_replayed() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x = numbers((500, 10_000), "int32")
    whole, columns, place = cupy.zeros((), cupy.int64), cupy.zeros(10_000, cupy.int64), cupy.zeros((), cupy.int64)
    cupy.cuda.Device().synchronize()

    def work() -> None:
        lib.sum(x, out=whole)
        lib.sum(x, axis=0, out=columns)
        lib.argmax(x, out=place)

    with stream:
        work()
        stream.synchronize()
        stream.begin_capture()
        work()
        graph = stream.end_capture()
    for seed in range(5):
        x[...] = numbers(x.shape, "int32", seed)
        cupy.cuda.Device().synchronize()
        for _ in range(20):
            graph.launch(stream)
        stream.synchronize()
        host = cupy.asnumpy(x)
        assert (
            int(whole) == host.sum()
            and np.array_equal(cupy.asnumpy(columns), host.sum(axis=0))
            and int(place) == host.argmax()
        )


def test_a_warm_call_allocates_nothing() -> None:
    x, out = numbers((1000, 1000), "int32"), cupy.zeros(1000, cupy.int64)
    pool = cupy.get_default_memory_pool()

    def grown() -> bool:
        """Whether a hundred calls take memory. What is free is the whole GPU's, where other processes take some, too."""
        before, free = pool.used_bytes(), cupy.cuda.runtime.memGetInfo()[0]
        for _ in range(100):
            lib.sum(x, axis=0, out=out)
        return bool(pool.used_bytes() != before or cupy.cuda.runtime.memGetInfo()[0] != free)

    grown()  # the first calls make a graph, for which the driver takes memory
    assert not all(grown() for _ in range(5))


@pytest.mark.parametrize("size", [1000, 2**16, 2**20, 2**22 + 5])
def test_each_launch_sees_what_the_one_before_it_wrote(size: int) -> None:
    """Kernels are set up while the one before them still runs: a chain of them, each on what the last one wrote."""
    start = np.random.default_rng(size).integers(-9, 9, size)
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            x, y, most = cupy.asarray(start), cupy.zeros(size, cupy.int64), cupy.zeros((), cupy.int64)
            wanted = start
            for _ in range(12):
                lib.scan(x, out=y)
                lib.max(y, out=most)
                cupy.subtract(most, y, out=x)
                lib.scan(x, "maximum", reverse=True, out=x)
                lib.sum(x, out=most)
                cupy.bitwise_xor(x, most, out=x)
                sums = np.cumsum(wanted)
                wanted = np.maximum.accumulate((sums.max() - sums)[::-1])[::-1]
                wanted = wanted ^ wanted.sum()
            stream.synchronize()
            assert np.array_equal(cupy.asnumpy(x), wanted)


# -- out, errors, torch ---------------------------------------------------------------------------------------------------


def test_out() -> None:
    x = numbers((300, 400), "int32")
    for axis, shape in [(None, ()), (0, (400,)), (1, (300,))]:
        for out in (cupy.zeros(shape, cupy.int64), cupy.zeros((*shape, 2), cupy.int64)[..., 0]):
            assert lib.sum(x, axis=axis, out=out) is out
            assert np.array_equal(cupy.asnumpy(out), cupy.asnumpy(x).sum(axis=axis))
    wanted = cupy.asnumpy(x).max(axis=0)
    lib.max(x, axis=0, out=x[7])
    assert np.array_equal(cupy.asnumpy(x[7]), wanted)


def test_wrong_arguments() -> None:
    x = cupy.zeros((4, 5), cupy.int32)
    for out, error, words in [
        (cupy.zeros(4, cupy.int64), ValueError, "`out` must have shape"),
        (np.zeros(5, np.int64), TypeError, "`a` is on GPU 0, `out` on the host"),
    ]:
        with pytest.raises(error, match=words):
            lib.sum(x, axis=0, out=out)
    assert complex(lib.max(x.astype(cupy.complex64))) == 0
    with pytest.raises(np.exceptions.AxisError):
        lib.sum(x, axis=2)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randint(-1000, 1000, (300, 1001), device="cuda", dtype=torch.int32)
    for given in (x, x.t(), x[:, ::2]):
        for axis in (None, 0, 1):
            found = lib.sum(given, axis=axis)
            wanted = torch.sum(given) if axis is None else torch.sum(given, axis)
            assert isinstance(found, torch.Tensor) and found.dtype == torch.int64 and torch.equal(found, wanted)
    assert torch.equal(lib.any(x > 999, axis=0), torch.any(x > 999, 0)) and lib.max(x).shape == ()
    assert torch.equal(lib.argmax(x.double(), axis=1), torch.argmax(x.double(), 1))
    half = torch.randn(100, 3000, device="cuda").to(torch.bfloat16)
    found = lib.sum(half, axis=1)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), half.float().sum(1), rtol=2**-7, atol=1e-2)  # rounded once, to 8 bits
    assert torch.equal(lib.max(half, axis=0), half.max(0).values)
    out = torch.zeros(1001, device="cuda", dtype=torch.int64)
    assert lib.sum(x, axis=0, out=out) is out and torch.equal(out, x.sum(0))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = lib.sum(x)
    stream.synchronize()
    assert torch.equal(y, x.sum())


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_sums_of_16_bits_are_as_near_as_those_of_torch(kind: str) -> None:
    """Both are rounded once: the mean of our errors is that of torch's, but for numbers that lie between two."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    for shape in ((4096, 1000), (1000, 4096), (64, 1 << 16)):
        x = torch.randn(shape, device="cuda").to(getattr(torch, kind))
        for axis in (0, 1):
            exact = x.double().sum(axis)
            ours, theirs = ((found.double() - exact).abs().mean() for found in (lib.sum(x, axis=axis), x.sum(axis)))
            assert float(ours) <= 1.01 * float(theirs), (shape, axis)
        last = lib.cumsum(x, axis=1)[:, -1], torch.cumsum(x, 1)[:, -1]
        ours, theirs = ((found.double() - exact).abs().mean() for found in last)
        assert float(ours) <= 1.01 * float(theirs), shape
