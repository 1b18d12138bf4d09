"""block.reduce_apart: threads whose numbers differ by multiples of a number combine what they have, in teams.

Tests of prism/lib/block: reduce.
"""

# ruff: noqa: F821 - kernels declare registers without a value

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    block,
    const,
    constexpr,
    float32,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    struct,
    template,
    thread,
)
from prism.lang import prism as mark
from tests.mutation import without_barriers


@struct
class Pair:
    """A sum, and the largest."""

    total: int32
    most: float32


@mark("device")
@requires(thread[1])
def join(a: Pair @ thread[1], b: Pair @ thread[1]) -> Pair @ thread[1]:
    return Pair(a.total + b.total, max(a.most, b.most))


@mark("global")
@template(APART=constexpr(int), TEAM=constexpr(int), THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def apart(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], z: ptr(float32) @ grid[1]):
    """Of each team's first threads the sum and the largest that they get; the rest stays as it is."""
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as sums, partition(z, thread[1], offset=t) as most, group(block[1]):
        value: Pair @ thread[1] = Pair(x[t], float32(x[t]))
        value = block.reduce_apart(value, OP=join, APART=APART, TEAM=TEAM, THREADS=THREADS)
        with group(thread[1]):
            if t % TEAM < APART:
                sums[0] = value.total
                most[0] = value.most


CUTS = [
    (1, 32, 64),
    (8, 32, 32),
    (8, 128, 256),
    (32, 128, 128),
    (32, 32, 64),
    (64, 128, 128),
    (128, 128, 128),
    (1, 256, 256),
]
"""Threads apart, of a team, of a block: warps alone, several, none to add."""


def launch(cut: tuple[int, int, int], program: Any = None, **how: Any) -> bool:
    """Whether a launch gives what it must."""
    beside, team, threads = cut
    x = np.random.default_rng(team).integers(-50, 50, threads).astype(np.int32)
    y, z, first = np.zeros(threads, np.int32), np.zeros(threads, np.float32), np.arange(threads) % team < beside
    if program is None:
        apart[1, threads](x, y, z, template={"APART": beside, "TEAM": team, "THREADS": threads}, **how)
    else:
        run(program, 1, threads, (x, y, z), **how)
    parts = x.reshape(-1, team // beside, beside)
    right = np.array_equal(y[first], parts.sum(1).ravel()) and np.array_equal(z[first], parts.max(1).ravel())
    return right and not y[~first].any() and not z[~first].any()


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_sums_of_teams(cut: tuple[int, int, int]) -> None:
    assert all(launch(cut, check=True, schedule=schedule) for schedule in SCHEDULES)


def test_each_barrier_is_needed() -> None:
    """Between what threads leave and who reads it, and before they leave more; those of a warp need none."""
    of = lambda cut: prism.check(apart, template=dict(zip(("APART", "TEAM", "THREADS"), cut, strict=True)))
    assert not without_barriers(of((8, 32, 64)))
    mutants = without_barriers(of((8, 128, 128)))
    assert len(mutants) == 2
    for _, mutant in mutants:
        with pytest.raises(MachineError):
            launch((8, 128, 128), mutant, check=True)
