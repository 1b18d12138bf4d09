"""The first of runs of keys, with values, on the reference machine, with all its checks.

Tests of prism/lib/algorithms/select: plan.
"""

import functools
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.select.pairs import unique_pairs
from prism.lib.algorithms.select.plan import Kind, held_as, paired_configurations, paired_of
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

SIZES = {"THREADS": 64, "ITEMS": 4, "WIDTH": 2, "BLOCKS": 1, "WORDS": 1}
KINDS = [("float32", "float32"), ("uint8", "uint64"), ("uint16", "uint8")]


@functools.cache
def program(keys: str, values: str) -> Any:
    of_keys = {"T": keys, "H": held_as(keys), "TI": keys, "C": keys}
    return prism.check(unique_pairs, {**of_keys, "V": values, "HV": held_as(values), "VI": values, **SIZES})


def check(
    n: int, most: int, *, room: int | None = None, blocks: int = 3, kinds: tuple[str, str] = KINDS[0], code: Any = None,
    scratch: Any = None, skew: int = 0, **options: Any,
) -> None:  # fmt: skip
    """Find the first of the runs of `n` keys, up to `most` long, and compare with the definition; what is behind them stays."""
    random = np.random.default_rng(n + most)
    keys = np.repeat(np.arange(n) % 3, random.integers(1, most + 1, n))[:n].astype(kinds[0])
    values = random.integers(0, 200, n).astype(kinds[1])
    starts, room = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])), n if room is None else room
    outs, kept = [np.full(room + 16, 77, kind)[max(skew, 0) :] for kind in kinds], np.zeros(1, np.int64)
    words, control = scratch or (np.zeros(64, np.uint64), np.zeros(1, np.uint64))
    zeros = [np.zeros((), kind)[()] for kind in (*kinds, kinds[0])]
    given = (keys, values, *outs, kept, n, room, -1, -1, skew, *zeros, words, 64, control)
    run(code or program(*kinds), blocks, 64, given, check=True, **options)
    there = min(room, starts.size)
    assert kept[0] == starts.size
    for out, of in zip(outs, (keys, values), strict=True):
        assert np.array_equal(out[:there], of[starts][:there]) and (out[there:] == 77).all()


@pytest.mark.parametrize("kinds", KINDS)
def test_pairs(kinds: tuple[str, str]) -> None:
    for n in (1, 2, 255, 256, 257, 511, 513, 3000):
        for most in (1, 3, 2000):
            check(n, most, kinds=kinds)


@pytest.mark.parametrize("kinds", KINDS)
def test_results_at_any_place(kinds: tuple[str, str]) -> None:
    for skew in (-1, *range(4)):
        check(700, 2, kinds=kinds, skew=skew)


def test_no_more_than_there_is_room_for() -> None:
    for most in (1, 3, 900):
        for room in (0, 1, 2, 255, 256, 257):
            check(1397, most, room=room)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    for blocks, most in ((1, 3), (2, 400), (8, 2)):
        check(2100, most, blocks=blocks, schedule=schedule, seed=seed)


def test_nothing_is_cleared_between_launches() -> None:
    scratch = np.zeros(64, np.uint64), np.zeros(1, np.uint64)
    for number in range(1, 6):
        check(200 * number, 1 + number % 3, blocks=number, scratch=scratch)
        assert scratch[1][0] == number << 32


def test_each_inferred_barrier_is_needed() -> None:
    found = list(without_barriers(program(*KINDS[0])))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                check(1200, 2, blocks=2, code=mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize(
    ("key", "value"), rarely([("uint8", "uint8"), ("uint16", "uint16"), ("float32", "uint32"), ("uint64", "uint64"),
    ("uint8", "uint64"), ("float64", "complex128")], but=[("float32", "uint32")]),
)  # fmt: skip
def test_the_kernels_for_the_device_do_not_spill(key: str, value: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    keys, values = Kind(key, key, compared=key, own=True, edges=True), Kind(value, value)
    for c in paired_configurations(keys, values):
        assert prism.compile(unique_pairs, paired_of(keys, values, c)).spills == 0
