"""prism.dist.select, by ranks that are threads: beside NumPy's selection of the whole array.

Tests of prism/dist: _positions.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from tests.dist.ranks import cut, results, run

X = np.random.default_rng(0).integers(0, 9, 90).astype(np.int32)


@pytest.mark.parametrize("lengths", [(30, 0, 53, 7), (0, 90), (90,)])
@pytest.mark.parametrize("shards", ["ragged", "even"])
def test_as_of_the_whole(lengths: tuple[int, ...], shards: str) -> None:
    mask = X > 4
    own, masks = cut(X, lengths), cut(mask, lengths)
    for condition in (lambda rank: masks[rank], lambda rank: lambda v: v > 4):
        found = results(
            len(lengths),
            lambda c, condition=condition: prism.dist.select(own[c.rank], condition(c.rank), comm=c, shards=shards),
        )
        np.testing.assert_array_equal(np.concatenate(found), X[mask])
        sizes = [len(one) for one in found]
        assert max(sizes) - min(sizes) <= 1 if shards == "even" else sizes == [int(one.sum()) for one in masks]


def test_errors() -> None:
    for error in run(2, lambda c: prism.dist.select(X, X > 4, comm=c, shards="same" if c.rank else "even")):
        assert isinstance(error, ValueError) and str(error) == "rank 1: `shards` must be ragged or even, not 'same'"
    for error in run(2, lambda c: prism.dist.select(X, X[: 90 - c.rank] > 4, comm=c)):
        assert isinstance(error, ValueError) and str(error).startswith("rank 1: ")
