"""Sorts of arrays whose shards lie on many ranks: by a sample of all, from which each rank learns which part is its own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from prism import lib
from prism.dist._arrays import Post, bring, host_array
from prism.host.memory import empty
from prism.runtime.arrays import ArrayInfo, describe

SAMPLES = 64
"""Of a rank, on average: then no rank gets more than some 1.4 times its share of elements that are all different."""
_MOST = 16 * SAMPLES


def samples_of(lengths: Sequence[int], together: int = 0) -> list[int]:
    """Return how many samples each rank sends, by the lengths of shards: about so many `together`, or `SAMPLES` on average."""
    whole = max(1, sum(lengths))
    most, wanted = (together, together) if together else (_MOST, SAMPLES * len(lengths))
    return [min(n, most, -(-wanted * n // whole)) for n in lengths]


def split_by_sample(
    post: Post, like: ArrayInfo, keys: Any, lengths: Sequence[int], descending: bool, together: bool = False
) -> list[int]:
    """Return how many elements of this rank's sorted keys go to each rank, so that each gets about as many.

    Elements are in the order of their keys, then of ranks, then as they lie: so equal keys are divided too, and a sort of what
    comes is stable. `together`: equal keys all go to one rank.
    """
    counts = samples_of(lengths)
    most, mine, many = max(counts), counts[post.rank], lengths[post.rank]
    spots = _spots(many, mine, most, post.rank)
    taken = lib.take(keys, bring(like, spots)) if many else None
    if taken is None:
        taken = empty(like, most, describe(keys).dtype)
    everyone = post.all_gather(like, taken, (most,), describe(keys).dtype).reshape(-1)
    places = [_spots(n, count, most, rank)[:count] for rank, (n, count) in enumerate(zip(lengths, counts, strict=True))]
    valid = np.concatenate([rank * most + np.arange(count) for rank, count in enumerate(counts)]).astype(np.int64)
    ranks = np.repeat(np.arange(post.size), counts)
    at = np.concatenate(places)
    sample = lib.take(everyone, bring(like, valid))
    order = host_array(lib.argsort(sample, descending=descending))
    chosen = order[[len(order) * (rank + 1) // post.size for rank in range(post.size - 1)]] if len(order) else order
    if not len(chosen):
        return [0] * (post.size - 1) + [many]
    heads = lib.take(sample, bring(like, chosen))
    left, right = _search(keys, heads, descending)
    cuts = [
        int(left[k] if together or post.rank > ranks[one] else right[k] if post.rank < ranks[one] else at[one])
        for k, one in enumerate(chosen)
    ]
    return [b - a for a, b in itertools.pairwise([0, *cuts, many])]


def exchange(post: Post, like: ArrayInfo, rows: Sequence[int], *arrays: Any) -> tuple[list[int], list[Any]]:
    """Send the next `rows[r]` rows of arrays to each rank r; return how many come of each, and what comes, in their order."""
    told: list[int] = post.all_to_all_host(np.array(rows, np.int64)).tolist()
    return told, [post.all_to_all(like, array, rows, told) for array in arrays]


def move_to(post: Post, like: ArrayInfo, have: Sequence[int], want: Sequence[int], *arrays: Any) -> list[Any]:
    """Return shards of other lengths: `want[r]` elements on rank r, in the same order, where `have[r]` are."""
    ends, wanted = np.cumsum([0, *have]), np.cumsum([0, *want])
    begin, end = ends[post.rank], ends[post.rank + 1]
    rows = [int(max(0, min(end, b) - max(begin, a))) for a, b in itertools.pairwise(wanted)]
    first, last = wanted[post.rank], wanted[post.rank + 1]
    back = [int(max(0, min(last, b) - max(first, a))) for a, b in itertools.pairwise(ends)]
    return [post.all_to_all(like, array, rows, back) for array in arrays]


def _spots(many: int, count: int, most: int, rank: int) -> np.ndarray[Any, Any]:
    """Return where a rank's samples lie, one in each of `count` stretches; then the first again, up to `most`."""
    if not count:
        return np.zeros(most, np.int64)
    edges = np.arange(count + 1, dtype=np.int64) * many // count
    chance = np.random.default_rng(rank).random(count)
    found = edges[:-1] + (chance * (edges[1:] - edges[:-1])).astype(np.int64)
    return np.concatenate([found, np.zeros(most - count, np.int64)])


def _search(keys: Any, heads: Any, descending: bool) -> list[np.ndarray[Any, Any]]:
    """Return how many sorted keys are before each head, and how many are before it or equal it."""
    if not descending:
        return [host_array(lib.searchsorted(keys, heads, side)) for side in ("left", "right")]
    # NaN is last whichever way a sort goes: it is counted apart.
    many, strange = keys.shape[0], host_array(lib.evaluate(lib.lazy.map(lambda x: x != x, heads)))
    numbers = many - int(lib.count_nonzero(lib.lazy.map(lambda x: x != x, keys))) if many else 0
    backwards = lib.evaluate(lib.lazy.flip(keys[:numbers]))
    right, left = (numbers - host_array(lib.searchsorted(backwards, heads, side)) for side in ("left", "right"))
    return [np.where(strange, numbers, left), np.where(strange, many, right)]
