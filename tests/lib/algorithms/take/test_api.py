"""Elements at indices of NumPy arrays, against NumPy: random calls, strides, errors.

Tests of prism/lib/algorithms/take: api, compose, write, cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lib.cases import NUMBERS

DTYPES = (*NUMBERS, "bool", "complex64", "complex128")
MODES = ("raise", "wrap", "clip")
L = lib.lazy


def draw(random: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    x = random.integers(0, 100, shape)
    x = x > 50 if dtype == "bool" else x.astype(dtype)
    match random.integers(4) if x.ndim else 0:  # how it lies
        case 1:
            return np.repeat(x, 2, -1)[..., ::2]
        case 2:
            return np.asfortranarray(x)
        case 3:
            return x[::-1]
        case _:
            return x


def lying_as(x: Any, random: Any) -> Any:
    """A copy with gaps, or without."""
    return np.repeat(x, 2, -1)[..., ::2] if random.integers(2) else np.array(x)


def alike(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


def one_call(seed: int) -> None:
    random = np.random.default_rng(seed)
    axes = int(random.integers(1, 4))
    shape = tuple(int(random.integers(1, (0, 2000, 40, 9)[axes])) for _ in range(axes))
    dtype, kind = str(random.choice(DTYPES)), str(random.choice(["int64", "int32", "int8", "uint8", "uint32"]))
    x, axis = draw(random, dtype, shape), None if random.integers(3) == 0 else int(random.integers(-axes, axes))
    extent, mode = x.size if axis is None else shape[axis], str(random.choice(MODES))
    most = min(extent if mode == "raise" else 3 * extent, 127)
    many = tuple(int(k) for k in random.integers(0, 12, int(random.integers(0, 3))))
    indices = draw(random, kind, many) % most if kind[0] == "u" else random.integers(-most, most, many).astype(kind)
    given = L.of(x) if random.integers(5) == 0 else x
    alike(lib.take(given, indices, axis, mode=mode), np.take(x, indices, axis, mode=mode))
    along = int(random.integers(axes))
    wide = [1 if random.integers(3) == 0 else n for n in shape]
    wide[along] = int(random.integers(0, 9))
    indices = random.integers(-shape[along], shape[along], wide)
    alike(lib.take_along_axis(given, indices, along), np.take_along_axis(x, indices, along))
    places = random.permutation(x.size)[: random.integers(0, x.size + 1)]
    values, mask = draw(random, dtype, (int(random.integers(1, 50)),)), draw(random, "bool", shape)
    for function, oracle, arguments in (
        (lib.put, np.put, (places, values)), (lib.place, np.place, (mask, values)), (lib.putmask, np.putmask, (mask, values)),
    ):  # fmt: skip
        wanted, found = np.array(x), lying_as(x, random)
        oracle(wanted, *arguments)
        assert function(found, *arguments) is None
        alike(found, wanted)


@pytest.mark.parametrize("seed", range(3))
def test_random_calls(seed: int) -> None:
    one_call(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_many_random_calls(seed: int) -> None:
    one_call(seed)


def test_numbers_lazy_values_and_masks_of_numbers() -> None:
    x = np.arange(6.0)
    assert lib.take(x, 3) == 3 and lib.take(x, np.int8(-1)) == 5
    lib.put(x, 2, 9)
    lib.putmask(x, L.of(x) > 8, L.of(x) * 2)
    lib.place(x, np.array([1, 0, 0, 0, 0, 0]), 7.5)
    assert x.tolist() == [7.5, 1, 18, 3, 4, 5]
    lib.put(x, np.array([-1, 7]), np.array([1, 2]), mode="wrap")
    assert x.tolist() == [7.5, 2, 18, 3, 4, 1]


def test_a_result_in_another_byte_order() -> None:
    x, out = np.arange(5), np.zeros(3, ">i8")
    assert lib.take(x, np.array([4, 0, 1]), out=out) is out and out.tolist() == [4, 0, 1]


def test_results_that_overlap() -> None:
    x = np.arange(100)
    lib.take(x, np.arange(100)[::-1], out=x)
    assert np.array_equal(x, np.arange(100)[::-1])
    again = lib.plan(lib.take, x, np.array([1, 2]))
    x[:] = 7
    assert again().tolist() == [7, 7]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: lib.take(x, np.array([12])), IndexError, "index 12 is out of bounds for size 12"),
        (lambda x: lib.take(x, np.array([-4]), axis=0), IndexError, "index -4 is out of bounds for axis 0 with size 3"),
        (lambda x: lib.take(x[:0], np.array([0]), axis=0, mode="clip"), IndexError, "non-empty take"),
        (lambda x: lib.take(x, np.array([0.0])), TypeError, "`indices` must be of integers"),
        (lambda x: lib.take(x, True), TypeError, "`indices` must be integers"),
        (lambda x: lib.take(x, 0, mode="around"), ValueError, "`mode` must be one of"),
        (lambda x: lib.take(x, 0, axis=2), np.exceptions.AxisError, "axis 2"),
        (lambda x: lib.take(x, np.array([0]), out=np.zeros(2)), ValueError, "`out`"),
        (lambda x: lib.take_along_axis(x, np.array([0]), 0), ValueError, "the same number of dimensions"),
        (lambda x: lib.take_along_axis(x, np.zeros((2, 2), int), 0), ValueError, "shape"),
        (lambda x: lib.take_along_axis(x, np.zeros((3, 2)), 1), IndexError, "integer array"),
        (lambda x: lib.put(x, np.array([12]), 1), IndexError, "index 12 is out of bounds"),
        (lambda x: lib.putmask(x.astype(int), x > 1, x), TypeError, "`values` is of float64"),
        (lambda x: lib.put(np.broadcast_to(x, (2, 3, 4)), 0, 1), ValueError, "read-only"),
        (lambda x: lib.putmask(x, np.array([True]), 1), ValueError, "`mask` and `a` must have"),
        (lambda x: lib.place(x, np.array([True]), 1), ValueError, "`mask` and `arr` must have"),
        (lambda x: lib.place(x, x == x, np.zeros(0)), ValueError, "cannot insert from an empty array"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(np.zeros((3, 4)))


def test_lists_stand_for_arrays() -> None:
    x = np.arange(5)
    assert np.array_equal(lib.take([3, 4, 5], [0, 2]), [3, 5])
    assert np.array_equal(lib.searchsorted([1, 2, 3], [2.5, 0]), [2, 0])
    assert np.array_equal(lib.repeat([1, 2], [2, 3]), [1, 1, 2, 2, 2])
    assert [half.tolist() for half in lib.split([1, 2, 3], [True, False, True])] == [[1, 3], [2]]
    assert lib.find([0, 7], [False, True]) == 1
    lib.put(x, [0, -1], [7, 9])
    lib.place(x, [False, True, True, False, False], [5])
    lib.putmask(x, [False, False, False, True, False], [8])
    assert x.tolist() == [7, 5, 5, 8, 9]
