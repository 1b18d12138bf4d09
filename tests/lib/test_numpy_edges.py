"""Edges at which a random call seldom is, as CuPy's own tests have them: results and kinds of errors beside NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism import lib

X, HALF, NAN = np.arange(3), np.arange(4, dtype=np.float32), np.nan
Z = np.array([3 + 1j, 1 - 2j, 0, 5j, 1 - 2j, 0])
PLACES = np.array([0, 1])
EDGES = (
    [1, 3, NAN],
    [NAN, 8, 5],
    [NAN] * 4,
    [NAN, NAN, 5, 3],
    [1, 3, NAN, NAN],
    [NAN, 1, 3],
    [3, 1, 2],
    [2, 2],
    [3, 3, 2],
    [1],
    [],
)
Call = Callable[[Any], Any]
CALLS: list[Call] = [
    lambda m: m.compress([True, False, True, False], X), lambda m: m.compress([1, 0, 1, 1], X),
    lambda m: m.compress([1, 0], [4, 5, 6]),
    lambda m: m.compress([True, False, False], np.ones((2, 2)), axis=1),
    lambda m: m.compress([True, False, True], np.ones((2, 2)), axis=1),
    lambda m: m.extract(np.array([1, 0, 0, 0]), X), lambda m: m.extract(np.ones((2, 2)), X),
    *(lambda m, v=v: m.argwhere(np.array(v)) for v in (3, 0, 0.0, 1 + 1j, True, [[0, 2], [3, 0]])),
    *(lambda m, axis=axis: m.argsort(np.array(5), axis=axis) for axis in (-1, 0, None, 1)),
    *(lambda m, n=n: m.repeat(X, n) for n in (
        np.array(2), np.array([True, False, True]), np.array([True]), np.uint64(2), True,
        np.array([1, 2, 3], "uint64"), np.array([1, 1, 1.0]),
    )),
    *(lambda m, x=x: m.bincount(x) for x in ([], np.array([]), np.array([], "f2"), np.array([[1]], "f2"), np.array([[1.5]]))),
    *(lambda m, bins=bins, right=right: m.digitize(np.array([0, 1, 2, NAN, 3, 5, 9]), np.array(bins, float), right)
      for bins in EDGES for right in (False, True)),
    lambda m: m.digitize([0, 1, 2], [3, 2, 1]), lambda m: m.digitize(X, (1, 2), right=True),
    lambda m: m.ediff1d(X, to_end=[5, 6], to_begin=(1,)), lambda m: m.ediff1d(X, to_end=[1.5]),
    lambda m: m.diff([1, 2, 4], prepend=[9.5], append=(1, 2)),
    lambda m: m.argpartition(X * 1j, 1), lambda m: m.partition(Z, [1, 2])[1:3],
    lambda m: m.partition(Z.reshape(2, 3), 1, axis=None)[:2],
    *(lambda m, dtype=dtype, other=other, name=name: getattr(m, name)(
        Z.astype(dtype), np.array([1 - 2j, 0, 7, 1 - 2j]).astype(other))
      for dtype, other in (("complex64", "complex64"), ("complex128", "complex64"), ("complex64", "complex128"))
      for name in ("union1d", "setdiff1d", "setxor1d", "intersect1d", "isin")),
    *(lambda m, name=name: getattr(m, name)(Z, X) for name in ("union1d", "setdiff1d", "setxor1d", "intersect1d", "isin")),
    lambda m: m.unique(Z, True, True, True), lambda m: m.unique(Z[:0]), lambda m: m.unique_counts(Z),
    lambda m: m.unique(np.array([1, NAN, complex(1, NAN), 1, complex(NAN, NAN)]), return_index=True),
]  # fmt: skip
WRITES: list[tuple[str, np.ndarray, tuple[Any, ...]]] = [
    ("put", HALF, ([0, 1], np.array([]))), ("put", HALF, (PLACES, np.ones(2))), ("put", X, (PLACES, np.array([1.7, 2]))),
    ("put", X, (PLACES[:1], np.array([4 + 1j]))), ("put", HALF, (np.array([9]), np.ones(1))),
    ("putmask", HALF, (HALF > 1, np.ones(2))), ("putmask", HALF, (HALF > 1, [1.5])), ("putmask", HALF, (HALF > 1, 1.5)),
    ("putmask", X, (np.array([1j, 0, 1]), np.arange(2))), ("place", HALF, (HALF > 1, np.ones(2))),
    ("place", HALF, (HALF > 1, [2.5])), ("place", HALF, (HALF > 9, np.array([], "f4"))),
    ("place", HALF, (HALF > 1, np.array([], "f4"))),
    ("place", X, (np.array([1j, 0, 1]), np.arange(2))),
]  # fmt: skip


def result_of(call: Callable[[], Any]) -> Any:
    """Return what a call gives, and what it warns of; or the error that it raises."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = call()
        except Exception as error:  # compared by its class
            return error
    return (found if isinstance(found, tuple) else (found,)), {one.category for one in warned}


def compare(ours: Any, numpys: Any) -> None:
    """Check that two calls gave the same."""
    if isinstance(numpys, Exception):
        assert isinstance(ours, Exception) and isinstance(ours, type(numpys)), (ours, numpys)
        return
    assert not isinstance(ours, Exception), ours
    assert ours[1] == numpys[1]
    for one, other in zip(ours[0], numpys[0], strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other, equal_nan=other.dtype.kind in "fc")


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_results(number: int) -> None:
    call = CALLS[number]
    compare(result_of(lambda: call(lib)), result_of(lambda: call(np)))


@pytest.mark.parametrize("number", range(len(WRITES)))
def test_what_is_written(number: int) -> None:
    name, target, given = WRITES[number]

    def written(m: Any) -> Any:
        x = target.copy()
        getattr(m, name)(x, *given)
        return x

    compare(result_of(lambda: written(lib)), result_of(lambda: written(np)))


@pytest.mark.parametrize(
    ("name", "called", "given"),
    [("put", "a", ([1], [1])), ("putmask", "a", (np.ones(3, bool), [1])), ("place", "arr", (np.ones(3, bool), [1]))],
)
def test_what_cannot_be_written_is_named(name: str, called: str, given: tuple[Any, ...]) -> None:
    """Tests of prism/lib/algorithms/take: write."""
    x = X.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match=f"^`{called}` is read-only"):
        getattr(lib, name)(x, *given)
    with pytest.raises(TypeError, match=f"^`{called}` must be an array"):
        getattr(lib, name)([1, 2, 3], *given)


@pytest.mark.parametrize("name", ["put", "putmask", "place"])
@pytest.mark.parametrize("shift", [1, -1])
def test_values_may_overlap_what_is_written(name: str, shift: int) -> None:
    """They are taken as they were before."""

    def written(copied: bool) -> Any:
        room = np.arange(12) * 3 + 1
        x, values = room[2:10], room[2 + shift : 10 + shift]
        values = values.copy() if copied else values
        where = np.arange(8)[::-1] if name == "put" else x % 2 == 0
        getattr(np if copied else lib, name)(x, where, values)
        return room

    assert np.array_equal(written(copied=False), written(copied=True))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
def test_positions_of_a_dtype(dtype: str) -> None:
    """Tests of prism/lib/algorithms/reduce: api. CuPy's option: narrower positions where they are asked for."""
    x = np.array([[3, 1, 4], [1, 5, 9]])
    for name in ("argmax", "argmin"):
        ours, numpys = getattr(lib, name), getattr(np, name)
        for axis in (None, 0, 1):
            found = ours(x, axis, dtype=dtype)
            assert found.dtype == dtype and np.array_equal(found, numpys(x, axis))
    with pytest.raises(TypeError, match="`dtype` must be of integers"):
        lib.argmax(x, dtype=float)


def test_lazy_complex_numbers_are_compared_and_converted() -> None:
    """Tests of prism/lib/lazy: array, functions."""
    z, of = lib.lazy.of(Z), lib.evaluate
    for other in (Z[::-1], Z.astype("complex64"), X.repeat(2), 0, 1.0):
        assert np.array_equal(of(z == other), other == Z) and np.array_equal(of(z != other), other != Z)
    assert of(lib.lazy.cast(Z.astype("complex64"), "complex128")).dtype == "complex128"
    assert np.array_equal(of(lib.lazy.cast(X, "complex64")), X.astype("complex64"))
    with pytest.raises(TypeError, match="is not converted to float64"):
        lib.lazy.cast(Z, float)
