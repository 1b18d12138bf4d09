"""Sorted shards of many ranks, cut by samples on the reference machine: beside a stable sort of all.

Tests of kernels/merge: shards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.kernels.merge import cut_by_samples, greater, less, sample_run
from prism.kernels.merge.shards import HEAD

RANDOM = np.random.default_rng(0)


def sampled(x: Any, many: int, room: int, threads: int = 32) -> Any:
    """Return what a rank says: how many samples there are, and these, in so many bytes."""
    row = np.zeros(room, np.uint8)
    code = prism.check(sample_run, {"T": x.dtype.name, "THREADS": threads})
    given = x if len(x) else np.zeros(1, x.dtype)
    interpret.run(code, 1, threads, (given, row[:8].view("i8"), row[HEAD:].view(x.dtype), len(x), many), check=True)
    return row


def cuts_of(shards: list[Any], counts: list[int], parts: int, order: Any = less, threads: int = 64) -> list[list[int]]:
    kind, most = shards[0].dtype, 16
    room = HEAD + most * kind.itemsize
    everyone = np.concatenate([sampled(x, many, room) for x, many in zip(shards, counts, strict=True)])
    code = prism.check(cut_by_samples, {"T": kind.name, "LESS": order, "THREADS": threads})
    found = []
    for rank, x in enumerate(shards):
        cuts = np.full(parts - 1, -1)
        numbers = (len(x), rank, len(shards), most, room // 8, room // kind.itemsize, sum(counts), parts)
        given = x if len(x) else np.zeros(1, kind)
        arrays = given, everyone.view("i8"), everyone[HEAD:].view(kind), cuts
        interpret.run(code, 1, threads, (*arrays, *numbers), check=True)
        found.append(cuts.tolist())
    return found


@pytest.mark.parametrize("parts", [2, 3, 7, 40])
@pytest.mark.parametrize("kind", ["int32", "float32", "int64", "uint8"])
@pytest.mark.parametrize("lengths", [(100, 80, 0, 7), (50, 50), (0, 0, 33), (1, 1)], ids=str)
def test_cuts(lengths: tuple[int, ...], kind: str, parts: int) -> None:
    """Each part has the elements that stand there in a stable sort of all; about as many as the others."""
    for values in (3, 1000):
        for order, sign in ((less, 1), (greater, -1)):
            if order is greater and kind == "uint8":
                continue
            shards = [(sign * np.sort(sign * RANDOM.integers(0, min(values, 100), n))).astype(kind) for n in lengths]
            counts = [min(n, 16) for n in lengths]
            cuts = cuts_of(shards, counts, parts, order)
            whole = np.concatenate(shards)
            right = whole[np.argsort(sign * whole.astype("f8"), kind="stable")]
            ends = [[0, *own, n] for own, n in zip(cuts, lengths, strict=True)]
            made, sizes = [], []
            for part in range(parts):
                pieces = [x[own[part] : own[part + 1]] for x, own in zip(shards, ends, strict=True)]
                assert all(own[part] <= own[part + 1] for own in ends)
                both = np.concatenate(pieces)
                sizes.append(len(both))
                made.append(both[np.argsort(sign * both.astype("f8"), kind="stable")])
            np.testing.assert_array_equal(np.concatenate(made), right)
            # A sample stands for a stretch of its shard: a cut is off by one of each shard at most.
            most = sum(-(-n // c) for n, c in zip(lengths, counts, strict=True) if c)
            assert max(sizes) <= sum(lengths) / parts + 2 * most + 1


def test_nan_is_last() -> None:
    x = np.sort(np.array([3, np.nan, 1, 2, np.nan, 5], "f4"))
    for order, own in ((less, x), (greater, np.array([5, 3, 2, 1, np.nan, np.nan], "f4"))):
        cuts = cuts_of([own, own[:4]], [6, 4], 5, order)
        assert all(a <= b for one in cuts for a, b in zip(one, one[1:], strict=False))
        assert cuts[1][-1] == 4  # what is behind the last cut is NaN
