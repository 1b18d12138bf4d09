"""Products of ranks that read each other's memory: the order in which they do so, on threads; on GPUs, tests/gpu/test_dist.py.

Tests of prism/dist: _pull, _products.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.dist import _again, _products, _pull
from prism.runtime.arrays import describe
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


@pytest.mark.parametrize(
    ("kind", "halved"), [("float32", False), ("float16", False), ("float16", True), ("bfloat16", True)]
)
@pytest.mark.parametrize("cuts", [(0, 9), (0, 3, 8), (0, 0, 6), (0, 1, 9, 10)], ids=str)
def test_ranks_that_meet_by_the_host(
    cuts: tuple[int, ...], kind: str, halved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All products that wait for nothing are queued first; of two ranks a part is added where the other one is multiplied."""
    monkeypatch.setattr(_products, "_meeting", lambda post, like: post.engine.windows.meet)
    monkeypatch.setattr(_again.Again, "by_host", True)
    monkeypatch.setattr(_products, "_HALVED", 2 if halved else 1 << 20)
    monkeypatch.setattr(_products, "_TILED", 2)
    epilogues, hgemm = [], prism.lib.hgemm
    monkeypatch.setattr(
        prism.lib, "hgemm", lambda *a, **how: (epilogues.append(how.get("epilogue")), hgemm(*a, **how))[1]
    )
    size, k = len(cuts) - 1, 16
    kind = np.dtype(ml_dtypes.bfloat16) if kind == "bfloat16" else np.dtype(kind)  # type: ignore[assignment]
    for m in (9, 12):
        _again.forget()
        a, b = (RANDOM.integers(-2, 3, shape).astype(kind) for shape in ((m, k), (k, 24)))
        wanted = (a.astype("f4") @ b.astype("f4")).astype(kind)
        inner = [k * one // cuts[-1] for one in cuts]

        def work(c: Any, a: Any = a, b: Any = b, m: int = m, wanted: Any = wanted, inner: Any = inner) -> int:
            r = c.rank
            part, rows = a[:, inner[r] : inner[r + 1]].copy(), b[inner[r] : inner[r + 1]].copy()
            for _ in range(3):
                found = prism.dist.matmul(part, rows, comm=c, split="inner")
                np.testing.assert_array_equal(found, wanted[m * r // size : m * (r + 1) // size])
            for change in (0, 0, 0, 1):  # the window is written anew each time
                own = (a + change)[m * r // size : m * (r + 1) // size].astype(a.dtype)
                found = prism.dist.matmul(own, b, comm=c, split="columns")
                np.testing.assert_array_equal(found, ((a + change).astype("f4") @ b.astype("f4")).astype(a.dtype))
            return int(c.windows.met)

        parts = 2 if halved and size == 2 else 1
        assert results(size, work, Queued) == [3 * parts * (size - 1)] * size
        assert any(epilogues) == (parts == 2)
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


def test_a_large_window_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank has two windows, or one that is large: then all meet before it is written again."""
    taken: list[int] = []
    driver = type("Driver", (), {"cuMemAlloc": staticmethod(lambda nbytes: taken.append(nbytes) or (0, 1 << 40))})
    monkeypatch.setattr(_pull, "driver", lambda: driver)
    monkeypatch.setattr(_pull, "check", lambda answer, what: answer[1])
    monkeypatch.setattr(_pull, "using", lambda ordinal: contextlib.nullcontext())
    met = []
    post = type("Post", (), {"size": 2, "settle": lambda self: met.append("settled")})()
    like = replace(describe(np.zeros(1)), device=0)
    windows = _pull.Windows(post, like)
    windows._meet = lambda: met.append("met")
    assert windows.room(3) == 1 and windows.room(1 << 20) == 1 and windows.room((1 << 20) + 1) == 2
    windows._sizes = [1 << 21, 1 << 31]
    windows.turn()
    assert not met and windows._offset(1 << 21) == 1 << 21 and windows._offset(1 << 31) == 1 << 31
    assert windows.room((1 << 31) + 4) == 3 and windows.room((1 << 34) + 1) == 0
    assert taken == [2 << 20, 2 << 21, 1 << 32]
    windows._sizes = [1 << 21, 1 << 32]
    for _ in range(2):
        windows.turn()
        assert windows._offset(1 << 32) == 0
    assert met == ["met", "settled"] * 2
