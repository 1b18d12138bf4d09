"""In which order the threads of a warp come in atomic updates: the schedule says it, and each order gives what it must.

Tests of prism/interpret: memory.
"""

# ruff: noqa: F821 - kernels' template parameters

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.interpret.memory import _add_in_turn
from prism.lang import (
    atomic_add,
    atomic_max,
    constexpr,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    template,
    thread,
)
from prism.lang import prism as prism_


@prism_("global")
@template(T=dtype, LARGEST=constexpr(bool))
@requires(grid[1], thread[32])
def turns(cells: ptr(T) @ grid[1], y: ptr(T) @ grid[1], width: T @ grid[1]):
    """What each thread finds in one of two cells, to which it adds its number and one, or of which it keeps the largest."""
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], t) as own, group(thread[1]):
        number: T = T(t)
        if LARGEST:
            own[0] = atomic_max(cells[number % width], number)
        else:
            own[0] = atomic_add(cells[number % width], number + 1)


def found(schedule: str, seed: int, kind: str, most: bool, width: int):
    cells, y = np.zeros(2, kind), np.full(32, 99, kind)
    program = prism.check(turns, {"T": kind, "LARGEST": most})
    run(program, 1, 32, (cells, y, width), check=True, schedule=schedule, seed=seed)
    return cells, y


def expected(order, most: bool, width: int):
    cells, y = [0, 0], [0] * 32
    for t in order:
        y[t], one = cells[t % width], t % width
        cells[one] = max(cells[one], t) if most else cells[one] + t + 1
    return cells, y


@pytest.mark.parametrize("most", [False, True])
@pytest.mark.parametrize("width", [1, 2])
def test_the_order_is_the_schedules(width: int, most: bool) -> None:
    for schedule in SCHEDULES:
        cells, y = found(schedule, 0, "int32", most, width)
        order = range(31, -1, -1) if schedule == "reversed" else range(32)
        assert cells.tolist() == expected(order, most, width)[0]
        assert (y.tolist() == expected(order, most, width)[1]) == (schedule != "random")


def test_random_orders_differ_and_can_be_repeated() -> None:
    every = {tuple(found("random", seed, "uint64", False, 1)[1]) for seed in range(6)}
    assert len(every) == 6 and tuple(found("random", 3, "uint64", False, 1)[1]) in every


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64"])
def test_additions_at_once_are_those_one_by_one(kind: str) -> None:
    """Each modulo 2^bits."""
    random, of = np.random.default_rng(0), np.iinfo(kind)
    for many in (0, 1, 7, 1024):
        data = random.integers(of.min, of.max, 5, dtype=kind, endpoint=True)
        index, amounts = random.integers(0, 5, many), random.integers(of.min, of.max, many, dtype=kind, endpoint=True)
        wanted, before = data.copy(), []
        with np.errstate(over="ignore"):
            for at, amount in zip(index, amounts, strict=True):
                before.append(wanted[at])
                wanted[at] += amount
        found_before = _add_in_turn(data, index, amounts)
        assert np.array_equal(data, wanted) and np.array_equal(found_before, np.array(before, kind))
