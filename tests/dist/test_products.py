"""prism.dist.matmul, by ranks that are threads: beside NumPy's product of the whole matrices.

Tests of prism/dist: _products, _aside.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.dist import _products
from tests.dist.ranks import cut, results, run

RANDOM = np.random.default_rng(0)


def whole(kind: str, m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of small integers: their product is exact in each dtype."""
    return RANDOM.integers(-3, 4, (m, k)).astype(kind), RANDOM.integers(-3, 4, (k, n)).astype(kind)


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("lengths", [(5, 0, 9), (7, 7), (16,), (0, 3)])
def test_products(kind: str, lengths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_products, "_ROWS", 2)  # so that rows go in several messages
    monkeypatch.setattr(_products, "_OPERATIONS", 1)
    m, size = sum(lengths), len(lengths)
    a, b = whole(kind, m, 8, 6)
    wanted = (a.astype("f4") @ b.astype("f4")).astype(kind)
    rows, columns = cut(a, lengths), cut(b, [6 * (r + 1) // size - 6 * r // size for r in range(size)], 1)
    found = results(size, lambda c: prism.dist.matmul(rows[c.rank], b, comm=c))
    np.testing.assert_array_equal(np.concatenate(found), wanted)
    found = results(size, lambda c: prism.dist.matmul(rows[c.rank], columns[c.rank], comm=c, split="columns"))
    np.testing.assert_array_equal(np.concatenate(found, 1), wanted)
    a, b = whole(kind, 11, m, 6)
    wanted = (a.astype("f4") @ b.astype("f4")).astype(kind)
    columns, rows = cut(a, lengths, 1), cut(b, lengths)
    found = results(size, lambda c: prism.dist.matmul(columns[c.rank], rows[c.rank], comm=c, split="inner"))
    np.testing.assert_array_equal(np.concatenate(found), wanted)
    assert all(one.dtype == kind for one in found)
    assert [len(one) for one in found] == [11 * (r + 1) // size - 11 * r // size for r in range(size)]


def test_sums_of_ranks_are_rounded_once() -> None:
    """1024 + 1 + 1 + 1 in float16, a rank each: rounded on the way 1 is lost to 1024 in none of them, 0.25 would be."""
    a, b = np.array([[2048.0, 0.75, 0.75, 0.75]], np.float16), np.ones((4, 1), np.float16)
    found = results(
        4, lambda c: prism.dist.matmul(a[:, c.rank : c.rank + 1], b[c.rank : c.rank + 1], comm=c, split="inner")
    )
    assert np.concatenate(found).tolist() == [[2050.0]]  # 2050.25; added up in float16 it would be 2048


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        (lambda a, b: (a, b, "diagonal"), ValueError, "rank 1: `split` must be one of rows, columns, inner, not 'diagonal'"),
        (lambda a, b: (a[0], b, "rows"), ValueError, "rank 1: `a` must have two axes, not 1"),
        (lambda a, b: (a, b[:3], "rows"), ValueError, "rank 1: matmul: Input operand 1 has a mismatch"),
        (lambda a, b: (a.astype("f8"), b.astype("f8"), "rows"), TypeError, "rank 1: `a` has dtype float64"),
        (lambda a, b: (a, b[:, :3], "rows"), ValueError, "ranks disagree: rank 0 calls matmul(dtype=float32, split=rows"),
        (lambda a, b: (a, b, "inner"), ValueError, "ranks disagree"),
    ],
)  # fmt: skip
def test_errors(change, kind: type[Exception], text: str) -> None:
    a, b = whole("float32", 4, 8, 6)

    def call(c):
        x, y, split = change(a, b) if c.rank else (a, b, "rows")
        return prism.dist.matmul(x, y, comm=c, split=split)

    for error in run(2, call):
        assert type(error) is kind and str(error).startswith(text), error
