"""prism.dist with very many ranks, one after the other or in threads: order of combination, empty shards, one element in all.

Tests of prism/dist: _scan, _reduce, _sort.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from tests.dist.ranks import cut, results
from tests.dist.test_scan import FILL
from tests.rarely import rarely

USUAL = [(60, kind) for kind in ("even", "one", "single", "few")]
MANY = [(10_000, kind) for kind in ("even", "one", "single", "few")]
"""Ranks and the kind of their shards. 10,000 that all have elements take seven minutes on two cores."""


def lengths_of(ranks: int, kind: str) -> list[int]:
    """Return lengths of shards: most are empty, or one has all, or they are as even as can be."""
    random = np.random.default_rng(ranks)
    if kind == "even":
        return [2] * ranks
    if kind == "one":
        return [0] * (ranks - 3) + [2 * ranks, 0, 0]
    if kind == "single":
        return [0] * (ranks // 2) + [1] + [0] * (ranks - ranks // 2 - 1)
    found = [0] * ranks
    for rank in random.choice(ranks, ranks // 10, replace=False):
        found[int(rank)] = int(random.integers(1, 9))
    return found


@pytest.mark.parametrize(("ranks", "kind"), rarely([*USUAL, *MANY], but=USUAL))
def test_scans_and_reductions(ranks: int, kind: str) -> None:
    lengths = lengths_of(ranks, kind)
    x = np.random.default_rng(0).integers(0, 3, sum(lengths), dtype=np.int32) * 7
    shards = cut(x, lengths)
    found = results(ranks, lambda c: prism.dist.scan(shards[c.rank], FILL, comm=c))
    np.testing.assert_array_equal(np.concatenate(found), prism.lib.scan(x, FILL))
    found = results(ranks, lambda c: prism.dist.max(shards[c.rank], comm=c))
    assert set(found) == {x.max()}


@pytest.mark.parametrize("kind", ["even", "one", "few"])
def test_sorts(kind: str) -> None:
    """Forty ranks: what 10,000 threads would send each other is 100 million parts."""
    lengths = lengths_of(40, kind)
    for x in (np.arange(sum(lengths))[::-1].copy(), np.zeros(sum(lengths), np.int64)):
        shards = cut(x, lengths)
        found = results(40, lambda c, s=shards: prism.dist.argsort(s[c.rank], comm=c))
        np.testing.assert_array_equal(np.concatenate(found), np.argsort(x, kind="stable"))
