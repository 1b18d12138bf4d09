"""Elements moved by pieces, and along many axes, on the reference machine, with all its checks: every way, schedules, barriers.

Kernels: kernels/transform: pieces, axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.host.axes import c_strides
from prism.host.machine import run_on_host
from prism.host.plan import Plan
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels.transform.pieces import GATHERED, RUNS, SCATTERED, SINGLE, STRAIGHT
from prism.lang.tree.plan import Program
from prism.lib.algorithms.copies.plan import moves_of, pieces_for, plan_move
from prism.runtime.arrays import describe
from tests.kernels.test_move_tiles import aligned, data
from tests.mutation import without_barriers

LONG = {"uint8": 8320, "uint16": 4160, "uint32": 2080}  # more of them, by 3, than a piece has
CASES = {
    RUNS: (((13, 3, 3), (0, 2, 1)), ((16, 33, 17), (0, 2, 1)), ((7, 5, 4, 3, 2), (0, 4, 2, 3, 1))),
    GATHERED: (((0, 3), (1, 0)), ((2, 0, 5), (0, 2, 1))),
    SCATTERED: (((3, 0), (1, 0)), ((2, 5, 0), (0, 2, 1))),
    SINGLE: (((1, 3), (1, 0)), ((3, 1), (1, 0)), ((5, 1, 3, 2), (3, 1, 2, 0))),
}
"""By ways: shapes, in which 0 stands for many and 1 for an odd number of them, and orders of axes."""
WAYS = [(way, number) for way, cases in CASES.items() for number in range(len(cases))]


def planned(shape: tuple[int, ...], axes: tuple[int, ...], kind: str, source: tuple[int, ...] = ()) -> Plan:
    """The plan of a permutation of arrays that begin at multiples of 16 bytes; `source`: strides, if not those of C order."""
    size = np.dtype(kind).itemsize
    steps = source or tuple(size * step for step in c_strides(shape))
    made = tuple(shape[k] for k in axes)
    move = moves_of(made, tuple(steps[k] for k in axes), tuple(size * step for step in c_strides(made)), size, (0, 0))
    return plan_move(move, (0, 0))


def permuted(shape: tuple[int, ...], axes: tuple[int, ...], kind: str, **options: Any) -> None:
    x, y = (make(int(np.prod(shape)), kind) for make in (data, aligned))
    x, y = x.reshape(shape), y.reshape(tuple(shape[k] for k in axes))
    run_on_host(planned(shape, axes, kind), {"x": describe(x), "out": describe(y)}, check=True, **options)
    assert y.tobytes() == x.transpose(axes).tobytes()


def case(way: int, number: int, kind: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape, with its numbers in it, and an order of axes."""
    shape, axes = CASES[way][number]
    return tuple({0: LONG[kind], 1: LONG[kind] + 1}.get(extent, extent) for extent in shape), axes


@pytest.mark.parametrize(("way", "number"), WAYS)
@pytest.mark.parametrize("kind", LONG)
def test_every_way(kind: str, way: int, number: int) -> None:
    shape, axes = case(way, number, kind)
    (step,) = planned(shape, axes, kind).steps
    assert dict(step.instance.template)["WAY"] == way  # type: ignore[union-attr]
    permuted(shape, axes, kind)


@pytest.mark.parametrize("kind", ["uint64", "complex128"])
def test_wide_elements(kind: str) -> None:
    for shape, axes in (((400, 3), (1, 0)), ((3, 400), (1, 0)), ((50, 4, 4), (0, 2, 1)), ((5, 7, 3, 2), (3, 1, 2, 0))):
        permuted(shape, axes, kind)


def test_without_shared_memory() -> None:
    """What is innermost in both: rows, repeated, backwards, apart."""
    x, y = data(60 * 50, "uint16").reshape(60, 50), aligned(3 * 60 * 20, "uint16").reshape(3, 60, 20)
    for view in (x[:, 7:47:2], x[::-1, 29:9:-1], np.broadcast_to(x[:, 3:4], (60, 20)), x[:1, :20].repeat(60, 0)):
        given = np.broadcast_to(view, (3, 60, 20))
        plan = plan_move(
            moves_of(given.shape, given.strides, y.strides, 2, (view.ctypes.data % 16, 0)), (view.ctypes.data % 16, 0)
        )
        (step,) = plan.steps
        assert dict(step.instance.template)["WAY"] == STRAIGHT  # type: ignore[union-attr]
        run_on_host(plan, {"x": describe(given), "out": describe(y)}, check=True)
        assert np.array_equal(y, given)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str) -> None:
    for way in CASES:
        permuted(*case(way, 0, "uint32"), "uint32", schedule=schedule)


@pytest.mark.parametrize("way", CASES)
def test_the_barrier_is_needed(way: int) -> None:
    kind = "uint32"
    shape, axes = case(way, 0, kind)
    (step,) = planned(shape, axes, kind).steps
    found = list(without_barriers(step.instance.program))  # type: ignore[union-attr]
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule in SCHEDULES:
                once(mutant, step, shape, kind, schedule)


def once(program: Program, step: Any, shape: tuple[int, ...], kind: str, schedule: str) -> None:
    """Run a step by another program."""
    x, y = data(int(np.prod(shape)), kind), aligned(int(np.prod(shape)), kind)
    numbers = [step.arguments[p.name] for p in step.instance.program.entry.parameters[2:]]
    run(program, step.blocks, step.threads, [x, y, *numbers], check=True, schedule=schedule, seed=0)


def test_axes_in_memory() -> None:
    """So many that they do not merge: by launches of the others, or by a table of axes."""
    rng = np.random.default_rng(0)
    for axes in (9, 14):
        shape, order = (2,) * axes, tuple(int(k) for k in rng.permutation(axes))
        plan = planned(shape, order[::-1], "uint16")
        permuted(shape, order[::-1], "uint16")
        assert ("move_axes" in {one.kernel.__name__ for one in plan.instances()}) == (axes == 14)


def test_the_kernels_for_the_device_do_not_spill() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    for size, way in ((1, SINGLE), (1, RUNS), (4, SCATTERED), (4, STRAIGHT)):
        one = pieces_for(size, way)
        assert prism.compile(one.kernel, dict(one.template)).spills == 0
