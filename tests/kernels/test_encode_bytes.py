"""Run lengths of long arrays of bytes, on the reference machine, with all its checks."""

import functools
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.select import encode_bytes
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers


@functools.cache
def program(width: int = 16) -> Any:
    template = {"THREADS": 64, "ITEMS": 64, "WIDTH": width, "BLOCKS": 1, "WORDS": 1}
    return prism.check(encode_bytes, template)


def encode(
    n: int, share: float = 0.3, *, blocks: int = 3, room: int | None = None, y_skew: int = 0, skew: int = 0, code: Any = None,
    scratch: Any = None, **options: Any,
) -> None:  # fmt: skip
    """Find runs of `n` bytes, and compare with the definition; what is before and behind stays."""
    x = (np.cumsum(np.random.default_rng(n).random(n) < share) % 7).astype(np.uint8)
    begins = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
    lengths, room = np.diff(np.append(begins, n)), n if room is None else room
    y = np.full(room + 18, 77, np.uint8)[max(y_skew, 0) :]
    found, kept = np.full(room + 18, -7)[max(y_skew, 0) :], np.zeros(1, np.int64)
    words, control = scratch or (np.zeros(n // 1000 + 8, np.uint64), np.zeros(1, np.uint64))
    given = (x, y, found, kept, n, room, skew, y_skew, np.uint8(0), np.uint8(0), words, words.size, control)
    run(code or program(), blocks, 64, given, check=True, **options)
    assert kept[0] == begins.size
    there = min(room, begins.size)
    assert np.array_equal(y[:there], x[begins[:there]]) and (y[there:] == 77).all()
    assert np.array_equal(found[:there], lengths[:there]) and (found[there:] == -7).all()


def test_values_and_lengths() -> None:
    """Of rows with few starts, which are looked for, and of rows with many, whose bits are asked one by one."""
    for n in (1, 31, 4095, 4096, 4097, 9000):
        for share, skew in ((0, 0), (0.05, -1), (0.3, 0), (0.9, 0), (1, 0)):
            encode(n, share, skew=skew)
    encode(20000, 0.001)
    encode(9000, 0.1, code=program(width=32))


def test_any_place_and_room() -> None:
    for y_skew in (-1, 1):
        for share in (0.05, 0.8):
            encode(9000, share, y_skew=y_skew)
    for room in (0, 1, 300, 1201):
        encode(9000, 0.3, room=room)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    encode(14000, blocks=2, schedule=schedule, seed=seed)


def test_nothing_is_cleared_between_launches() -> None:
    scratch = np.zeros(64, np.uint64), np.zeros(1, np.uint64)
    for number in range(1, 6):
        encode(3000 * number, blocks=number, scratch=scratch)
        assert scratch[1][0] == number << 32


def test_each_inferred_barrier_is_needed() -> None:
    found = list(without_barriers(program()))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                encode(14000, 0.8, blocks=2, code=mutant, schedule=schedule, seed=seed)
