"""Random calls of first elements, ranks, sets and sorted segments with values, against NumPy.

As tests/lib/algorithms/sort/test_random_calls.py, which has the arrays. `make test` makes few calls, `make fuzz` 2,000: each
takes a second or two of the reference machine.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from prism import lib
from tests.lib.algorithms.sort.test_random_calls import DTYPES, VALUES, Random, order_of, same, shape_of

CALLS, PARTS = int(os.environ.get("TOP_CALLS", "2000")), 100
ORDERED = [dtype for dtype in DTYPES if not dtype.startswith("complex")]
PLAIN = [dtype for dtype in ORDERED if dtype != "bfloat16"]


def native(x: Any) -> Any:
    return x.astype(x.dtype.newbyteorder("="))


def call_top_k(r: Random) -> str:
    x, largest = r.numbers(shape_of(r), r.one(ORDERED)), r.chance(0.6)
    axis = r.one((None, *range(-x.ndim, x.ndim)))
    flat, last = (x.reshape(-1), 0) if axis is None else (x, axis)
    n = flat.shape[last]
    k = min(n, r.one((0, 1, 2, 7, 32, 33, 100, 1000, 5000, n)))
    order = np.take(order_of(flat, last, largest), range(k), last)
    values, places = lib.top_k(x, k, axis=axis, largest=largest)
    same(places, order)
    same(values, np.take_along_axis(native(flat), order, last), alone=True)
    return f"{x.dtype} {x.shape} {k} {axis} {largest}"


def segments(r: Random, n: int) -> Any:
    return np.sort(r.random.integers(0, n + 1, int(r.random.integers(1, 40)))).astype(r.one(("int32", "int64")))


def call_segmented_top_k(r: Random) -> str:
    x, largest, k = r.numbers((r.size(),), r.one(ORDERED)), r.chance(0.6), r.one((0, 1, 3, 8, 40, 300))
    offsets = segments(r, x.size)
    values, places = lib.segmented_top_k(x, offsets, k, largest=largest)
    wanted = np.full((len(offsets) - 1, k), -1)
    for row, begin, end in zip(wanted, offsets[:-1], offsets[1:], strict=True):
        order = order_of(x[begin:end], -1, largest)[:k]
        row[: order.size] = order
    same(places, wanted)
    there = wanted >= 0
    same(values[there], native(x)[(offsets[:-1, None] + wanted)[there]], alone=True)
    return f"{x.dtype} {x.size} {k} {len(offsets)} {largest}"


def call_segmented_sort_by_key(r: Random) -> str:
    x = r.numbers((r.size(),), r.one(DTYPES))
    offsets, kind = segments(r, x.size), r.one(VALUES)
    some = r.random.integers(0, 2 if kind == "bool" else 256, (x.size, 16), dtype=np.uint8)
    values = r.lying(some.view(kind)[:, 0].copy())
    keys, moved, places = native(x), native(values), np.arange(x.size)
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        places[begin:end] = begin + order_of(x[begin:end])
    found = lib.segmented_sort_by_key(x, values, offsets)
    same(found[0], keys[places])
    same(found[1], moved[places])
    return f"{x.dtype} {x.size} {kind} {len(offsets)}"


def call_ranks(r: Random) -> str:
    x = r.numbers(shape_of(r), r.one([dtype for dtype in PLAIN if dtype != "bool"]))
    axis = r.one((None, *range(-x.ndim, x.ndim)))
    flat, last = (x.reshape(-1), 0) if axis is None else (x, axis)
    n = flat.shape[last]
    if not n:
        return "none"
    at = int(r.random.integers(0, n))
    ordered = np.take_along_axis(native(flat), order_of(flat, last), last)
    wanted = np.take(ordered, at, last)
    same(np.asarray(lib.kthvalue(x, at + 1, axis)[0]), wanted, alone=True)
    same(np.take(lib.partition(x, at, axis), at, last), wanted, alone=True)
    places = lib.argpartition(x, at, axis)
    assert (
        np.sort(places, last) == np.arange(n).reshape([-1 if a == last % flat.ndim else 1 for a in range(flat.ndim)])
    ).all()
    q = float(r.random.random())
    for mine, theirs in (
        (lib.quantile(x, q, axis, method="lower"), np.quantile(native(x), q, axis, method="lower")),
        (lib.median(x, axis), np.median(native(x).astype(np.float64), axis)),
    ):
        assert np.allclose(
            np.asarray(mine, np.float64),
            np.asarray(theirs, np.float64),
            rtol=2e-3 if x.dtype.itemsize < 4 else 1e-6,
            equal_nan=True,
        )  # the mean of two is rounded to the array's type
    return f"{x.dtype} {x.shape} {axis} {at}"


def call_sets(r: Random) -> str:
    a, b = (r.numbers((r.size(),), dtype) for dtype in [r.one(PLAIN)] * 2)
    found = lib.unique(a, return_index=True, return_inverse=True, return_counts=True)
    for one, wanted in zip(
        found, np.unique(native(a), return_index=True, return_inverse=True, return_counts=True), strict=True
    ):
        assert np.array_equal(one, wanted, equal_nan=one.dtype.kind == "f")
    name = r.one(("isin", "intersect1d", "union1d", "setdiff1d", "setxor1d"))
    mine, theirs = getattr(lib, name)(a, b), getattr(np, name)(native(a), native(b))
    assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    return f"{name} {a.dtype} {a.size} {b.size}"


NAMES = ("top_k", "segmented_top_k", "segmented_sort_by_key", "ranks", "sets")


def calls(first: int, many: int) -> None:
    for seed in range(first, first + many):
        r = Random(seed)
        name = r.one(NAMES)
        try:
            with np.errstate(all="ignore"):
                globals()[f"call_{name}"](r)
        except Exception as error:
            error.add_note(f"{name}, seed {seed}")
            raise


@pytest.mark.parametrize("seed", [56, 48, 45, 40, 44])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_some_calls(seed: int) -> None:
    """One of each name."""
    calls(seed, 1)


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_many_calls(part: int) -> None:
    calls(part * (CALLS // PARTS), CALLS // PARTS)
