"""Scans along axes on the GPU: every way of cutting them up, against NumPy or by differences."""

import math

import numpy as np
import pytest

import prism.lib as lib
from prism.lib import scan
from tests.lib.oracles import AFFINE, CASES, Case

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

DTYPES = ["int8", "uint16", "int32", "uint64", "float32", "float64"]
SHAPES = [
    (1, 70_000, 2), (1, 70_000, 3), (1, 30_001, 8), (1, 20_000, 16), (1, 5000, 33), (3, 4001, 17), (2, 3000, 64), (1, 3000, 260),
    (1, 700, 2048), (1, 300, 4096), (5, 90, 1025), (1, 9, 100_000), (1, 40, 100_004), (300, 7, 11), (1000, 33, 1),
    (7, 100_003, 1), (100_003, 7, 1), (31, 8192, 1), (40_000, 1, 5), (2, 1, 300), (1, 200_003, 33), (5, 60_001, 9), (1, 1, 1),
]  # fmt: skip


def numbers(shape, kind: str, seed: int = 0):
    random = cupy.random.default_rng(seed)
    size = math.prod(shape)
    if np.dtype(kind).kind == "f":
        return random.integers(-8, 8, size).astype(kind).reshape(shape)  # sums are exact, in any order
    return random.integers(0, 256, size * np.dtype(kind).itemsize, dtype=cupy.uint8).view(kind).reshape(shape)


def is_sum(x, y, axis: int, *, reverse: bool = False) -> bool:
    """Whether `y` is the cumulative sum of `x` along an axis: its differences are `x`."""
    x, y = (cupy.moveaxis(a, axis, 0)[:: -1 if reverse else 1] for a in (x, y))
    return bool((y[:1] == x[:1]).all()) and bool((y[1:] - y[:-1] == x[1:]).all())


@pytest.mark.parametrize("kind", DTYPES)
def test_shapes(kind: str) -> None:
    for shape in SHAPES:
        x = numbers(shape, kind)
        for reverse in (False, True) if kind == "int32" else (False,):  # each is a kernel of its own, to be compiled
            y = scan(x, axis=1, reverse=reverse)
            assert y.dtype == x.dtype and y.shape == x.shape
            assert is_sum(x, y, 1, reverse=reverse), (shape, reverse)


@pytest.mark.parametrize("kind", ["int8", "int32", "int64"])
@pytest.mark.parametrize("log", [10, 17, 22])
def test_every_split_of_a_power_of_two(kind: str, log: int) -> None:
    for first in range(log + 1):
        x = numbers((1 << first, 1 << (log - first)), kind, seed=first)
        for axis in (0, 1):
            assert is_sum(x, scan(x, axis=axis), axis), (first, axis)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case) -> None:
    for shape in ((3, 500, 4), (1, 2000, 7), (40, 300, 1), (1, 5, 3000)):
        x = case.data(math.prod(shape)).reshape(shape)
        for exclusive, reverse in ((False, False), (True, True)):
            found = cupy.asnumpy(scan(cupy.asarray(x), case.operator, axis=1, exclusive=exclusive, reverse=reverse))
            z = np.flip(x, 1) if reverse else x
            wanted = np.apply_along_axis(case.exclusive if exclusive else case.inclusive, 1, z)
            assert np.array_equal(found, np.flip(wanted, 1) if reverse else wanted)


def test_an_operator_that_does_not_commute() -> None:
    case = CASES[-1]
    x = case.data(60_000)
    assert np.array_equal(cupy.asnumpy(scan(cupy.asarray(x), AFFINE, reverse=True)), case.inclusive(x[::-1])[::-1])


def test_misaligned() -> None:
    room = numbers((100_000,), "int32")
    for first in range(4):
        for shape in ((50, 400), (400, 50), (9000, 2)):
            x = room[first : first + math.prod(shape)].reshape(shape)
            for axis in (0, 1):
                assert is_sum(x, scan(x, axis=axis), axis)


def test_layouts() -> None:
    x = numbers((20, 30, 40), "int32")
    for view in (x, x.T, x.swapaxes(0, 1), x[:, ::2], x[::-1]):
        for axis in range(3):
            y = scan(view, axis=axis)
            assert is_sum(view, y, axis)
    assert scan(x.T, axis=0).flags.f_contiguous


def test_in_place_and_out() -> None:
    for shape in ((300, 700), (5000, 8), (8, 5000), (3, 100_000)):
        x = numbers(shape, "int32")
        for axis in (0, 1):
            same, out = x.copy(), cupy.empty_like(x)
            scan(same, axis=axis, out=same)
            assert scan(x, axis=axis, out=out) is out
            assert is_sum(x, same, axis) and is_sum(x, out, axis)


def test_many_launches_of_shared_strips() -> None:
    """Shapes in turn on one scratch: not one wrong element."""
    random = np.random.default_rng(0)
    for _ in range(300):
        shape = (int(random.integers(1, 4)), int(random.integers(1, 60_000)), int(random.integers(2, 20)))
        x = numbers(shape, "int32")
        assert is_sum(x, scan(x, axis=1), 1), shape


@pytest.mark.parametrize("given", ["int8", "uint8", "bool", "float16", "int32"])
def test_types_that_differ(given: str) -> None:
    x = numbers((300, 1000), "uint8").view("bool" if given == "bool" else "uint8")
    x = (x & 1).astype(given) if given != "bool" else (x.view("uint8") > 99)
    for wanted in ("int64", "float64", "float32"):
        for axis in (None, 0, 1):
            found = scan(x, axis=axis, dtype=wanted)
            assert np.array_equal(cupy.asnumpy(found), np.cumsum(cupy.asnumpy(x), axis=axis, dtype=wanted))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_floats_of_16_bits(kind: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(1000, 1000, device="cuda").to(getattr(torch, kind))
    for axis in (0, 1):
        found, exact = scan(x, axis=axis), torch.cumsum(x.double(), axis)
        half_ulp = 2.0**-11 if kind == "float16" else 2.0**-8
        assert found.dtype == x.dtype
        assert bool(((found.double() - exact).abs() <= exact * (half_ulp + 1000 * 2.0**-24)).all())
    assert torch.equal(scan(x, "maximum", axis=0), torch.cummax(x, 0).values)


def test_cumulative_functions() -> None:
    x = (numbers((200, 300), "int8") % 3).astype("int8")
    host = cupy.asnumpy(x)
    for axis in (None, 0, 1):
        for name in ("cumsum", "cumprod"):
            found, wanted = getattr(lib, name)(x, axis), getattr(np, name)(host, axis)
            assert found.dtype == wanted.dtype and np.array_equal(cupy.asnumpy(found), wanted)
    for axis in (0, 1):
        assert np.array_equal(cupy.asnumpy(lib.cummax(x, axis)), np.maximum.accumulate(host, axis))
        found = cupy.asnumpy(lib.cumulative_sum(x, axis=axis, include_initial=True))
        assert np.array_equal(found, np.pad(np.cumsum(host, axis), [(1, 0) if k == axis else (0, 0) for k in (0, 1)]))
    out = cupy.empty((200, 600), "float32")[:, ::2]
    assert lib.cumsum(x, 1, out=out) is out and np.array_equal(cupy.asnumpy(out), np.cumsum(host, 1))
    found = lib.cumsum(host.tolist())  # a list is NumPy's
    assert isinstance(found, np.ndarray) and np.array_equal(found, np.cumsum(host.tolist()))


def test_a_graph_can_be_replayed() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    x, y = numbers((40_000, 9), "int32"), cupy.empty((40_000, 9), "int32")
    cupy.cuda.Device().synchronize()
    with stream:
        for axis in (0, 1):
            scan(x, axis=axis, out=y)
        stream.synchronize()
        stream.begin_capture()
        scan(x, axis=0, out=y)
        scan(y, axis=1, out=y)
        graph = stream.end_capture()
    for seed in range(5):
        x[...] = numbers(x.shape, "int32", seed)
        cupy.cuda.Device().synchronize()
        for _ in range(20):
            graph.launch(stream)
        stream.synchronize()
        assert bool((scan(scan(x, axis=0), axis=1) == y).all()) and is_sum(scan(x, axis=0), y, 1)


@pytest.mark.slow
def test_large() -> None:
    """Beyond 2^31 elements, along either axis, of rows and columns of odd numbers."""
    for shape in ((3, (1 << 30) + 1), ((1 << 30) + 1, 3), (70_001, 40_001)):
        x = cupy.ones(shape, cupy.int8)
        for axis in (0, 1):
            y = scan(x, axis=axis)
            last = cupy.take(y, -1, axis=axis)
            assert bool((last == np.array(shape[axis]).astype(np.int8)).all())
            del y
            cupy.get_default_memory_pool().free_all_blocks()
