"""Small messages through memory that ranks share, on the reference machine: a rank at a time, with what the others say there.

Tests of kernels/ranks: count, exchange.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.kernels.ranks import HEAD, MESSAGE, count_ranks, exchange_ranks

ROOM = 40


def row(call: int, words: Any) -> Any:
    return np.uint64(call << 32) | np.asarray(words).astype(np.uint64)


def exchanged(boxes: Any, said: Any, rank: int, call: int, over: bool = True, threads: int = 32) -> tuple[Any, int]:
    """Return what a rank hears of a call, and the call's number if that is all, else 0: it does not wait where it is `over`."""
    _, ranks, _ = boxes.shape
    told, answer = np.zeros(ranks * len(said), np.uint32), np.full(1, -1)
    code = prism.check(exchange_ranks, {"THREADS": threads})
    numbers = len(said), rank, ranks, ROOM, call, np.full(1, over, np.uint64)
    interpret.run(code, 1, threads, (said, boxes.reshape(-1), told, answer, *numbers), check=True)
    return told.reshape(ranks, -1), int(answer[0])


@pytest.mark.parametrize("call", [1, 2, 7, 0xFFFFFFFE])
@pytest.mark.parametrize("many", [1, 24, 40])
def test_what_all_say_is_heard(many: int, call: int) -> None:
    boxes, said = np.zeros((2, 3, ROOM), np.uint64), np.arange(3 * many, dtype=np.uint32).reshape(3, many)
    said[1, 0] = 0xFFFFFFFF
    for rank in (0, 2):
        boxes[call & 1, rank, :many] = row(call, said[rank])
    before = boxes.copy()
    told, all_there = exchanged(boxes, said[1], 1, call)
    np.testing.assert_array_equal(told, said)
    assert all_there == call
    before[call & 1, 1, :many] = row(call, said[1])  # what it said itself, and nothing else
    np.testing.assert_array_equal(boxes, before)


def test_a_word_that_is_missing() -> None:
    """It has the number of the call two before; when it comes, the same call goes on."""
    boxes, said = np.zeros((2, 2, ROOM), np.uint64), np.arange(48, dtype=np.uint32).reshape(2, 24)
    boxes[0, 0, :24] = row(4, said[0])
    boxes[0, 0, 17] = row(2, 9)
    assert exchanged(boxes, said[1], 1, 4)[1] == 0
    boxes[0, 0, 17] = row(4, said[0, 17])
    told, all_there = exchanged(boxes, said[1], 1, 4)
    np.testing.assert_array_equal(told, said)
    assert all_there == 4


def test_a_rank_alone() -> None:
    boxes, said = np.zeros((2, 1, ROOM), np.uint64), np.arange(24, dtype=np.uint32)
    assert exchanged(boxes, said, 0, 3, over=False)[1] == 3


@pytest.mark.parametrize("bins", [1, 17, 20])
@pytest.mark.parametrize("ranks", [1, 3])
def test_counts_of_all(ranks: int, bins: int) -> None:
    """Sums of numbers of 64 bits, negative ones among them; they have come, or not, or a rank says something else."""
    random, call, room = np.random.default_rng(bins), 5, MESSAGE + 40
    counts = random.integers(-(1 << 61), 1 << 61, (ranks, bins))
    said = random.integers(0, 1 << 32, (ranks, MESSAGE), np.uint32)
    code = prism.check(count_ranks, {"THREADS": 32})
    for what in ("all", "no counts", "no head", "another head") if ranks > 1 else ("all",):
        boxes, words, known = np.zeros((2, ranks, room), np.uint64), counts.view(np.uint32), said[:, :HEAD].copy()
        for rank in range(1, ranks):
            boxes[1, rank, :MESSAGE] = row(call, said[rank])
            boxes[1, rank, MESSAGE : MESSAGE + 2 * bins] = row(call, words[rank])
        boxes[1, -1, MESSAGE if what == "no counts" else 0] -= np.uint64((what in ("no counts", "no head")) << 32)
        known[-1, 3] += what == "another head"
        told, rows = np.zeros(ranks * MESSAGE, np.uint32), np.zeros(2 * ranks * bins, np.uint32)
        heard, answer, sums = np.full(1, -1), np.full(2, -1), np.zeros(bins, np.int64)
        flat = boxes.reshape(-1)
        given = (
            said[0].copy(),
            flat,
            told,
            heard,
            np.ones(1, np.uint64),
            known.reshape(-1),
            words[0].copy(),
            flat[MESSAGE:],
            rows,
        )
        numbers = 2 * bins, 0, ranks, room, call
        interpret.run(code, 1, 32, (*given, sums, answer, *numbers), check=True)
        assert answer.tolist() == [what == "all", 0], what
        assert heard[0] == (call if what in ("all", "another head") else 0), what
        spoken = boxes[1, 0, MESSAGE : MESSAGE + 2 * bins]
        assert spoken.any() == (what in ("all", "no counts"))  # counts are told where heads are known
        if what == "all":
            np.testing.assert_array_equal(sums, counts.sum(0))
            np.testing.assert_array_equal(spoken, row(call, words[0]))
