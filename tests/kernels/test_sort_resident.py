"""Arrays sorted by blocks that all run at once, on the reference machine with all its checks.

Tests of kernels/sort/resident.py, prism/lib/algorithms/sort/resident.py.
"""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import BoundsError, RaceError, UninitialisedError, run
from prism.kernels.sort import GIVEN, NONE, POSITIONS, sort_resident
from prism.lib.algorithms.sort.plan import keys_of
from tests.kernels.test_sort import MODES, hard, kind_of
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

TILE = 1024
SIZES = {"THREADS": 512, "ITEMS": 2, "BATCH": 2}


@functools.cache
def program(key: str, kind: int, mode: int):
    types = {"K": key, "V": "uint32", "VO": "int64", "KIND": kind, "VALUES": mode}
    return prism.check(sort_resident, {**types, **SIZES})


def last_of(n: int, keys) -> tuple:
    """The last arguments: numbers of any content, sizes, and the order."""
    tiles, key = -(-n // TILE), np.dtype(keys.type).type
    numbers = np.full(128 * keys.size * tiles, 0xABCD1234, np.uint32)
    return numbers, n, tiles, max(0, 8 * keys.size - 16), key(keys.flip), key(keys.lowest), np.ones(1, np.uint32)


def check(x, mode: int, *, descending=False, mutant=None, **how) -> None:
    """Sort an array, and compare with NumPy."""
    keys = keys_of(kind_of(x.dtype.name, mode, descending))
    n, key = len(x), np.dtype(keys.type).type
    tiles = -(-n // TILE)
    y, values, given = np.zeros(n, key), np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32)
    places = np.zeros(n, np.int64)
    arguments = (
        x.view(keys.type),
        np.zeros(n, key),
        y,
        given,
        np.zeros(n, np.uint32),
        values,
        places,
        *last_of(n, keys),
    )
    run(mutant or program(keys.type, keys.kind, mode), tiles, 512, arguments, check=True, **how)
    wide = x.astype(np.float64)
    order = np.argsort(-wide if descending else wide, kind="stable")
    if mode == POSITIONS:
        assert np.array_equal(places, order)
        return
    found, wanted = y.view(x.dtype), x[order]
    assert np.array_equal(found, wanted, equal_nan=x.dtype.kind == "f")
    numbers = wanted == wanted  # NaNs alone stand in the order of their bits
    assert np.array_equal(found[numbers].view(np.uint8), wanted[numbers].view(np.uint8))
    assert mode == NONE or np.array_equal(values, order)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize(
    ("scalar", "mode"),
    rarely(
        [(scalar, mode) for scalar in ("uint8", "int16", "float16", "uint32", "float32") for mode in MODES],
        but=[("uint32", NONE), ("float16", NONE), ("float16", POSITIONS), ("int16", GIVEN)],
    ),
)
def test_numbers_of_all_kinds(scalar: str, mode: int) -> None:
    check(hard(scalar, 2 * TILE + 99), mode)


def test_sizes() -> None:
    for n in (1, 31, TILE - 1, TILE, TILE + 1, 3 * TILE):
        check(hard("uint8", n, n), NONE if n % 3 else POSITIONS)


def test_more_than_two_passes() -> None:
    check(hard("uint32", TILE + 77), GIVEN)


@pytest.mark.parametrize("mode", MODES)
def test_a_falling_order_keeps_that_of_equals(mode: int) -> None:
    check(hard("float16", TILE + 500), mode, descending=True)


@pytest.mark.parametrize("share", [0.3, 0.97, 1])
def test_one_number_very_often(share: float) -> None:
    random = np.random.default_rng(1)
    x = np.where(random.random(1900) < share, 255, random.integers(0, 256, 1900)).astype(np.uint8)
    for mode in MODES:
        check(x, mode)


@pytest.mark.parametrize(("schedule", "seed"), rarely(SCHEDULES, but=SCHEDULES[:3]))
def test_every_schedule(schedule: str, seed: int) -> None:
    for mode in MODES:
        check(hard("uint16", TILE + 3), mode, schedule=schedule, seed=seed)
    x = hard("uint16", 1000) & 0xC7C7  # the largest digit is that of the last ones, and of what fills the tile up
    x[-20:] = 0xFFFF
    x[-20::2] = 0x3FFF
    check(x, NONE, schedule=schedule, seed=seed)


def test_results_may_be_what_is_read() -> None:
    keys = keys_of(kind_of("uint16", NONE))
    x = hard("uint16", 2 * TILE + 5)
    want, none = np.sort(x), np.zeros(1, np.uint32)
    arguments = (x, np.zeros_like(x), x, none, none, none, np.zeros(1, np.int64), *last_of(len(x), keys))
    run(program("uint16", keys.kind, NONE), 3, 512, arguments, check=True)
    assert np.array_equal(x, want)


@pytest.mark.parametrize("mode", rarely(list(MODES), but=[GIVEN]))
def test_each_inferred_barrier_is_needed(mode: int) -> None:
    x = hard("uint32", 1100)
    often = np.where(np.random.default_rng(0).random(1100) < 0.5, x[7], x[::-1]).astype("uint32")
    found = list(without_barriers(program("uint32", 0, mode)))
    assert found
    for barrier, mutant in found:
        with pytest.raises((RaceError, UninitialisedError, BoundsError, AssertionError)):
            for schedule, seed in SCHEDULES:
                for data in (x, often):
                    check(data, mode, mutant=mutant, schedule=schedule, seed=seed)
            print(barrier.unit, barrier.first.span, barrier.second.span)
