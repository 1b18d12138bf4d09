"""prism.dist's segments, by ranks that are threads: beside prism.lib's of the whole array.

Tests of prism/dist: _segments.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from tests.dist.ranks import cut, results, run
from tests.dist.test_scan import FILL

RANDOM = np.random.default_rng(0)
LENGTHS = ((30, 0, 53, 7), (0, 90), (90,), (1, 1, 1, 87))
STARTS = ([0, 31, 40, 83, 84], [5], [], [0, 29, 30, 30, 89], list(range(90)))


def own(starts: list[int], lengths: tuple[int, ...], rank: int) -> np.ndarray:
    """The segments that begin in a rank's shard; of several ranks that a border belongs to, the last one has it."""
    ends = np.cumsum([0, *lengths])
    mine = [s for s in starts if np.searchsorted(ends, s, "right") - 1 == rank]
    return np.array(mine, np.int64) - int(ends[rank])


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("starts", STARTS, ids=str)
@pytest.mark.parametrize(
    ("kind", "op"), [("int32", "add"), ("float32", "maximum"), ("int32", FILL), ("float16", "add")]
)
def test_as_of_the_whole(lengths: tuple[int, ...], starts: list[int], kind: str, op) -> None:
    x = RANDOM.integers(0, 9, 90).astype(kind)
    if op is FILL:
        x *= RANDOM.integers(0, 2, 90).astype(kind)
    shards, offsets = cut(x, lengths), [own(starts, lengths, rank) for rank in range(len(lengths))]
    found = results(len(lengths), lambda c: prism.dist.segmented_scan(shards[c.rank], offsets[c.rank], op, comm=c))
    np.testing.assert_array_equal(np.concatenate(found), prism.lib.segmented_scan(x, np.array(starts, np.int64), op))
    assert all(one.dtype == kind for one in found)
    found = results(len(lengths), lambda c: prism.dist.segmented_reduce(shards[c.rank], offsets[c.rank], op, comm=c))
    whole = prism.lib.segmented_reduce(x, np.array([*starts, 90], np.int64), op) if starts else np.zeros(0, kind)
    np.testing.assert_array_equal(np.concatenate(found), whole)


@pytest.mark.parametrize(
    ("offsets", "kind", "text"),
    [
        (np.zeros(1, "f4"), TypeError, "rank 1: `offsets` must be of int32 or int64, not float32"),
        (np.array([4, 1]), ValueError, "rank 1: `offsets` must rise from 0 to at most 5, and go from 4 to 1"),
        (np.array([0, 6]), ValueError, "rank 1: `offsets` must rise from 0 to at most 5, and go from 0 to 6"),
        (np.zeros(1, "i4"), ValueError, "ranks disagree: rank 0 calls segmented_scan("),
    ],
)
def test_errors(offsets: np.ndarray, kind: type[Exception], text: str) -> None:
    for error in run(
        2, lambda c: prism.dist.segmented_scan(np.ones(5), offsets if c.rank else np.zeros(1, "i8"), comm=c)
    ):
        assert type(error) is kind and str(error).startswith(text), error
