"""block.reduce and block.scan, against their definition; called again and again, each with its own barrier.

Tests of prism/lib/block: reduce, scan.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import RaceError, run
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    function,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
)
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.mutation import without_barriers


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, OP=function)
def sums(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], rounds: int32 @ grid[1]):
    with partition(y, block[1]) as target:
        with group(block[1]):
            t: int32 @ thread[1] = id()
            value: T @ thread[1] = x[t]
            sum: T @ block[1] = block.reduce(value, OP=OP)
            for _ in range(1, rounds):
                value = OP(sum, value)
                sum = block.reduce(value, OP=OP)
            with partition(target, thread[1], offset=t) as own:
                with group(thread[1]):
                    own[0] = sum


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, OP=function, ITEMS=constexpr(int), WIDTH=constexpr(int), EXCLUSIVE=constexpr(bool))
def tiles(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], totals: ptr(T) @ grid[1], n: int32 @ grid[1], identity: T @ grid[1]
):
    with partition(y, block[1]) as target:
        with partition(totals, block[1]) as results:
            with group(block[1]):
                t: int32 @ thread[1] = id()
                items: T[ITEMS] @ thread[1]
                block.load(x, items, n, identity, WIDTH=WIDTH, VECTORIZED=False)
                total: T @ block[1] = block.scan(items, identity, WIDTH=WIDTH, OP=OP, EXCLUSIVE=EXCLUSIVE)
                block.store(target, items, n, WIDTH=WIDTH, VECTORIZED=False)
                with partition(results, thread[1], offset=t) as own:
                    with group(thread[1]):
                        own[0] = total


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("threads", [32, 96, 1024])
def test_reduce(case: Case, threads: int) -> None:
    x = case.data(threads)
    y = np.zeros_like(x)
    for schedule, seed in SCHEDULES[: 4 if threads < 1024 else 1]:
        sums[1, threads](x, y, np.int32(1), template={"OP": case.function}, check=True, schedule=schedule, seed=seed)
        assert (y == case.inclusive(x)[-1]).all()


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("threads", "items", "width"), [(32, 1, 1), (96, 4, 2), (256, 4, 4)])
def test_scan(case: Case, threads: int, items: int, width: int, exclusive: bool) -> None:
    tile = threads * items
    for n in sorted({tile, tile - 1, min(33, tile), 1, 0}):
        x = case.data(n)
        template = {"OP": case.function, "ITEMS": items, "WIDTH": width, "EXCLUSIVE": exclusive}
        for schedule, seed in SCHEDULES[: 4 if n == tile else 1]:
            y, totals = np.zeros_like(x), np.zeros(threads, case.dtype)
            arguments = (x, y, totals, np.int32(n), case.identity)
            tiles[1, threads](*arguments, template=template, check=True, schedule=schedule, seed=seed)
            assert np.array_equal(y, case.exclusive(x) if exclusive else case.inclusive(x))
            assert (totals == (case.inclusive(x)[-1] if n else case.identity)).all()


def mutants(kernel, template):
    """The program, and one program for each inferred barrier, without it."""
    program = package.check(kernel, template)
    return program, without_barriers(program)


@pytest.mark.parametrize("rounds", [3])
def test_each_barrier_of_a_repeated_reduction_is_needed(rounds: int) -> None:
    case = CASES[0]
    program, without = mutants(sums, {"T": "int32", "OP": case.function})
    x, y = case.data(96), np.zeros(96, np.int32)
    run(program, 1, 96, (x, y, rounds), check=True)
    assert len(without) == 2  # between the warps' results and their reading; before the next round's results
    for barrier, mutant in without:
        with pytest.raises(RaceError):
            run(mutant, 1, 96, (x, y.copy(), rounds), check=True)
        assert barrier.kind == "block"


def test_each_barrier_of_a_scan_is_needed() -> None:
    case = CASES[0]
    _, without = mutants(tiles, {"T": "int32", "OP": case.function, "ITEMS": 4, "WIDTH": 2, "EXCLUSIVE": False})
    assert len(without) == 1
    x, y, totals = case.data(384), np.zeros(384, np.int32), np.zeros(96, np.int32)
    for _, mutant in without:
        with pytest.raises(RaceError):
            run(mutant, 1, 96, (x, y, totals, 384, 0), check=True)
