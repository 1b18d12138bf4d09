"""block.reduce_into and block.reduce_valid, against their definition; called again and again.

Tests of prism/lib/block/reduce.py.
"""

import numpy as np
import pytest

import prism as package
from prism.interpret import RaceError, run
from prism.lang import (
    block,
    const,
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
def into(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], offset=2 * b) as target, group(block[1]):
        t: int32 @ thread[1] = id()
        value: T @ thread[1] = x[b * n + t]
        block.reduce_into(target, value, OP=OP)
        with partition(target, block[1], offset=1) as second:
            block.reduce_into(second, OP(value, value), OP=OP)


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, OP=function)
def valid_ones(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], valid: int32 @ grid[1], otherwise: T @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as mine, group(block[1]):
        value: T @ thread[1] = otherwise
        with group(thread[1]):
            if t < valid:
                value = x[t]
        sum: T @ block[1] = block.reduce_valid(value, valid, otherwise, OP=OP)
        with group(thread[1]):
            mine[0] = sum


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("threads", [32, 96, 1024])
def test_one_thread_writes(case: Case, threads: int) -> None:
    x = case.data(2 * threads)
    for schedule, seed in SCHEDULES[: 4 if threads < 1024 else 1]:
        y = np.zeros(4, case.dtype)
        into[2, threads](x, y, threads, template={"OP": case.function}, check=True, schedule=schedule, seed=seed)
        with np.errstate(over="ignore"):
            doubled = np.array([case.meaning(v, v) for v in x], case.dtype)
        halves = (x[:threads], doubled[:threads], x[threads:], doubled[threads:])
        assert np.array_equal(y, [case.inclusive(half)[-1] for half in halves])


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("threads", [32, 96, 256])
def test_only_some_threads(case: Case, threads: int) -> None:
    otherwise = case.data(20, seed=1)[-1]
    for valid in {-3, 0, 1, 31, 32, 33, threads - 1, threads, 2**31 - 1}:
        x = case.data(max(min(valid, threads), 0))
        y = np.zeros(threads, case.dtype)
        valid_ones[1, threads](x, y, valid, otherwise, template={"OP": case.function}, check=True)
        assert (y == (case.inclusive(x)[-1] if len(x) else otherwise)).all()


def test_each_barrier_is_needed_and_they_compile() -> None:
    template = {"T": "int32", "OP": CASES[0].function}
    program = package.check(into, template)
    x = CASES[0].data(96)
    mutants = without_barriers(program)
    assert len(mutants) == 1  # in each call one: the second call's scratch is other memory
    for _, mutant in mutants:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                run(mutant, 1, 96, (x, np.zeros(2, np.int32), 96), check=True, schedule=schedule, seed=seed)
    assert package.compile(into, template).cubin and package.compile(valid_ones, {**template, "T": "float64"}).cubin
