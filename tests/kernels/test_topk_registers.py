"""First elements of rows that registers hold, on the reference machine, with all its checks.

Tests of kernels/topk/registers.py, prism/lib/algorithms/topk/registers.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.host.axes import Collapsed
from prism.interpret import SCHEDULES, RaceError, UninitialisedError, run
from prism.kernels.topk import CROWD, top_held
from prism.lib.algorithms.topk.long import top_rows
from prism.lib.algorithms.topk.plan import Task
from tests.kernels.test_sort import Device
from tests.mutation import without_barriers

THREADS, ITEMS = 64, 8


def template(largest: bool, groups: int = 1, first: int = 64) -> dict[str, Any]:
    sizes = {"GROUPS": groups, "ITEMS": ITEMS, "BINS": 256, "ROOM": first + CROWD, "THREADS": THREADS, "BLOCKS": 1}
    return {"LARGEST": largest, **sizes}


def found(x: Any, k: int, largest: bool, groups: int = 1, program: Any = None, **how: Any) -> tuple[Any, Any, Any]:
    """Return values, positions and which rows failed."""
    rows, n = x.shape
    y, places, failed = np.zeros((rows, k), np.float32), np.full((rows, k), -1), np.full(rows, -1)
    program = program or prism.check(top_held, template(largest, groups, 64 * groups))
    given = (x.view(np.uint32).ravel(), y.view(np.uint32).ravel(), places.ravel(), failed, n, k, n)
    run(program, rows, THREADS, given, **{"check": True, **how})
    return y, places, failed


def check(x: Any, k: int, largest: bool, groups: int = 1, *, fails: int = 0, **how: Any) -> None:
    """Compare with NumPy, all rows but those that fail; `fails`: how many do."""
    y, places, failed = found(x, k, largest, groups, **how)
    order = np.argsort(-x if largest else x, axis=1, kind="stable")[:, :k]
    there = failed == 0
    assert int((~there).sum()) == fails
    assert np.array_equal(places[there], order[there])
    assert y[there].tobytes() == np.take_along_axis(x, order, 1)[there].tobytes()


def normal(rows: int, n: int) -> Any:
    return np.random.default_rng(n).standard_normal((rows, n)).astype(np.float32)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("n", "k", "groups"), [(512, 64, 1), (512, 100, 2), (512, 1, 1), (260, 30, 1), (400, 64, 2)])
def test_rows(n: int, k: int, groups: int, largest: bool) -> None:
    check(normal(3, n), k, largest, groups)


def test_equal_elements_and_zeros() -> None:
    """Positions tell their order; zeros of both signs are equal, and written as they stand."""
    random = np.random.default_rng(1)
    x = np.round(normal(2, 512) * 200) / 100
    check(x, 40, True)
    x = np.where(random.random((2, 512)) < 0.02, np.float32(-0.0), -np.abs(x) - np.float32(0.1))
    x[:, 7] = 0
    check(x.astype(np.float32), 20, True)


def test_rows_that_fail() -> None:
    """Infinite ones, of one value, with too many in a part; NaN that is not among the first does not matter."""
    x = normal(6, 512)
    x[0, 5] = np.inf
    x[1] = 3
    x[2] = np.where(np.arange(512) % 2, 2, x[2])
    x[3] = np.exp(25 * x[3])
    x[4, ::9] = np.nan
    check(x[:1], 30, True, fails=1)
    check(x, 30, True, fails=4)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule(schedule: str) -> None:
    check(normal(1, 512), 60, True, schedule=schedule, seed=2)


@pytest.mark.slow
def test_each_barrier_is_needed() -> None:
    x, missed = normal(1, 512), []
    for barrier, mutant in without_barriers(prism.check(top_held, template(True))):
        try:
            for schedule in SCHEDULES:
                check(x, 60, True, program=mutant, schedule=schedule)
            missed.append(barrier.second.text)
        except (RaceError, UninitialisedError, AssertionError):
            pass
    assert not missed


def test_which_rows_are_held() -> None:
    """Enough rows of float32 that begin at multiples of four, of so few elements; groups that have none don't count."""

    def launched(
        n: int, k: int, *, rows: int = 200, stride: int | None = None, scalar: str = "float32", skew: int = 0
    ) -> Any:
        view = Collapsed(rows, n, 1, n if stride is None else stride, 1, 0, 1, 1)
        steps = top_rows(Task(scalar, True), view, 1, k, skew, Device()).steps
        first = steps[0].instance
        return dict(first.template)["GROUPS"] if first.kernel is top_held else None

    assert launched(8192, 257) == launched(8192, 1024) == launched(4096, 1000) == launched(5000, 600) == 4
    assert launched(8192, 256) == launched(8192, 97) == launched(4096, 100) == launched(2000, 256) == 1
    assert launched(8192, 96) is None  # others are faster
    assert launched(1020, 256) is None  # a thread has none
    assert launched(5000, 1024) is None is launched(8192, 1025)  # of 5000 two groups in four have elements
    assert launched(8196, 300) is launched(8190, 300) is launched(8192, 300, stride=8194) is None
    assert launched(8192, 300, rows=127) is launched(8192, 300, skew=1) is launched(8192, 300, scalar="int32") is None
