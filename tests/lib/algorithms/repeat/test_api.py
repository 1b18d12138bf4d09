"""Elements repeated, of NumPy arrays, against NumPy: random calls, and errors.

Tests of prism/lib/algorithms/repeat: api, cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lib.cases import NUMBERS

DTYPES = (*NUMBERS, "bool", "complex64", "complex128")
L = lib.lazy


def one_call(seed: int) -> None:
    random = np.random.default_rng(seed)
    axes = int(random.integers(1, 4))
    shape = tuple(int(random.integers(0, (0, 800, 30, 9)[axes])) for _ in range(axes))
    dtype, axis = str(random.choice(DTYPES)), None if random.integers(2) else int(random.integers(-axes, axes))
    x = random.integers(0, 100, shape).astype(dtype)
    x = x[::-1] if random.integers(2) else x
    many = x.size if axis is None else shape[axis]
    counts = random.integers(0, int(random.choice([1, 2, 5, 60])), many) * (random.random(many) < random.random())
    counts = counts.astype(str(random.choice(["int64", "int32", "uint8"])))
    every: list[Any] = [counts, int(random.integers(0, 4)), np.array([2])]
    for repeats in every:
        given = L.of(x) if random.integers(4) == 0 else x
        found, wanted = lib.repeat(given, repeats, axis), np.repeat(x, repeats, axis)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()
    if axis is None:
        size = int(random.integers(0, 2 * counts.sum() + 2))
        wanted = np.full(size, 1, dtype)
        first = np.repeat(x, counts)[:size]
        wanted[: first.size] = first
        found = lib.repeat(x, counts, size=size, fill_value=1)
        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("seed", range(6))
def test_random_calls(seed: int) -> None:
    one_call(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_many_random_calls(seed: int) -> None:
    one_call(seed)


def test_what_is_encoded_is_decoded() -> None:
    x = np.repeat(np.arange(900) % 7, np.random.default_rng(0).integers(1, 9, 900))
    assert np.array_equal(lib.run_length_decode(*lib.run_length_encode(x)), x)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: lib.repeat(x, -1), ValueError, "negative values"),
        (lambda x: lib.repeat(x, np.array([1, -1, 1])), ValueError, "negative values"),
        (lambda x: lib.repeat(x, 1.5), TypeError, "`repeats` must be integers, not float"),
        (lambda x: lib.repeat(x, np.ones(3)), TypeError, "`repeats` must be integers that int64 has, not of float64"),
        (
            lambda x: lib.repeat(x, np.array([1, 2])),
            ValueError,
            "`repeats` must have one dimension, and 1 or 3 elements",
        ),
        (lambda x: lib.repeat(x, 2, axis=1), np.exceptions.AxisError, "axis 1"),
        (lambda x: lib.repeat(x, np.array([1]), size=-1), ValueError, "`size` must not be negative"),
        (lambda x: lib.repeat(x, np.array([1]), 0, size=3), ValueError, "without `axis`"),
        (lambda x: lib.repeat(x, 2, size=3), ValueError, "`size` is for `repeats` in an array"),
        (lambda x: lib.repeat(x, np.array([1]), size=9, fill_value="a"), TypeError, "`fill_value`"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(np.arange(3))
