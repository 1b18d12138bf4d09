"""Positions in the order of several keys, against NumPy.

Tests of prism/lib/algorithms/lexsort: api, cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from tests.host.stand_ins import array, stand_in
from tests.rarely import rarely

RANDOM = np.random.default_rng(0)
NANS = np.array([np.nan, 1, -np.nan, 1, -0.0, 0.0, np.nan, -0.0])


@pytest.mark.parametrize(
    "keys",
    [
        [RANDOM.integers(0, 5, 900), RANDOM.integers(0, 4, 900).astype(np.float32), RANDOM.integers(0, 3, 900).astype(np.uint8)],
        RANDOM.integers(0, 3, (3, 400)).astype(np.int32),
        RANDOM.integers(0, 3, (2, 20, 30)).astype(np.int32),
        RANDOM.integers(0, 3, (400, 6)).astype(np.int32)[::-2, ::3].T,
        [[1, 2, 0], [3, 3, 1]],
        [NANS, NANS[::-1]],
        np.ones((2, 50), np.int32),
        np.zeros((3, 0)),
        np.zeros((2, 1)),
        (1, 2),
        np.array([1, 2, 3]),
    ],
    ids=["three types", "rows", "planes", "gaps", "lists", "nan", "equal", "none", "one", "numbers", "one axis"],
)  # fmt: skip
def test_numpys_positions(keys: Any) -> None:
    for axis in (-1, 0):
        found, wanted = lib.lexsort(keys, axis), np.lexsort(keys, axis)
        assert np.array_equal(found, wanted) and type(found) is type(wanted)
        assert found.dtype == np.int64 and found.shape == wanted.shape


def test_lazy_keys() -> None:
    x, L = RANDOM.integers(0, 5, 300), lib.lazy
    assert np.array_equal(lib.lexsort([L.of(x) % 3, L.of(x) * -1]), np.lexsort([x % 3, -x]))
    assert np.array_equal(lib.lexsort(L.of(np.stack([x, x[::-1]]))), np.lexsort([x, x[::-1]]))


@pytest.mark.parametrize(
    ("keys", "axis"),
    [([], -1), (5, -1), (np.zeros((0, 3)), -1), ([[1, 2], [1]], -1), ([[1, 2]], 1), ((1, 2), 1)],
)
def test_errors_are_numpys(keys: Any, axis: int) -> None:
    with pytest.raises((TypeError, ValueError)) as wanted:
        np.lexsort(keys, axis)
    with pytest.raises(wanted.type) as found:
        lib.lexsort(keys, axis)
    assert str(found.value) == str(wanted.value)


def test_on_a_stream_and_keys_in_two_places(monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in(monkeypatch) as gpu:
        assert lib.lexsort([array(900), array(900, "int32")], stream=5).shape == (900,)
        assert len(gpu.launched) == 3 and {stream for _, _, _, stream, _ in gpu.launched} == {5}
        with pytest.raises(TypeError, match=r"`keys\[0\]` is on GPU 0, `keys\[1\]` on the host"):
            lib.lexsort([array(900), np.zeros(900)])


@pytest.mark.parametrize(
    "dtype", rarely(["int8", "float32", "bool", "uint64", "complex64", "complex128"], but=["int8", "complex128"])
)
def test_complex_numbers_by_their_parts(dtype: str) -> None:
    x = RANDOM.integers(0, 5, (4, 150)).astype(dtype)
    if x.dtype.kind == "c":
        x.imag = RANDOM.integers(-2, 3, x.shape)
        x.real[:, ::7], x.imag[:, ::5], x.imag[:, 1::9] = np.nan, np.nan, -0.0
    for given in (x, x[:, ::-3], x.T, x[:0], x[:, :1]):
        found, wanted = lib.sort_complex(given), np.sort_complex(given)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert np.array_equal(found.real, wanted.real, equal_nan=True)
        assert np.array_equal(found.imag, wanted.imag, equal_nan=True)
    with pytest.raises(np.exceptions.AxisError):
        lib.sort_complex(5)


def test_keys_without_an_order() -> None:
    with pytest.raises(TypeError, match="has dtype"):
        lib.lexsort([np.zeros(3), np.zeros(3, "f4,f4")])
