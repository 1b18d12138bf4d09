"""Sums of columns over groups of rows, beside NumPy's, on the reference machine.

Tests of kernels/rows/columns.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import MachineError, run
from prism.kernels.rows.columns import THREADS, sum_groups
from tests.kernels.test_rows import SCHEDULES
from tests.mutation import without_barriers

SHAPES = [(1, 4, 1, 4), (9, 300, 4, 4), (70, 1000, 8, 4), (67, 130, 16, 2), (300, 37, 64, 1)]
"""How many groups and columns there are, how many threads share a column, and how many columns each has."""


def check(groups: int, n: int, splits: int, width: int, both: bool, mutant: bool = False) -> None:
    given = np.random.default_rng(groups).integers(-50, 50, (2, groups, n)).astype(np.float32)
    template = {"A": "float32", "W": "float32", "BOTH": both, "SPLITS": splits, "WIDTH": width}
    programs = [prism.check(sum_groups, template)]
    if mutant:
        programs = [program for _, program in without_barriers(programs[0])]
        assert programs
    each = -(-n // (THREADS // splits * width))
    for program in programs:
        for schedule, seed in SCHEDULES:
            found = np.full((2, n), np.nan, np.float32)
            arguments = (*given, *found, groups, n, each)
            run(program, each * (1 + both), THREADS, arguments, check=True, schedule=schedule, seed=seed)
            assert np.array_equal(found[0], given[0].sum(0))
            assert np.array_equal(found[1], given[1].sum(0)) if both else np.isnan(found[1]).all()


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_columns_are_added_up_over_all_groups(shape: tuple[int, int, int, int], both: bool) -> None:
    check(*shape, both)


def test_sums_of_parts_wait_for_each_other() -> None:
    with pytest.raises((MachineError, AssertionError)):
        check(*SHAPES[2], True, mutant=True)
