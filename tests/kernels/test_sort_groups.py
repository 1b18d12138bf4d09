"""Whole numbers sorted by groups of their highest bits, on the reference machine with all its checks.

Tests of kernels/sort/groups.py, prism/lib/algorithms/sort/groups.py.
"""

import functools
from pathlib import Path

import numpy as np
import pytest

import prism
from prism.interpret import BoundsError, RaceError, UninitialisedError, run
from prism.kernels.sort import NONE, move_to_groups, sort_groups
from prism.lib.algorithms.sort import plan
from prism.lib.algorithms.sort.plan import keys_of
from prism.lib.algorithms.sort_rows.plan import Kind
from tests.kernels.test_sort import kind_of
from tests.kernels.test_sort_ranges import Device
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS, ITEMS, MOST, LOG = 64, 8, 4, 6
MANY = 1 << LOG
TILE = THREADS * ITEMS


@functools.cache
def mover():
    return prism.check(move_to_groups, {"K": "uint32", "THREADS": THREADS, "ITEMS": ITEMS, "BLOCKS": 1, "LOG": LOG})


@functools.cache
def sorter():
    sizes = {"THREADS": THREADS, "MOST": MOST, "BUCKETS": 11, "BLOCKS": 1, "LOG": LOG}
    return prism.check(sort_groups, {"K": "uint32", **sizes})


def uniform(n: int, dtype: str = "uint32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 32, n, dtype=np.uint32).view(dtype)


def check(x, *, descending=False, room=64, blocks=2, moves=None, sorts=None, **how) -> bool:
    """Sort an array, and compare with NumPy; say whether it was sorted. Else no result is written."""
    flip = np.uint32(keys_of(kind_of(x.dtype.name, NONE, descending)).flip)
    spare, ends, failed = np.zeros(MANY * room, np.uint32), np.zeros(MANY, np.uint32), np.zeros(1, np.uint32)
    y, bits = np.zeros(len(x), np.uint32), x.view(np.uint32)
    arguments = (bits, spare, ends, failed, len(x), room, flip)
    run(moves or mover(), blocks, THREADS, arguments, check=True, **how)
    run(sorts or sorter(), blocks, THREADS, (bits, spare, y, ends, failed, room, flip), check=True, **how)
    if failed[0]:
        assert not y.any()
        return False
    wanted = np.sort(x)[::-1] if descending else np.sort(x)
    assert y.tobytes() == wanted.tobytes()
    return True


def test_sizes_and_orders() -> None:
    for n in (1, 100, TILE - 1, TILE, TILE + 1, 3 * TILE + 77):
        assert check(uniform(n, seed=n))
    assert check(uniform(1500, "int32"))
    assert check(uniform(1500, "int32"), descending=True, blocks=3)
    assert check(uniform(1500), descending=True, blocks=1)


def test_groups_of_equal_keys() -> None:
    """One of more than a bucket takes is sorted by digits."""
    x = uniform(4 * TILE)
    x[::163] = x[0]
    assert check(x)
    x[:] = np.repeat(np.arange(MANY, dtype=np.uint32) << 26, -(-len(x) // MANY))[: len(x)]
    assert check(np.random.default_rng(0).permutation(x))


def test_the_highest_keys_are_told_from_what_is_not_there() -> None:
    x = uniform(2 * TILE + 5)
    x[::500] = 0xFFFFFFFF
    assert check(x)


@pytest.mark.parametrize("text", ["few groups", "equal", "half", "a group of many tiles"])
def test_uneven_keys_are_left(text: str) -> None:
    x = uniform(5 * TILE)
    if text == "few groups":
        x >>= 4
    elif text == "equal":
        x[:] = 5
    elif text == "half":
        x[::2] = 77
    else:  # fewer in each tile than makes it crowded
        x[::128] = 77
    assert not check(x, room=32 if text == "a group of many tiles" else 64)


@pytest.mark.parametrize(("schedule", "seed"), rarely(SCHEDULES, but=SCHEDULES[:3]))
def test_every_schedule(schedule: str, seed: int) -> None:
    assert check(uniform(2 * TILE + 3), schedule=schedule, seed=seed)


def test_which_sorts_are_by_groups() -> None:
    def launched(n: int, *, in_place: bool = False, **kind) -> bool:
        steps = plan.rows(Kind(**kind), 1, n, Device(), aligned=True, in_place=in_place).steps
        return "sort_groups" in {step.instance.kernel.__name__ for step in steps if hasattr(step, "instance")}

    assert launched(1 << 24, scalar="uint32") and launched(1 << 23, scalar="int32")
    assert not launched(1 << 22, scalar="uint32")
    assert not launched(1 << 24, scalar="float32") and not launched(1 << 24, scalar="uint64")
    assert not launched(1 << 25, scalar="uint32") and not launched(1 << 24, scalar="uint32", in_place=True)


@pytest.mark.slow
def test_each_inferred_barrier_is_needed() -> None:
    """Those of groups; of what they share with sorts by ranges, the tests of these."""
    x, half, missed = uniform(3 * TILE + 300), uniform(3 * TILE), []
    half[::2] = 77
    for name, one in (("moves", mover()), ("sorts", sorter())):
        for barrier, mutant in without_barriers(one):
            if Path(barrier.second.span.file).name != "groups.py":
                continue
            try:
                for schedule, seed in SCHEDULES:
                    for keys in (x, half):
                        check(keys, **{name: mutant}, schedule=schedule, seed=seed, blocks=1)
                missed.append(barrier.second.text)
            except (RaceError, UninitialisedError, BoundsError, AssertionError):
                pass
    assert not missed
