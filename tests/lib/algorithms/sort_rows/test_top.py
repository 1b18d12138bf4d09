"""The first elements of segments, on NumPy arrays: of every way that they are found, all dtypes, hard data, and the errors.

Tests of prism/lib/algorithms/sort_rows: top; kernels/sort_rows: top.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism.lib import segmented_top_k
from tests.kernels.test_sort_rows import order_of
from tests.lib.algorithms.sort_rows.test_api import hard
from tests.rarely import rarely

KINDS = (
    "float32", "bool", "int8", "uint16", "float16", "int32", "uint64", "float64",
)  # fmt: skip


def oracle(x: Any, offsets: Any, k: int, largest: bool = True) -> tuple[Any, Any]:
    """Return the first elements of each segment, and their positions; what is missing as said."""
    limits = (False, True) if x.dtype.kind == "b" else (-np.inf, np.inf)
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    values = np.full((offsets.size - 1, k), limits[0 if largest else 1], x.dtype)
    places = np.full(values.shape, -1)
    for s, (begin, end) in enumerate(zip(np.maximum(offsets[:-1], 0), np.minimum(offsets[1:], x.size), strict=True)):
        if begin < end:
            order = order_of(x[None, begin:end], largest)[0, :k]
            values[s, : order.size], places[s, : order.size] = x[begin:end][order], order
    return values, places


def agree(x: Any, offsets: Any, k: int, largest: bool = True) -> None:
    values, places = oracle(x, offsets, k, largest)
    found = segmented_top_k(x, offsets, k, largest=largest)
    assert found[0].dtype == x.dtype and found[1].dtype == np.int64
    assert np.array_equal(found[1], places) and np.array_equal(found[0], values, equal_nan=x.dtype.kind == "f")


@pytest.mark.parametrize(
    ("kind", "largest"),
    rarely(
        [(kind, largest) for kind in KINDS for largest in (True, False)],
        but=[("float32", True), ("int32", False), ("bool", True)],
    ),
)
def test_segments_of_unequal_lengths(kind: str, largest: bool) -> None:
    """Short ones, some that a block holds, and one that it reads again."""
    lengths = [0, 3, 40, 1, 0, 600, 7, 1500, 33, 5]
    offsets = np.cumsum([2, *lengths])
    agree(hard(kind, int(offsets[-1]) + 3), offsets, 9, largest)


@pytest.mark.parametrize("form", ["equal", "rising", "falling", "nan"])
def test_long_segments(form: str) -> None:
    n = 3000
    x = {"equal": np.zeros(n), "rising": np.arange(n), "falling": -np.arange(n), "nan": np.full(n, np.nan)}[form]
    agree(x.astype(np.float32), np.array([0, 1024, 1024, n - 1025, n], np.int32), 300)


@pytest.mark.parametrize("n", [100, 3000])
def test_more_than_a_block_sorts(n: int) -> None:
    """All segments are sorted then."""
    agree(hard("int16", n), np.array([0, 5, n // 3, n]), 2049)


def test_nothing_to_find() -> None:
    x = np.arange(10, dtype=np.float32)
    for offsets, k, shape in ((np.array([4]), 3, (0, 3)), (np.array([4, 8]), 0, (1, 0))):
        values, places = segmented_top_k(x, offsets, k)
        assert values.shape == places.shape == shape
    agree(x[:0], np.array([0, 0, 0]), 2)
    agree(x, np.array([3, 3, 30]), 2)


def test_out_and_mode() -> None:
    x, offsets = hard("int32", 100), np.array([0, 40, 100])
    values, places = oracle(x, offsets, 3, False)
    out = np.zeros((3, 2), np.int32).T, np.zeros((2, 3), np.int64)
    found = segmented_top_k(x, offsets, 3, mode="smallest", out=out)
    assert found[0] is out[0] and np.array_equal(out[0], values) and np.array_equal(out[1], places)


def test_errors() -> None:
    x, offsets = np.zeros(10, np.float32), np.array([0, 5])
    with pytest.raises(TypeError, match="`x` has dtype complex64"):
        segmented_top_k(x.astype(np.complex64), offsets, 1)
    with pytest.raises(TypeError, match="`k` must be an integer"):
        segmented_top_k(x, offsets, 1.0)
    with pytest.raises(TypeError, match="`k` must be an integer"):
        segmented_top_k(x, offsets, True)
    with pytest.raises(ValueError, match="`k` must be 0 or more"):
        segmented_top_k(x, offsets, -1)
    with pytest.raises(ValueError, match="`mode`"):
        segmented_top_k(x, offsets, 1, mode="least")
    with pytest.raises(TypeError, match="`offsets` must be of int32 or int64"):
        segmented_top_k(x, offsets.astype(float), 1)
    with pytest.raises(ValueError, match="`offsets` must have one element more"):
        segmented_top_k(x, offsets[:0], 1)
    with pytest.raises(ValueError, match="`x`"):
        segmented_top_k(x.reshape(2, 5), offsets, 1)
    with pytest.raises(TypeError, match="`out` must be a pair"):
        segmented_top_k(x, offsets, 1, out=x)
    with pytest.raises(ValueError, match="shape"):
        segmented_top_k(x, offsets, 1, out=(np.zeros((1, 2), np.float32), np.zeros((1, 1), np.int64)))
