"""Searches on NumPy arrays, against NumPy: random calls, tables in another order, errors.

Tests of prism/lib/algorithms/search: api, plan, ships, cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host.plan import instance_of
from prism.kernels import lookup as kernels
from prism.lib.algorithms.search.plan import Kind
from prism.lib.cases import NUMBERS

DTYPES = (*NUMBERS, "bool")
L = lib.lazy


def one_call(seed: int) -> None:
    random = np.random.default_rng(seed)
    of_table, of_values = random.choice(DTYPES, 2)
    n, m = (int(random.choice([0, 1, random.integers(0, 300), random.integers(0, 20_000)])) for _ in range(2))
    a, v = np.sort(random.integers(0, 120, n).astype(of_table)), random.integers(0, 128, m).astype(of_values)
    if a.dtype.kind == "f" and n > 3 and random.integers(2):
        a[-3:] = np.nan
    if v.dtype.kind == "f":
        v[random.random(m) < 0.1] = np.nan
    if random.integers(2):
        v = np.repeat(v, 2)[::2]
    side: Any = str(random.choice(["left", "right"]))
    wanted = np.searchsorted(a, v, side)
    order = random.permutation(n)
    turned = np.empty_like(a)
    turned[order] = a
    for found in (
        lib.searchsorted(a, v, side),
        lib.searchsorted(turned, v, side, sorter=order),
        lib.searchsorted(L.of(a), v, side),
    ):
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
    edges = a[a == a]
    if "bool" not in (a.dtype, v.dtype):
        for bins in (edges, edges[::-1]):
            right = side == "right"
            assert np.array_equal(lib.digitize(v, bins, right), np.digitize(v, bins, right))


@pytest.mark.parametrize("seed", range(10))
def test_random_calls(seed: int) -> None:
    one_call(seed)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_in_the_order_of_sorts(dtype: str) -> None:
    random, parts = np.random.default_rng(0), (0.0, -0.0, 1, -2, np.inf, -np.inf, np.nan)
    pool = np.array([complex(re, im) for re in parts for im in parts], dtype)
    for n in (0, 1, 7, 100):
        x = random.choice(pool, n)
        order = np.argsort(x, kind="stable")
        a, v = x[order], random.choice(pool, (5, 7))
        for side in ("left", "right"):
            wanted = np.searchsorted(a, v, side)  # type: ignore[call-overload]
            assert np.array_equal(lib.searchsorted(a, v, side), wanted)
            assert np.array_equal(lib.searchsorted(x, v, side, sorter=order), wanted)
    for v in (np.arange(-3, 5), np.ones(3, np.float32), np.array([1 + 2j]), 1 + 2j, np.complex64(1j), 3):
        assert np.array_equal(lib.searchsorted(a, v), np.searchsorted(a, v))
    assert np.array_equal(lib.searchsorted(np.arange(9), pool), np.searchsorted(np.arange(9), pool))
    assert np.array_equal(lib.searchsorted(L.of(a), pool[:9]), np.searchsorted(a, pool[:9]))


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_many_random_calls(seed: int) -> None:
    one_call(seed)


def test_numbers_and_arrays_without_axes() -> None:
    a = np.array([1, 3, 3, 5])
    for v in (3, 3.5, np.int8(3), np.array(3)):
        found = lib.searchsorted(a, v)
        assert found.shape == () and found == np.searchsorted(a, v)
    assert lib.digitize(2.5, a) == 1 and lib.searchsorted(a, np.full((2, 3, 0), 1)).shape == (2, 3, 0)
    grid = np.arange(12.0).reshape(3, 4).T
    assert np.array_equal(lib.searchsorted(np.arange(5), grid), np.searchsorted(np.arange(5), grid))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a, v: lib.searchsorted(a, v, "middle"), ValueError, "`side` must be"),
        (lambda a, v: lib.searchsorted(a.reshape(2, 2), v), ValueError, "`a`"),
        (lambda a, v: lib.searchsorted(a.astype("M8[s]"), v), TypeError, "`a` or `v`: dtype datetime64"),
        (lambda a, v: lib.searchsorted(a, v, sorter=v), TypeError, "`sorter` must only contain integers"),
        (lambda a, v: lib.searchsorted(a, v, sorter=np.arange(3)), ValueError, "`sorter` must have shape"),
        (lambda a, v: lib.searchsorted(a, v, sorter=np.arange(4) + 1), ValueError, "`sorter` index out of range"),
        (lambda a, v: lib.searchsorted(a, v, out=np.zeros(2, np.int32)), TypeError, "`out` must be of int64"),
        (lambda a, v: lib.searchsorted(a, v, out=np.zeros(3, np.int64)), ValueError, "`out` must have shape"),
        (lambda a, v: lib.searchsorted(a, {1, 2}), TypeError, "no number"),
        (lambda a, v: lib.digitize(v, np.array([1, 3, 2])), ValueError, "`bins` must be monotonically"),
        (lambda a, v: lib.digitize(v, np.zeros((2, 2))), ValueError, "`bins`"),
        (lambda a, v: lib.digitize(v * 1j, a), TypeError, "`x` and `bins` may not be complex"),
        (lambda a, v: lib.find(a, 3), TypeError, "`condition` must be an array or a function"),
        (lambda a, v: lib.find(a, v), ValueError, "`condition` must have shape"),
        (lambda a, v: lib.find(a, a > 1, out=np.zeros(1, np.int64)), ValueError, "`out` must have shape"),
        (lambda a, v: lib.searchsorted(a, v, stream=0), ValueError, "`stream`"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(np.arange(4.0), np.arange(2.0))


def test_a_plan_and_results_that_are_given() -> None:
    a, v, out = np.arange(0, 100, 3), np.arange(20_000) % 110, np.zeros(20_000, np.int64)
    again = lib.plan(lib.searchsorted, a, v, out=out)
    a += 5
    assert again() is out and np.array_equal(out, np.searchsorted(a, v))
    lib.searchsorted(a, v, out=v)  # in its own place: made beside it
    assert np.array_equal(v, np.searchsorted(a, np.arange(20_000) % 110))


def test_the_first_of_which_something_holds() -> None:
    x = np.random.default_rng(0).integers(0, 1000, (300, 200))
    for value in (0, 999, 1000):
        wanted = np.append(np.flatnonzero(x == value), -1)[0]
        for condition in (x == value, L.of(x) == value, (x == value).astype(np.float16)):
            assert lib.find(x, condition) == wanted
    assert lib.find(x, lambda e: e == 999) == np.flatnonzero(x == 999)[0]
    assert lib.find(x.T, x.T == x[1, 0]) == np.flatnonzero(x.T == x[1, 0])[0]
    assert lib.find(x[:0], x[:0] == 0) == -1 and lib.find(np.array(3), lambda e: e > 2) == 0


def test_what_ships_is_what_is_called_for() -> None:
    kind = Kind("float32", "float32", "float32", False)
    assert (
        instance_of(kernels.lookup, kind.lookup(kernels.DEVICE[0])).template
        == instance_of(kernels.lookup, {**kernels.EXAMPLES["lookup"]}).template
    )


@pytest.mark.parametrize("right", [False, True])
def test_lazy_values_among_edges_that_descend(right: bool) -> None:
    """A number, and lazy arrays, of which the kernel is bound in one go with edges that are read backwards."""
    bins = np.arange(20, dtype=np.int32)[::-1].copy()
    for x, values in (
        (7, np.int64(7)),
        (2.5, np.float64(2.5)),
        (L.arange(9), np.arange(9)),
        ([3, 4], np.array([3, 4])),
    ):
        found = lib.digitize(x, bins, right=right)
        assert np.array_equal(found, np.digitize(values, bins, right=right))
