"""prism.dist's sorts, by ranks that are threads: beside NumPy's of the whole array.

Tests of prism/dist: _sort, _exchange.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from tests.dist.ranks import cut, results, run

RANDOM = np.random.default_rng(0)
DATA = {
    "any": RANDOM.integers(-1000, 1000, 90).astype(np.float32),
    "few": RANDOM.integers(0, 3, 90).astype(np.int32),
    "one": np.zeros(90, np.int32),
}
DATA["any"][::7] = np.nan


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("descending", [False, True])
def test_sorts(data: str, descending: bool) -> None:
    x = DATA[data]
    wanted = prism.lib.sort(x, descending=descending)
    for lengths in ((30, 0, 53, 7), (0, 90)):
        shards, size = cut(x, lengths), len(lengths)
        for how in ("ragged", "even", "same"):
            found = results(
                size,
                lambda c, s=shards, how=how: prism.dist.sort(s[c.rank], comm=c, descending=descending, shards=how),
            )
            np.testing.assert_array_equal(np.concatenate(found), wanted)
            sizes = [len(one) for one in found]
            assert how != "same" or sizes == list(lengths)
            assert how != "even" or max(sizes) - min(sizes) <= 1


def test_equal_keys_are_divided() -> None:
    shards = cut(DATA["one"], (90, 0, 0))
    sizes = [len(one) for one in results(3, lambda c: prism.dist.argsort(shards[c.rank], comm=c))]
    assert max(sizes) <= 45  # of 30 each: a sample of 90 places them to some


def test_positions_and_values_are_stable() -> None:
    x = DATA["few"]
    shards, order = cut(x, (30, 0, 60)), np.argsort(x, kind="stable")
    found = results(3, lambda c: prism.dist.argsort(shards[c.rank], comm=c))
    np.testing.assert_array_equal(np.concatenate(found), order)
    rows = np.arange(180).reshape(90, 2)
    values = cut(rows, (30, 0, 60))
    pairs = results(3, lambda c: prism.dist.sort_by_key(shards[c.rank], values[c.rank], comm=c, shards="same"))
    np.testing.assert_array_equal(np.concatenate([one[0] for one in pairs]), x[order])
    np.testing.assert_array_equal(np.concatenate([one[1] for one in pairs]), rows[order])


@pytest.mark.parametrize("largest", [True, False])
def test_first_elements(largest: bool) -> None:
    for data in ("any", "few"):
        shards = cut(DATA[data], (4, 0, 86))
        wanted = prism.lib.top_k(DATA[data], 9, largest=largest)
        for one in results(3, lambda c, s=shards: prism.dist.top_k(s[c.rank], 9, comm=c, largest=largest)):
            for found, right in zip(one, wanted, strict=True):
                np.testing.assert_array_equal(found, right)


def test_ranks_and_sets() -> None:
    for data in ("any", "few"):
        x = DATA[data]
        shards = cut(x, (4, 0, 86))
        values, counts = np.unique(x, return_counts=True)
        found = results(3, lambda c, s=shards: prism.dist.unique(s[c.rank], True, comm=c))
        np.testing.assert_array_equal(np.concatenate([one[0] for one in found]), values)
        np.testing.assert_array_equal(np.concatenate([one[1] for one in found]), counts)
        for one in results(3, lambda c, s=shards: prism.dist.median(s[c.rank], comm=c)):
            np.testing.assert_array_equal(one, np.median(x))
        for one in results(3, lambda c, s=shards: prism.dist.kthvalue(s[c.rank], 7, comm=c)):
            np.testing.assert_array_equal(one, np.sort(x)[6])


def test_errors() -> None:
    assert all(
        "`k` is 9, and the whole array has 6" in str(e)
        for e in run(2, lambda c: prism.dist.top_k(np.ones(3), 9, comm=c))
    )
    assert all("from 1 to the number" in str(e) for e in run(2, lambda c: prism.dist.kthvalue(np.ones(3), 7, comm=c)))
    assert all(
        "must be one of ragged" in str(e) for e in run(2, lambda c: prism.dist.sort(np.ones(3), comm=c, shards="x"))
    )
    assert all("one dimension, not 2" in str(e) for e in run(2, lambda c: prism.dist.sort(np.ones((3, 1)), comm=c)))
    found = run(2, lambda c: prism.dist.sort_by_key(np.ones(3), np.ones(3 + c.rank), comm=c))
    assert all("rank 1: `values` must have 3 rows" in str(e) for e in found)
    assert all(np.isnan(one) for one in results(2, lambda c: prism.dist.median(np.zeros(0), comm=c)))
