"""Differences on NumPy arrays, against NumPy: random calls, lazy arrays, errors; and what their kernels read.

Tests of prism/lib/algorithms/difference: api, compose, cases; of prism/lib/algorithms/transform/calls.py; of
prism/lib/lazy/places.py.
"""

from typing import Any

import numpy as np
import pytest

import prism
from prism import lib
from prism.kernels.transform import copy
from prism.lang import CompileError
from prism.lang.check import parsed_of
from prism.lang.parse.views import view_kernel
from prism.lib.cases import NUMBERS
from prism.lib.lazy.array import of
from prism.lib.lazy.places import choose, join, positions
from prism.runtime.arrays import describe

DTYPES = (*NUMBERS, "bool", "complex64", "complex128")
L = lib.lazy


def draw(random: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    x = random.integers(0, 200, shape)
    x = x > 100 if dtype == "bool" else x.astype(dtype)
    match random.integers(4) if x.ndim else 0:  # how it lies
        case 1:
            return np.repeat(x, 2, -1)[..., ::2]
        case 2:
            return np.asfortranarray(x)
        case 3:
            return x[::-1]
        case _:
            return x


def alike(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


@np.errstate(all="ignore")
def one_call(seed: int) -> None:
    random = np.random.default_rng(seed)
    axes = int(random.integers(1, 4))
    shape = tuple(int(random.integers(0, (0, 3000, 50, 12)[axes])) for _ in range(axes))
    dtype = str(random.choice(DTYPES))
    x, axis, options = draw(random, dtype, shape), int(random.integers(-axes, axes)), {}
    for name in ("prepend", "append"):
        if random.integers(3) == 0:
            ends = list(shape)
            ends[axis] = int(random.integers(0, 4))
            number = random.integers(2) and not dtype.startswith("complex")
            options[name] = 1 if number else draw(random, dtype, tuple(ends))
    times = int(random.integers(0, 4))
    given = L.of(x) if times and random.integers(4) == 0 else x
    alike(lib.diff(given, times, axis, **options), np.diff(x, times, axis, **options))
    wanted = np.concatenate([x.ravel()[:1], np.diff(x.ravel())]).reshape(shape)
    alike(lib.adjacent_difference(given), wanted)
    if dtype != "bool":
        ends = {name: draw(random, dtype, (3,)) for name in ("to_begin", "to_end") if random.integers(2)}
        alike(lib.ediff1d(given, **ends), np.ediff1d(x, **ends))


@pytest.mark.parametrize("seed", range(8))
def test_random_calls(seed: int) -> None:
    one_call(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 1600))
def test_many_random_calls(seed: int) -> None:
    one_call(seed)


def test_an_operator_and_the_other_side() -> None:
    x = np.array([3, 1, 4, 1, 5], np.int8)
    assert lib.adjacent_difference(x, "maximum").tolist() == [3, 3, 4, 4, 5]
    assert lib.adjacent_difference(x, right=True).tolist() == [2, -3, 3, -4, 5]
    found = lib.adjacent_difference(x, lambda a, b: a > b)
    assert found.dtype == bool and found.tolist() == [True, False, True, False, True]
    scale = 3
    assert lib.adjacent_difference(x, lambda a, b: a * scale + b).tolist() == [3, 6, 13, 7, 16]


def test_where_the_result_goes() -> None:
    x = np.arange(100) ** 2
    room = np.zeros(198, int)
    assert lib.diff(x, out=room[::2]) is not None and np.array_equal(room[::2], np.diff(x)) and not room[1::2].any()
    wanted = np.diff(x)
    lib.diff(x, out=x[1:])
    assert np.array_equal(x[1:], wanted)
    assert lib.diff(x, 0) is x and np.array_equal(lib.diff(x, 0, out=room[:100]), x)


def test_two_arrays_of_one_call_are_told_apart() -> None:
    """One is given twice at first; the call is decided once."""
    x, y = np.arange(3.0), np.array([7.0, 5.0])
    for end in (x, x[:3], np.array([7.0, 5.0, 1.0])):
        assert np.array_equal(lib.diff(x, append=end), np.diff(x, append=end))
    assert np.array_equal(lib.ediff1d(y, to_end=y), np.ediff1d(y, to_end=y))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: lib.diff({1}), TypeError, "`x`"),
        (lambda x: lib.diff(np.array(1)), ValueError, "at least one dimensional"),
        (lambda x: lib.diff(x, -1), ValueError, "order must be non-negative but got -1"),
        (lambda x: lib.diff(x, 1.5), TypeError, "`n` must be an integer"),
        (lambda x: lib.diff(x, axis=2), np.exceptions.AxisError, "axis 2 is out of bounds"),
        (lambda x: lib.diff(x, prepend=np.zeros(3)), ValueError, "`prepend` has shape"),
        (lambda x: lib.diff(x, append=np.zeros((2, 1))), ValueError, "`append` has shape"),
        (lambda x: lib.diff(x, out=np.zeros((3, 4), np.int8)), TypeError, "`out` must be of float64"),
        (lambda x: lib.diff(x, out=np.zeros((3, 8))[:, ::2]), ValueError, "`out` must have shape"),
        (lambda x: lib.ediff1d(x > 0), TypeError, "bools"),
        (lambda x: lib.ediff1d(x.astype(int), to_end=1.5), TypeError, "`to_end` must be compatible"),
        (lambda x: lib.adjacent_difference(x, "median"), ValueError, "`op` is 'median'"),
        (lambda x: lib.adjacent_difference(x, 3), TypeError, "function"),
        (lambda x: lib.adjacent_difference(x, lambda a: a), CompileError, "argument"),
        (lambda x: lib.diff(x, stream=0), ValueError, "`stream` is for arrays on a GPU"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(np.zeros((3, 4)))


def test_what_vectors_hold_is_not_read_again() -> None:
    """Of four elements and those behind them: a vector, and one element more."""
    room = np.zeros(104, np.float32)
    start = -room.ctypes.data % 16 // 4
    x = of(room[start : start + 100])
    view: Any = describe(L.map(lambda a, b: a - b, _behind(x), L.of(x)), "x")
    kernel = view_kernel(copy, {"x": view.view}, parsed_of)
    template = {"TI": "float32", "TO": "float32", "THREADS": 32, "ITEMS": 4, "WIDTH": 4}
    text = prism.compile(kernel, template).cuda
    reader = text[text.index("prism_read_vector(const") :]
    reader = reader[: reader.index("\n}")]
    assert reader.count("px_load_vector") == 1 and reader.count("x_leaf0_[") == 2  # the vector's, and the one more


def _behind(x: Any) -> Any:
    from prism.lib.lazy.array import at

    return at(x, positions(x.shape, 1))


def test_joining_reads_each_part_once_and_no_others() -> None:
    x, y, z = np.arange(6).reshape(2, 3), np.zeros((2, 0), int), np.arange(4).reshape(2, 2)
    for parts in ((x, z), (x, y, z), (y, y), (y, x), (x,)):
        found = lib.evaluate(join([of(one) for one in parts], 1))
        assert np.array_equal(found, np.concatenate(parts, 1))
    place = positions((5,))
    assert lib.evaluate(choose(place < 2, place, L.full(5, 9))).tolist() == [0, 1, 9, 9, 9]


def test_complex_numbers_and_others_are_put_together() -> None:
    x = np.arange(6.0)
    for whole, part in (
        (x.astype("c8"), x[:2]),
        (x, np.array([2 + 1j, 3])),
        (x.astype("c16"), np.arange(2, dtype="i2")),
    ):
        found, wanted = lib.diff(whole, append=part), np.diff(whole, append=part)
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


@pytest.mark.parametrize("n", [1, 2])
def test_axes_lie_as_they_did(n: int) -> None:
    """As NumPy's results do, of any order of the axes, with gaps, and from the end on."""
    whole = np.asfortranarray(np.random.default_rng(0).random((4, 5, 6)))
    for x in (whole, whole.transpose(0, 2, 1), whole[:, ::2], whole[::-1], whole[0], whole > 0.5):
        for axis in range(-x.ndim, x.ndim):
            found, wanted = prism.lib.diff(x, n=n, axis=axis), np.diff(x, n=n, axis=axis)
            assert np.array_equal(found, wanted) and found.dtype == wanted.dtype
            assert found.strides == wanted.strides or 1 in found.shape
    with pytest.raises(np.exceptions.AxisError):
        prism.lib.diff(whole, axis=3)
