"""block.run_length_decode, against NumPy's repeat.

Tests of prism/lib/block: decode.
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
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(T=dtype, RUNS=constexpr(int), ITEMS=constexpr(int))
def decoded(
    values: ptr(const(T)) @ grid[1],
    lengths: ptr(const(int32)) @ grid[1],
    y: ptr(T) @ grid[1],
    total: ptr(int32) @ grid[1],
    first: int32 @ grid[1],
):
    with partition(y, block[1]) as target, partition(total, block[1]) as number, group(block[1]):
        t: int32 @ thread[1] = id()
        own: T[RUNS] @ thread[1]
        many: int32[RUNS] @ thread[1]
        with group(thread[1]):
            for r in range(RUNS):
                own[r] = values[t * RUNS + r]
                many[r] = lengths[t * RUNS + r]
        items: T[ITEMS] @ thread[1]
        whole: int32 = block.run_length_decode(own, many, first, items, 77, THREADS=64)
        block.store_striped(target, items, 64 * ITEMS)
        block.fill(number, whole, 1)


@pytest.mark.parametrize(
    ("runs", "items", "longest", "kind"), [(1, 2, 5, "int32"), (3, 4, 3, "uint8"), (2, 1, 40, "float64")]
)
def test_against_numpy(runs: int, items: int, longest: int, kind: str) -> None:
    random = np.random.default_rng(runs)
    values = random.integers(0, 70, 64 * runs).astype(kind)
    lengths = random.integers(0, longest, 64 * runs, dtype=np.int32)
    lengths[-5:] = 0
    wanted = np.repeat(values, lengths)
    for number, first in enumerate((0, 100, len(wanted) - 3, len(wanted) + 9)):
        y, total = np.zeros(64 * items, kind), np.zeros(1, np.int32)
        schedule, seed = SCHEDULES[number % len(SCHEDULES)]
        template = {"RUNS": runs, "ITEMS": items}
        decoded[1, 64](values, lengths, y, total, first, template=template, check=True, schedule=schedule, seed=seed)
        full = np.full(64 * items, 77, kind)
        here = wanted[first : first + 64 * items]
        full[: len(here)] = here
        assert total[0] == len(wanted) and np.array_equal(y, full)


def test_no_runs() -> None:
    y, total = np.zeros(64, np.int32), np.ones(1, np.int32)
    nothing = np.zeros(64, np.int32)
    decoded[1, 64](nothing, nothing, y, total, 0, template={"RUNS": 1, "ITEMS": 1}, check=True)
    assert total[0] == 0 and (y == 77).all()


def test_each_inferred_barrier_is_needed() -> None:
    mutants = list(without_barriers(package.check(decoded, {"T": "int32", "RUNS": 2, "ITEMS": 2})))
    assert mutants
    values, lengths = np.arange(128, dtype=np.int32), np.ones(128, np.int32)
    for _, mutant in mutants:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                arrays = (values, lengths, np.zeros(128, np.int32), np.zeros(1, np.int32), 0)
                run(mutant, 1, 64, arrays, check=True, schedule=schedule, seed=seed)


def test_it_compiles() -> None:
    assert package.compile(decoded, {"T": "float32", "RUNS": 2, "ITEMS": 4}).cubin
