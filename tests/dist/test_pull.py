"""Products of ranks that read each other's memory: the order in which they do so, on threads; on GPUs, tests/gpu/test_dist.py.

Tests of prism/dist: _pull, _products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.dist import _again
from tests.dist.ranks import Queued, results

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("kind", ["float32", "float16"])
@pytest.mark.parametrize("cuts", [(0, 3, 8), (0, 5, 5, 11), (0, 1, 9, 10, 16), (0, 0, 3)], ids=str)
def test_products(cuts: tuple[int, ...], kind: str) -> None:
    _again.forget()
    size, m, k, n = len(cuts) - 1, cuts[-1], 16, 24
    a, b = (RANDOM.integers(-2, 3, shape).astype(kind) for shape in ((m, k), (k, n)))
    wanted = (a.astype("f4") @ b.astype("f4")).astype(kind)
    columns = [n * rank // size for rank in range(size + 1)]
    inner = [0, 1, *(k * rank // size for rank in range(2, size + 1))]

    def work(c: Any) -> tuple[int, int]:
        r = c.rank
        one, other = a[cuts[r] : cuts[r + 1]].copy(), b[:, columns[r] : columns[r + 1]].copy()
        part, rows = a[:, inner[r] : inner[r + 1]].copy(), b[inner[r] : inner[r + 1]].copy()
        for _ in range(4):  # from the third time on, by what is known
            found = prism.dist.matmul(one, other, comm=c, split="columns")
            np.testing.assert_array_equal(found, wanted[:, columns[r] : columns[r + 1]])
            found = prism.dist.matmul(part, rows, comm=c, split="inner")
            np.testing.assert_array_equal(found, wanted[m * r // size : m * (r + 1) // size])
            assert found.dtype == kind
        return c.windows.pulled, c.windows.met

    for rank, (pulled, met) in enumerate(results(size, work, Queued)):
        own = m * (rank + 1) // size - m * rank // size
        rows = m - (cuts[rank + 1] - cuts[rank])
        assert pulled == 4 * (rows * k * a.itemsize + (size - 1) * own * n * 4)
        assert met == 4 * (size - 1)
    _again.forget()


def test_a_shard_of_another_length() -> None:
    """A rank that goes on by what is known, while another one's shard has grown."""
    _again.forget()
    b = RANDOM.integers(-2, 3, (8, 4)).astype(np.float32)

    def work(c: Any) -> None:
        for many in (3, 3, 3, 5, 5, 3):
            whole = np.arange((many + 2) * 8, dtype=np.float32).reshape(many + 2, 8)
            own = (whole[:many] if c.rank == 0 else whole[many:]).copy()
            found = prism.dist.matmul(own, b[:, 2 * c.rank : 2 * c.rank + 2].copy(), comm=c, split="columns")
            np.testing.assert_array_equal(found, (whole @ b)[:, 2 * c.rank : 2 * c.rank + 2])

    results(2, work, Queued)
    _again.forget()
