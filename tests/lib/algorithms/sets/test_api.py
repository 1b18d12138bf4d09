"""Arrays as sets, against NumPy: dtypes, sizes, NaN, zeros of both signs, how arrays lie, fixed sizes, errors.

Tests of prism/lib/algorithms/sets: api, compose, rows, cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host import pinned
from tests.host.stand_ins import Array, Gpu, array, stand_in
from tests.rarely import rarely

DTYPES = [
    "int32",
    "float32",
    "bool",
    "uint8",
    "float16",
    "int64",
    "float64",
    "uint64",
    "int8",
    "int16",
    "uint16",
    "uint32",
]
SHAPES = [(0,), (1,), (600,), (20, 30), (), (2, 0)]
L = lib.lazy


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


def draw(shape: tuple[int, ...], dtype: str, seed: int = 0, least: int = 0) -> Any:
    """Numbers of which many are equal; of floats NaN of both signs, and zeros."""
    x = np.asarray(np.random.default_rng(seed).integers(least, least + 50, shape)).astype(dtype)
    if x.dtype.kind == "f" and x.size > 3:
        x.flat[::17], x.flat[::34], x.flat[5::7], x.flat[6::9] = np.nan, -np.nan, -0.0, 0.0
    return x


def alike(found: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            alike(one, other)
        return
    wanted = np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f"), (found, wanted)


def compare(x: Any, y: Any) -> None:
    """All functions, of two arrays."""
    alike(lib.unique(x), np.unique(x))
    for equal_nan in (True, False):
        alike(lib.unique(x, True, True, True, equal_nan=equal_nan), np.unique(x, True, True, True, equal_nan=equal_nan))
    for one, other in ((x, y), (y, x)):
        alike(lib.isin(one, other), np.isin(one, other))
        alike(lib.setdiff1d(one, other), np.setdiff1d(one, other))
    alike(lib.isin(x, y, invert=True), np.isin(x, y, invert=True))
    alike(lib.in1d(x, y), np.isin(x, y).reshape(-1))
    alike(lib.intersect1d(x, y), np.intersect1d(x, y))
    alike(lib.intersect1d(x, y, return_indices=True), np.intersect1d(x, y, return_indices=True))
    alike(lib.union1d(x, y), np.union1d(x, y))
    alike(lib.setxor1d(x, y), np.setxor1d(x, y))


@pytest.mark.parametrize("dtype", rarely(DTYPES, but=["int32", "float32"]))
def test_what_numpy_gives(dtype: str) -> None:
    for k, shape in enumerate(SHAPES):
        x = draw(shape, dtype, seed=k)
        compare(x, draw((30,), dtype, seed=9, least=25) if k else x)


def one_call(seed: int) -> None:
    """Two arrays of dtypes, shapes, ranges and layouts that are drawn."""
    random = np.random.default_rng(seed)

    def drawn(dtype: str) -> Any:
        many, most = int(random.choice([0, 1, 7, 40, 600])), 2 if dtype == "bool" else int(random.choice([3, 50, 120]))
        x = random.integers(0, most, (many,) if random.integers(2) else (many // 5, 5))
        x = (x - most // 2 if np.dtype(dtype).kind in "if" and random.integers(2) else x).astype(dtype)
        if x.dtype.kind == "f" and random.integers(2):
            x[random.random(x.shape) < 0.05], x[random.random(x.shape) < 0.05] = np.nan, -np.inf
        x = x[::-1] if random.integers(3) == 0 else x
        return np.repeat(x, 2, -1)[..., ::2] if random.integers(3) == 0 else x

    first = str(random.choice(DTYPES))
    compare(drawn(first), drawn(str(random.choice(DTYPES)) if random.integers(2) else first))


@pytest.mark.parametrize("seed", range(2))
def test_random_calls(seed: int) -> None:
    one_call(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_calls(seed: int) -> None:
    one_call(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_arrays_that_no_block_holds(dtype: str) -> None:
    compare(draw((40_000,), dtype), draw((17_000,), dtype, seed=1, least=25))


def test_all_equal_none_equal_and_one_set() -> None:
    mixed = np.random.default_rng(0).permutation(600).astype(np.int32)
    for x in (np.full(600, 7, np.int32), mixed, np.full(30, np.nan, np.float32)):
        compare(x, x[:5])
    one, other = np.array([5, 3, 9], np.int32), np.array([9, 1, 5], np.int32)
    alike(lib.intersect1d(one, other, True, True), np.intersect1d(one, other, True, True))
    alike(lib.intersect1d(one, other, True), np.intersect1d(one, other, True))
    alike(lib.setxor1d(one, other, True), np.setxor1d(one, other, True))
    alike(lib.setdiff1d(one, other, True), np.setdiff1d(one, other, True))
    assert lib.setdiff1d(np.array([3, 5, 3]), other, True).tolist() == [3, 3]  # what is said is not looked at


def test_results_by_name() -> None:
    x = draw((20, 30), "float32")
    whole = lib.unique_all(x)
    alike(whole, np.unique_all(x))
    for name in ("unique_all", "unique_counts", "unique_inverse"):  # NumPy's own inverse has NaN in no order
        found, wanted = getattr(lib, name)(x), getattr(np, name)(x)
        assert found._fields == wanted._fields and type(found).__name__ == type(wanted).__name__
        alike(tuple(found), tuple(getattr(whole, field) for field in found._fields))
    alike(lib.unique_values(x), np.unique(x, equal_nan=False))


def test_of_equal_elements_the_first_one_stands() -> None:
    zeros = np.array([1, -0.0, 0.0, -0.0, np.nan, -np.nan])
    for x, sign in ((zeros, True), (zeros[::-1], True), (zeros[2:], False)):
        for found in (lib.unique(x), lib.unique(x, return_index=True)[0], lib.union1d(x, x)):
            assert found[0] == 0 and bool(np.signbit(found[0])) == sign
    found, counts = lib.unique(zeros, return_counts=True)
    assert counts.tolist() == [3, 1, 2] and np.isnan(found[-1])
    assert lib.unique(zeros, return_index=True)[1].tolist() == [1, 0, 4]
    assert np.signbit(lib.intersect1d(np.array([-0.0]), np.array([0.0])))[0]


@pytest.mark.parametrize("size", [0, 3, 50, 60])
def test_results_of_a_fixed_size(size: int) -> None:
    x = draw((600,), "int32", least=3)
    wanted = np.unique(x, True, True, True)
    values, indices, inverse, counts = lib.unique(x, True, True, True, size=size)
    room = max(size - wanted[0].size, 0)
    for found, whole, fill in ((values, wanted[0], 3), (indices, wanted[1], wanted[1][0]), (counts, wanted[3], 0)):
        alike(found, np.append(whole, np.full(room, fill, whole.dtype))[:size])
    alike(inverse, wanted[2])
    alike(lib.unique(x, size=size, fill_value=-1), np.append(wanted[0], np.full(room, -1, np.int32))[:size])
    none, where, back, counts = lib.unique(x[:0], True, True, True, size=size, fill_value=-1)
    alike((none, where, back, counts), (np.full(size, -1, np.int32), *(np.zeros(n, int) for n in (size, 0, size))))


def test_arrays_that_lie_otherwise() -> None:
    x = draw((20, 30), "int32")
    for one in (x[::-2, ::3], x.T, np.asfortranarray(x), x.astype(">i4")[:, 1:]):
        wanted = np.unique(np.asarray(one, np.int32), return_inverse=True)
        alike(lib.unique(one, return_inverse=True), wanted)
        alike(lib.isin(one, x[3, ::4]), np.isin(one, x[3, ::4]))


def test_lists_numbers_lazy_arrays_and_two_dtypes() -> None:
    alike(lib.unique([3, 1, 3]), np.unique([3, 1, 3]))
    alike(lib.unique(5, return_inverse=True), np.unique(5, return_inverse=True))
    alike(lib.isin(5, [5, 6]), np.isin(5, [5, 6]))
    alike(lib.unique([True, False, True], return_counts=True), np.unique([True, False, True], return_counts=True))
    x, y = draw((600,), "int32"), draw((40,), "float64", least=20)
    alike(lib.unique(L.of(x) % 7, axis=-1), np.unique(x % 7))
    alike(lib.isin(L.of(x) % 7, L.of(y) * 2), np.isin(x % 7, y * 2))
    for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d", "isin"):
        alike(getattr(lib, name)(x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize("kind", [None, "sort", "table"])
def test_every_kind_of_isin(kind: str | None) -> None:
    x, y = draw((3, 100), "int32"), draw((30,), "int32", least=25)
    alike(lib.isin(x, y, True, True, kind=kind), np.isin(x, y, invert=True, kind=kind))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: lib.unique(x, axis=0, size=3), ValueError, "`size` is for elements, without `axis`"),
        (lambda x: lib.unique(x, axis=2), np.exceptions.AxisError, "axis 2 is out of bounds"),
        (lambda x: lib.unique(x, size=-1), ValueError, "`size` must not be negative"),
        (lambda x: lib.unique(x, size=1.5), TypeError, "`size` must be an integer"),
        (lambda x: lib.unique(x, return_counts=True, size=2, fill_value="a"), TypeError, "`fill_value` is 'a'"),
        (lambda x: lib.unique(x.astype("u1"), return_counts=True, size=2, fill_value=300), OverflowError, "300"),
        (lambda x: lib.unique(x.astype("M8[s]")), TypeError, "`ar` has dtype datetime64"),
        (lambda x: lib.unique_all(x.astype("M8[s]")), TypeError, "`x` has dtype datetime64"),
        (lambda x: lib.unique("abc"), TypeError, "`ar`"),
        (lambda x: lib.unique(x, stream=1), ValueError, "`stream`"),
        (lambda x: lib.isin(x, x, stream=1), ValueError, "`stream`"),
        (lambda x: lib.isin(x, x, kind="hash"), ValueError, "Invalid kind: 'hash'"),
        (lambda x: lib.isin(x, x, kind="table"), ValueError, "The 'table' method is only supported"),
        (lambda x: lib.isin(x, None), TypeError, "`test_elements`"),
        (lambda x: lib.in1d(x.astype("M8[s]"), x), TypeError, "`ar1` has dtype datetime64"),
        (lambda x: lib.intersect1d(x, x.astype("M8[s]")), TypeError, "`ar2` has dtype datetime64"),
        (lambda x: lib.union1d(None, x), TypeError, "`ar1`"),
        (lambda x: lib.setdiff1d(x, np.zeros(3, "U3")), TypeError, "`ar2`"),
        (lambda x: lib.setxor1d(x, np.zeros(3, object)), TypeError, "`ar2`"),
    ],
)  # fmt: skip
def test_errors(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(np.zeros((3, 4)))


def test_launches_on_the_callers_stream(gpu: Gpu) -> None:
    x, y, turned = array(600, "int32"), array(40, "int32"), Array(np.zeros((40, 40), np.float32).T)
    gpu.count = 3
    for call in (
        lambda: lib.unique(turned, stream=5),
        lambda: lib.unique(x, True, True, True, stream=5),
        lambda: lib.intersect1d(x, y, return_indices=True, stream=5),
        lambda: lib.setdiff1d(turned, y, stream=5),
        lambda: lib.setxor1d(x, y, stream=5),
        lambda: lib.union1d(x, turned, stream=5),
    ):
        gpu.launched.clear()
        call()
        assert gpu.launched and {stream for _, _, _, stream, _ in gpu.launched} == {5}


def test_calls_that_wait_for_no_number(gpu: Gpu) -> None:
    """With a size, and where it is known; the others do wait."""
    x, y = array(600, "int32"), array(40, "int32")
    waits = []
    wait = pinned.driver().cuStreamSynchronize
    pinned.driver().cuStreamSynchronize = lambda stream: waits.append(stream) or wait(stream)
    assert lib.isin(x, y).shape == (600,) and lib.in1d(x, y).shape == (600,)
    assert [one.shape for one in lib.unique(x, True, True, True, size=7)] == [(7,), (7,), (600,), (7,)]
    assert lib.unique(x, size=7, fill_value=1).shape == (7,)
    assert gpu.launched and not waits
    gpu.count = 3
    assert [one.shape for one in lib.unique_all(x)] == [(3,), (3,), (600,), (3,)]
    assert len(waits) == 1


def test_arrays_in_two_places(gpu: Gpu) -> None:
    x, y = array(600), np.zeros(40, np.float32)
    for name, first, second in (
        ("isin", "element", "test_elements"), ("in1d", "ar1", "ar2"), ("intersect1d", "ar1", "ar2"), ("union1d", "ar1", "ar2"),
        ("setdiff1d", "ar1", "ar2"), ("setxor1d", "ar1", "ar2"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"`{first}` is on GPU 0, `{second}` on the host"):
            getattr(lib, name)(x, y)
    assert not gpu.launched


def test_nothing_that_is_given_changes() -> None:
    x, y = draw((600,), "int32"), draw((40,), "int32")
    before = x.copy(), y.copy()
    compare(x, y)
    found = lib.unique(np.array([1, 2, 3]))
    found[0] = 7  # a result is no view of what was given
    assert np.array_equal(x, before[0]) and np.array_equal(y, before[1])


PARTS = [((6, 3), 0), ((6, 3), 1), ((2, 6, 3), 1), ((2, 6, 3), -1), ((5, 0), 0), ((0, 4), 0), ((1, 1), 0), ((4,), 0)]


@pytest.mark.parametrize(("shape", "axis"), rarely(PARTS, but=[PARTS[0], PARTS[2], *PARTS[4:]]))
def test_parts_along_an_axis(shape: tuple[int, ...], axis: int) -> None:
    random = np.random.default_rng(0)
    for dtype in ("int8", "float32", "bool", "complex64"):
        x = random.integers(0, 2, shape).astype(dtype)
        for asked in ((), (True,), (False, True), (False, False, True), (True, True, True)):
            found, wanted = lib.unique(x, *asked, axis=axis), np.unique(x, *asked, axis=axis)
            for one, other in zip(
                found if asked else (found,), wanted if isinstance(wanted, tuple) else (wanted,), strict=True
            ):
                assert (one.dtype, one.shape) == (other.dtype, other.shape) and np.array_equal(one, other)
