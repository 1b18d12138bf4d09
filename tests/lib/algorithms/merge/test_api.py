"""Merges, and sorts by merging, on NumPy arrays: sizes about tiles, all dtypes, orders of one's own, structs, and the errors.

Tests of prism/lib/algorithms/merge: api, order, plan, sort, cases, ships; kernels/merge: configurations, orders, runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism.kernels.merge import HOST
from prism.lang import dtype, float32, int32, prism, requires, struct, template, thread
from prism.lib import merge, merge_by_key
from prism.lib.algorithms.merge.order import comparator_of, key_in, usual_order
from prism.lib.algorithms.merge.sort import argsort_by, sort_by, sort_pairs_by
from prism.lib.thread import operators
from tests.kernels.test_sort_rows import order_of
from tests.lib.algorithms.sort_rows.test_api import hard
from tests.lib.block.test_sort import tens

TILE = HOST.tile()
KINDS = ("float32", "int8", "bool", "float64", "uint64", "complex128", "complex64", "float16", "int32")
SIZES = [(0, 0), (0, 5), (5, 0), (1, 1), (TILE - 1, 1), (TILE, 0), (TILE + 1, 2 * TILE), (3 * TILE, 2 * TILE - 1)]


@struct
class Pair:
    key: int32
    name: int32


@prism("device")
@requires(thread[1])
def by_key(a: Pair @ thread[1], b: Pair @ thread[1]) -> bool @ thread[1]:
    return a.key < b.key


@prism("device")
@requires(thread[1])
@template(T=dtype)
def before(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """A docstring is no statement."""
    return a < b


@prism("device")
@requires(thread[1])
def as_float(a: float32 @ thread[1], b: float32 @ thread[1]) -> bool @ thread[1]:
    return a < b


def sorted_run(kind: str, n: int, seed: int) -> Any:
    return np.sort(hard(kind, n, seed), kind="stable")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_merges(kind: str, sizes: tuple[int, int]) -> None:
    a, b = sorted_run(kind, sizes[0], 0), sorted_run(kind, sizes[1], 1)
    both = np.concatenate([a, b])
    order = np.argsort(both, kind="stable")
    assert np.array_equal(merge(a, b), both[order], equal_nan=both.dtype.kind in "fc")
    keys, values = merge_by_key(a, np.arange(a.size), b, np.arange(b.size) + a.size)
    assert np.array_equal(values, order) and np.array_equal(keys, both[order], equal_nan=both.dtype.kind in "fc")


@pytest.mark.parametrize("form", ["equal", "all before", "all behind", "in turn"])
def test_extreme_merges(form: str) -> None:
    x = np.arange(3 * TILE, dtype=np.int32)
    a, b = {
        "equal": (0 * x, 0 * x[:TILE]), "all before": (x, x + x.size), "all behind": (x + x.size, x),
        "in turn": (2 * x, 2 * x + 1),
    }[form]  # fmt: skip
    assert np.array_equal(merge(a, b), np.sort(np.concatenate([a, b])))


def test_orders_of_ones_own() -> None:
    random = np.random.default_rng(0)
    runs = [random.integers(0, 100, n, dtype=np.int32) for n in (1000, 700)]
    a, b = (run[np.argsort(run // 10, kind="stable")] for run in runs)
    both = np.concatenate([a, b])
    assert np.array_equal(merge(a, b, less=tens), both[np.argsort(both // 10, kind="stable")])
    assert np.array_equal(merge(a, b, less=lambda x, y: x // 10 < y // 10), both[np.argsort(both // 10, kind="stable")])
    down = [np.sort(run)[::-1] for run in runs]
    assert np.array_equal(merge(*down, descending=True), np.sort(both)[::-1])
    pairs = np.zeros(900, Pair)
    pairs["key"], pairs["name"] = random.integers(0, 20, 900), np.arange(900)
    wanted = pairs[np.argsort(pairs["key"], kind="stable")]
    assert np.array_equal(sort_by(pairs, by_key), wanted)
    halves = (sort_by(pairs[:400], by_key), sort_by(pairs[400:], by_key))
    assert np.array_equal(merge(*halves, less=by_key), wanted)


@pytest.mark.parametrize("kind", ["float32", "int8", "complex128", "float16", "int64"])
@pytest.mark.parametrize("n", [0, 1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE + 1, 4 * TILE, 4 * TILE + 1, 5000])
def test_sorts_by_merging(kind: str, n: int) -> None:
    x = hard(kind, n)
    order = np.argsort(x, kind="stable")
    assert np.array_equal(sort_by(x), x[order], equal_nan=x.dtype.kind in "fc")
    keys, values = sort_pairs_by(x, np.arange(n, dtype=np.int16))
    assert np.array_equal(values, order) and np.array_equal(keys, x[order], equal_nan=x.dtype.kind in "fc")
    assert np.array_equal(argsort_by(x), order)


@pytest.mark.parametrize("n", [TILE * k + more for k in (1, 2, 3, 5) for more in (-1, 0, 1)])
def test_equal_ones_keep_their_order(n: int) -> None:
    x = np.random.default_rng(n).integers(0, 100, n, dtype=np.int32)
    assert np.array_equal(sort_by(x, tens), x[np.argsort(x // 10, kind="stable")])
    assert np.array_equal(argsort_by(x, tens), np.argsort(x // 10, kind="stable"))
    assert np.array_equal(argsort_by(x, descending=True), order_of(x[None], True)[0])


def test_complex_numbers_descend_with_nan_last() -> None:
    x = hard("complex128", 900)
    found = sort_by(x, descending=True)
    numbers = np.isfinite(x.real) & np.isfinite(x.imag)
    assert np.array_equal(found[: numbers.sum()], np.sort(x[numbers])[::-1]) and np.isnan(found[numbers.sum() :]).all()


@pytest.mark.parametrize(
    ("less", "falls"),
    [
        (lambda a, b: a < b, False), (lambda a, b: a > b, True), (lambda x, y: y < x, True), (lambda x, y: y > x, False),
        (before, False), (operators.less, False), (operators.greater, True), (as_float, None), (by_key, None),
        (lambda a, b: a <= b, None), (lambda a, b: a % 3 < b, None), (lambda a, b: a < a, None), (lambda a, b: a.x < b.x, None),
    ],
)  # fmt: skip
def test_the_order_of_numbers_is_known(less: Any, falls: bool | None) -> None:
    less = comparator_of(less)
    assert [usual_order(less, kind) for kind in ("int32", "float16")] == [falls, falls]
    assert usual_order(less, "bool") is None and usual_order(less, "complex64") is None


def test_keys_of_comparators() -> None:
    keyed = [
        lambda a, b: a.x % 3 < b.x % 3,
        lambda a, b: float32(b) > float32(a),
        lambda a, b: (a if a > 3 else -a) < (b if b > 3 else -b),
    ]
    assert [found is not None and found[1] for found in map(key_in, map(comparator_of, keyed))] == [False, False, False]
    other = [
        before, lambda a, b: a.x < b.y, lambda a, b: a % 3 < b % 4, lambda a, b: a + b < b + a, lambda a, b: a <= b,
        lambda a, b: a < b or b.x < a.x, lambda a, b: not a < b, lambda a, b: a % 3 < a % 3, lambda a, b: int32(a) < float32(b),
    ]  # fmt: skip
    assert [key_in(comparator_of(less)) for less in other] == [None] * len(other)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_no_order_touches_nothing_else(seed: int) -> None:
    """Nor do runs that are not sorted: the machine refuses what is read or written outside."""
    x = np.random.default_rng(seed).integers(0, 1 << 30, 9 * TILE, dtype=np.int32)
    noise = lambda a, b: (a * 3 ^ b * 5) >> 7 & 1 == 1
    keys, values = sort_pairs_by(x, np.arange(x.size), comparator_of(noise))
    assert keys.shape == values.shape == sort_by(x, comparator_of(noise)).shape == x.shape
    merge(x[: 3 * TILE], x[3 * TILE :], less=noise)
    merge(x[: 3 * TILE], x[3 * TILE :])
    merge_by_key(x[: 3 * TILE], x[: 3 * TILE], x[3 * TILE :], x[3 * TILE :])


def test_out_and_strides() -> None:
    a, b = np.arange(0, 100, 2, dtype=np.int32), np.arange(1, 200, 2, dtype=np.int32)[::2]
    out = np.zeros(100, np.int32)
    assert merge(a, b, out=out) is out and np.array_equal(out, np.sort(np.concatenate([a, b])))
    x = hard("int32", 1000)
    wanted = np.sort(x)
    assert sort_by(x, out=x) is x and np.array_equal(x, wanted)


def test_errors() -> None:
    a = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="`b` must be of float32"):
        merge(a, a.astype(int))
    with pytest.raises(TypeError, match="`less` must be a Prism device function or a lambda, not type"):
        merge(a, a, less=int)
    with pytest.raises(TypeError, match="goes without `descending`"):
        merge(a.astype(np.int32), a.astype(np.int32), less=tens, descending=True)
    with pytest.raises(TypeError, match="a struct takes `less`"):
        merge(np.zeros(3, Pair), np.zeros(3, Pair))
    with pytest.raises(ValueError, match="`a`"):
        merge(a.reshape(2, 2), a)
    with pytest.raises(ValueError, match="`keys_b` and `values_b` must have one shape"):
        merge_by_key(a, a, a, a[:2])
    with pytest.raises(ValueError, match="`out`"):
        merge(a, a, out=np.zeros(7, np.float32))
    with pytest.raises(TypeError, match="`values_a` has dtype"):
        merge_by_key(a, np.zeros(4, "S3"), a, np.zeros(4, "S3"))
