"""Arrays sorted by shares of keys, by blocks that all run at once, on the reference machine with all its checks.

Tests of kernels/sort/shares.py.
"""

import functools
from pathlib import Path

import numpy as np
import pytest

import prism
from prism.interpret import BoundsError, RaceError, UninitialisedError, run
from prism.kernels.sort import NONE, sort_shares
from prism.kernels.sort.shares import ROW
from prism.lib.algorithms.sort.plan import keys_of
from tests.kernels.test_sort import kind_of
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS = 256
SIZES = {"THREADS": THREADS, "ITEMS": 4, "MOST": 8, "BUCKETS": 11}
TILE = 4 * THREADS
FEWEST = 4 * THREADS
SPARE = [("shares.py", "exchange_shares(...)")]
"""Between a vote and the sums that stand where its votes stood."""


@functools.cache
def program(kind: int):
    return prism.check(sort_shares, {"K": "uint32", "KIND": kind, **SIZES})


def data(kind: str, n: int, dtype: str = "uint32", seed: int = 0) -> np.ndarray:
    """Return keys: uniform bits or normal numbers, in some order, or some of them equal."""
    random = np.random.default_rng(seed)
    if dtype == "float32":
        x = random.standard_normal(n).astype(np.float32)
    else:
        x = random.integers(0, 1 << 32, n, dtype=np.uint32).view(dtype)
    if kind in ("sorted", "reversed"):
        x = np.sort(x)[:: 1 if kind == "sorted" else -1]
    elif kind == "half":
        x = np.where(random.random(n) < 0.5, x[0], x)
    elif kind == "alike":  # more are equal than a bucket has, but of half as many in the sample not
        x[random.permutation(n)[:54]] = x[0]
    elif kind == "highest":
        x[::1000] = np.iinfo(dtype).max
    return np.ascontiguousarray(x)


def check(x, *, descending=False, mutant=None, in_place=False, sizes=None, **how) -> bool:
    """Sort an array, and compare with NumPy; say whether it was sorted. Else nothing is written."""
    keys = keys_of(kind_of(x.dtype.name, NONE, descending))
    n, tiles = len(x), -(-len(x) // TILE)
    before = x.view(np.uint32).copy()
    y = before if in_place else np.full(n, 0x12345678, np.uint32)
    failed = np.full(tiles, 77, np.uint32)
    arguments = (
        before, np.zeros(n, np.uint32), y, np.full(ROW * tiles, 0xABCD1234, np.uint32), failed, n, tiles,
        np.uint32(keys.flip), np.uint32(keys.lowest),
    )  # fmt: skip
    run(mutant or program(keys.kind), tiles, THREADS, arguments, check=True, **how)
    assert len(set(failed)) == 1 and failed[0] in (0, 1)
    if failed[0]:
        assert np.array_equal(y, x.view(np.uint32)) if in_place else bool((y == 0x12345678).all())
        return False
    wanted = np.sort(x)[::-1] if descending else np.sort(x)
    assert y.tobytes() == wanted.tobytes()
    return True


@pytest.mark.parametrize("dtype", ["uint32", "int32", "float32"])
@pytest.mark.parametrize("kind", ["random", "sorted", "reversed"])
def test_data_of_all_kinds(dtype: str, kind: str) -> None:
    assert check(data(kind, 4 * TILE + 99, dtype))


def test_a_share_with_a_crowded_bucket_is_sorted_by_digits() -> None:
    for dtype in ("uint32", "float32"):
        assert check(data("alike", 4 * TILE + 99, dtype))


def test_sizes() -> None:
    for n in (FEWEST, FEWEST + 1, 3 * TILE - 1, 3 * TILE, 3 * TILE + 1):
        assert check(data("random", n, seed=n))


def test_a_falling_order_and_results_where_keys_were() -> None:
    for dtype in ("uint32", "float32"):
        assert check(data("random", 2500, dtype), descending=True, in_place=True)


def test_the_highest_keys_are_told_from_what_is_not_there() -> None:
    assert check(data("highest", 3000))
    assert check(data("highest", 3000, "int32"), descending=True)


@pytest.mark.parametrize("text", ["half one value", "one NaN", "one -0.0", "both"])
def test_keys_that_places_tell_apart_are_left(text: str) -> None:
    x = data("random", 3000, "float32")
    if text == "half one value":
        x = data("half", 3000)
    if text in ("one NaN", "both"):
        x[2999] = np.nan
    if text in ("one -0.0", "both"):
        x[1500] = -0.0
    assert not check(x)
    assert not check(x, in_place=True)


def test_a_share_that_is_too_full_is_told() -> None:
    """The sample looks at few keys: all that it does not look at are of one share, and differ."""
    n = 5 * TILE
    x = np.arange(n, dtype=np.uint32) + (1 << 31)
    number = np.arange(FEWEST)
    apart = n // FEWEST
    x[number * apart + number * 149 % apart] = np.random.default_rng(0).integers(0, 1 << 31, FEWEST, dtype=np.uint32)
    assert not check(x)


@pytest.mark.parametrize(("schedule", "seed"), rarely(SCHEDULES, but=SCHEDULES[:3]))
def test_every_schedule(schedule: str, seed: int) -> None:
    assert check(data("random", 2 * TILE + 3), schedule=schedule, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", rarely(range(3), but=[0]))
def test_each_inferred_barrier_is_needed(part: int) -> None:
    """But for those that mend what no additions have disordered, and for one between a vote and what it decides."""
    x, missed = data("random", 2 * TILE + 300), []
    found = list(without_barriers(program(0)))[part::3]
    assert found
    for barrier, mutant in found:
        try:
            for schedule, seed in SCHEDULES:
                for one in (x, data("half", len(x)), data("alike", 4 * TILE)):
                    check(one, mutant=mutant, schedule=schedule, seed=seed)
            missed.append((Path(barrier.second.span.file).name, barrier.second.text))
        except (RaceError, UninitialisedError, BoundsError, AssertionError):
            pass
    assert not [one for one in missed if one[0] == "shares.py" and one not in SPARE]
