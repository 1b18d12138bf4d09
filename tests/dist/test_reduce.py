"""prism.dist's reductions, positions and counts, by ranks that are threads: beside the library's of the whole array.

Tests of prism/dist: _reduce, _positions, _counting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from tests.dist.ranks import cut, results, run
from tests.dist.test_scan import FILL

X = np.random.default_rng(0).integers(0, 4, (14, 3))
LENGTHS = (5, 0, 9)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)], ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "count_nonzero"])
def test_named(name: str, axis: Any) -> None:
    for kind in ("int8", "float16"):
        x = X.astype(kind)
        shards, keep = cut(x, LENGTHS), axis == 0
        wanted = getattr(prism.lib, name)(x, axis=axis, keepdims=keep)
        found = results(3, lambda c, s=shards, k=keep: getattr(prism.dist, name)(s[c.rank], axis, comm=c, keepdims=k))
        for one in found:
            np.testing.assert_array_equal(one, wanted)
            assert one.dtype == wanted.dtype and np.shape(one) == np.shape(wanted)


def test_axes_within_a_shard_send_nothing_of_it() -> None:
    shards = cut(X, LENGTHS)
    found = results(3, lambda c: prism.dist.sum(shards[c.rank], 1, comm=c))
    np.testing.assert_array_equal(np.concatenate(found), X.sum(1))


def test_an_operator_whose_order_counts() -> None:
    x = np.array([4, 0, 3, 0, 5, 0, 0], np.int32)
    shards = cut(x, (2, 0, 4, 1))
    assert results(4, lambda c: prism.dist.reduce(shards[c.rank], FILL, comm=c)) == [5] * 4
    rows = cut(np.stack([x, x * 0 + 1]).T.copy(), (2, 0, 4, 1))
    for one in results(4, lambda c: prism.dist.reduce(rows[c.rank], FILL, comm=c, axis=0, initial=9)):
        np.testing.assert_array_equal(one, [5, 1])


def test_nothing_at_all() -> None:
    found = run(2, lambda c: prism.dist.max(np.zeros((0, 3)), 0, comm=c))
    assert all("which has no identity" in str(one) for one in found)
    for one in results(2, lambda c: prism.dist.sum(np.zeros((0, 3)), 0, comm=c, initial=2)):
        np.testing.assert_array_equal(one, [2, 2, 2])


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extremes(name: str, axis: int | None) -> None:
    for kind in ("int32", "float16"):
        x = X.astype(kind)
        if kind == "float16":
            x[7, 1] = x[9, 2] = np.nan
        shards = cut(x, LENGTHS)
        wanted = getattr(np, name)(x, axis, keepdims=axis == 0)
        for one in results(
            3, lambda c, s=shards: getattr(prism.dist, name)(s[c.rank], axis, comm=c, keepdims=axis == 0)
        ):
            np.testing.assert_array_equal(one, wanted)


def test_positions_of_what_is_not_zero() -> None:
    shards = cut(X, LENGTHS)
    np.testing.assert_array_equal(
        np.concatenate(results(3, lambda c: prism.dist.flatnonzero(shards[c.rank], comm=c))), np.flatnonzero(X)
    )
    found = results(3, lambda c: prism.dist.nonzero(shards[c.rank], comm=c))
    for k, wanted in enumerate(np.nonzero(X)):
        np.testing.assert_array_equal(np.concatenate([one[k] for one in found]), wanted)


def test_counts() -> None:
    x = np.random.default_rng(1).integers(0, 50, 60)
    shards, weights = cut(x, (20, 0, 40)), cut(np.arange(60.0), (20, 0, 40))
    for one in results(3, lambda c: prism.dist.bincount(shards[c.rank], comm=c)):
        np.testing.assert_array_equal(one, np.bincount(x))
    for one in results(3, lambda c: prism.dist.bincount(shards[c.rank], weights[c.rank], 70, comm=c)):
        np.testing.assert_array_equal(one, np.bincount(x, np.arange(60.0), 70))
    found = run(3, lambda c: prism.dist.bincount(shards[c.rank] - 1, comm=c))
    assert all("rank 0: " in str(one) or "rank 2: " in str(one) for one in found), found


@pytest.mark.parametrize("bins", [7, [-1.0, 0.0, 0.5, 3.0]], ids=["even", "edges"])
def test_histograms(bins: Any) -> None:
    for density, kind in ((False, "float32"), (True, "float64")):
        y = np.random.default_rng(2).normal(size=50).astype(kind)
        shards = cut(y, (20, 0, 30))
        wanted = np.histogram(y, bins, density=density)
        for one in results(3, lambda c, s=shards, d=density: prism.dist.histogram(s[c.rank], bins, density=d, comm=c)):
            np.testing.assert_allclose(one[0], wanted[0], rtol=1e-15)  # one rounding of a quotient
            np.testing.assert_array_equal(one[1], wanted[1])
