"""Sorts of ranks that write into each other's windows, on threads: beside the library's of the whole array.

Tests of prism/dist: _merge, _sort. Tests of prism/lib/algorithms/merge: shards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.dist import _again, _merge
from tests.dist.ranks import Queued, Windows, cut, results

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("short", [0, 1 << 20])
@pytest.mark.parametrize("shards", ["ragged", "same", "even"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("lengths", [(200, 0, 301), (256, 256), (0, 0, 500), (100, 130, 70, 200)], ids=str)
def test_sorts(
    lengths: tuple[int, ...], descending: bool, shards: str, short: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_merge, "_SHORT", short)
    size = sum(lengths)
    x = RANDOM.integers(0, 7, size).astype("float32")  # many are equal
    values = RANDOM.integers(0, 1000, size)
    keys, beside = cut(x, lengths), cut(values, lengths)
    how: dict[str, Any] = {"descending": descending, "shards": shards}

    def work(c: Any) -> tuple[Any, int]:
        own, found = keys[c.rank], []
        for _ in range(3):  # in turn in one window and the other
            moved = prism.dist.sort_by_key(own, beside[c.rank], comm=c, **how)
            found.append((prism.dist.sort(own, comm=c, **how), prism.dist.argsort(own, comm=c, **how), *moved))
        return found, c.windows.sent

    given = results(len(lengths), work, Queued)
    order = prism.lib.argsort(x, descending=descending)
    for time in range(3):
        whole = [np.concatenate([found[time][k] for found, _ in given]) for k in range(4)]
        for found, right in zip(whole, (x[order], order, x[order], values[order]), strict=True):
            np.testing.assert_array_equal(found, right)
    # Each element is read once at most: 4 bytes, 4 and a position, 4 and a value; what is short by each other rank, without
    # positions.
    most = (4 + 4 + 12) * (len(lengths) - 1) if short else 4 + 12 + 12
    assert 0 < sum(sent for _, sent in given) <= 3 * size * most


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("lengths", [(200, 0, 301), (256, 256), (0, 0, 0), (100, 130, 70, 200)], ids=str)
def test_pieces(lengths: tuple[int, ...], descending: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are merged piece by piece, as they come."""
    monkeypatch.setattr(_merge, "_PIECE", 64)
    monkeypatch.setattr(_merge, "_SHORT", 0)
    x = RANDOM.integers(0, 90, sum(lengths)).astype("float32")
    x[::50] = np.nan
    keys = cut(x, lengths)
    given = results(
        len(lengths), lambda c: [prism.dist.sort(keys[c.rank], comm=c, descending=descending) for _ in range(2)], Queued
    )
    moved = results(len(lengths), lambda c: prism.dist.argsort(keys[c.rank], comm=c, descending=descending), Queued)
    np.testing.assert_array_equal(np.concatenate(moved), prism.lib.argsort(x, descending=descending))
    for time in range(2):
        shards = [one[time] for one in given]
        np.testing.assert_array_equal(np.concatenate(shards), prism.lib.sort(x, descending=descending))
        share = sum(lengths) / len(lengths)
        assert all(abs(len(one) - share) <= len(lengths) for one in shards)  # every element is a sample


@pytest.mark.parametrize(("narrow", "sent"), [(1 << 32, True), (900, False), (1, True)], ids=["all", "some", "none"])
def test_positions_travel_in_few_bytes(narrow: int, sent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where some ranks sorted short positions, and others' shards are too long for these, the engine sends."""
    monkeypatch.setattr(_merge, "_NARROW", narrow)
    monkeypatch.setattr(_merge, "_PIECE", 64)
    monkeypatch.setattr(_merge, "_SHORT", 0)
    _again.forget()
    x = RANDOM.integers(0, 90, 600).astype("float32")
    keys = cut(x, (200, 50, 350))
    right = prism.lib.argsort(x)

    def work(c: Any) -> tuple[Any, int]:
        return [prism.dist.argsort(keys[c.rank], comm=c) for _ in range(4)], c.windows.sent

    given = results(3, work, Queued)
    for time in range(4):
        whole = np.concatenate([found[time] for found, _ in given])
        np.testing.assert_array_equal(whole, right)
        assert whole.dtype == np.int64
    bytes_read = sum(one for _, one in given)
    assert (bytes_read > 0) == sent
    each = 8 if narrow > 900 else 12
    assert bytes_read <= 4 * 600 * each  # keys of 4 bytes, and positions
    assert not sent or bytes_read > 4 * 250 * each
    _again.forget()


def test_a_part_that_no_window_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine sends then, by the same cuts."""
    monkeypatch.setattr(_merge, "_SHORT", 0)
    monkeypatch.setattr(_merge, "_room_of", lambda whole, size: 1)
    monkeypatch.setattr(Windows, "LENGTH", 512)
    _again.forget()
    x = RANDOM.integers(0, 90, 600).astype("float32")
    keys = cut(x, (300, 300))

    def work(c: Any) -> tuple[Any, int]:
        return [prism.dist.argsort(keys[c.rank], comm=c) for _ in range(3)], c.windows.sent

    given = results(2, work, Queued)
    for time in range(3):
        np.testing.assert_array_equal(np.concatenate([found[time] for found, _ in given]), prism.lib.argsort(x))
    assert not any(sent for _, sent in given)
    _again.forget()
