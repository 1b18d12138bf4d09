"""Certificates of loops that are left in their middle: the last trip does not go on to what stands behind the jump.

Tests of prism/lang/skeleton: last_trips.
"""
# ruff: noqa: F821 -- names that kernels declare

from __future__ import annotations

import importlib

import numpy as np
import pytest

import prism
from prism.interpret import MachineError, run
from prism.lang import attr, block, const, grid, group, id, int32, partition, ptr, requires, shared, thread
from prism.lang.certify import ACCEPTED, REJECTED, check_text
from prism.lang.pipeline import build
from prism.lang.skeleton.last_trips import LastTrips, end_trip, go_on
from prism.lang.tree.plan import Program
from prism.lang.types.perspective import BLOCK, THREAD
from prism.lib import artifacts, shipped_kernels
from tests.certificates import certified
from tests.mutation import TRIED, without_barriers


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def until_found(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """The barrier at the trip's end is met by who goes on alone; who leaves meets one of its own."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        k: int32 @ block[1] = 0
        while True:
            with partition(s, thread[1], t) as mine, group(thread[1]):
                mine[0] = x[64 * k + t] + k
            if k == n:
                with partition(out, thread[1], t) as mine, group(thread[1]):
                    mine[0] = s[t ^ 63] + s[t ^ 1]
                break
            k += 1


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def other_parts(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """In its last trip a thread writes what another one wrote in the trip before: the parts are apart in one trip alone."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        for k in range(0, 9):
            if k == n:
                with partition(s, thread[1], (t + k) % 64) as mine, group(thread[1]):
                    mine[0] = k
                break
            if k + 1 == n:
                with partition(s, thread[1], (t + k) % 64) as mine, group(thread[1]):
                    mine[0] = x[t]
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = s[t]


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def out_of_both(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """A loop in a loop, which are left by a jump each, one of them behind `continue`."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
        for k in range(0, 5):
            if k == n - 2:
                total += 1
                continue
            for j in range(0, 5):
                with partition(s, thread[1], t) as mine, group(thread[1]):
                    mine[0] = x[t] + j
                if j == n:
                    break
                total += s[t ^ 5]
            if k == 3 - n:
                total += s[t ^ 7]
                break
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = total + s[t ^ 9]


KERNELS = (until_found, other_parts, out_of_both)


def is_reported(program: Program) -> bool:
    for n in (0, 1, 3, 4, 8):
        for schedule, seed in TRIED:
            arrays = [np.arange(64 * 9, dtype=np.int32), np.zeros(128, np.int32)]
            try:
                run(program, 2, 64, [*arrays, n], check=True, schedule=schedule, seed=seed)
            except MachineError:
                return True
    return False


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_a_race_of_a_loop_that_is_left_is_rejected(kernel: prism.Kernel) -> None:
    program = prism.check(kernel)
    found = certified(program)
    assert found.finding.status == ACCEPTED and check_text(str(found)) == found.finding
    assert not is_reported(program)
    mutants = without_barriers(program)
    assert mutants
    for barrier, changed in mutants:
        said = certified(changed)
        assert (said.finding.status, said.finding.rule) == (REJECTED, "race"), barrier.before.span.line
        assert check_text(str(said)) == said.finding
        assert is_reported(changed), barrier.before.span.line


def test_a_kernel_that_ships_and_is_left_in_the_middle_of_its_loop() -> None:
    references = map(artifacts._reference, shipped_kernels.instances("sm_90a"))
    one = next(one for one in references if one.kernel[1] == "sort_wide")
    template = {key: artifacts._resolve(value) for key, value in one.template}
    found = certified(build(importlib.import_module(one.kernel[0]).sort_wide, template))
    assert found.finding.status == ACCEPTED and check_text(str(found)) == found.finding


A, B, C, D = (("acc", n) for n in range(4))
LEFT = ("break",)


@pytest.mark.parametrize(
    ("body", "goes_on", "last"),
    [
        ((A, ("if", BLOCK, (B, LEFT), ()), C), (A, C), (A, B)),
        ((A, ("if", BLOCK, (B,), (LEFT,)), C), (A, B, C), (A,)),
        ((A, LEFT), None, (A,)),
        ((A, C), (A, C), None),
        (
            (("if", BLOCK, (A, LEFT), ()), B, ("if", BLOCK, (C, LEFT), ()), D),
            (B, D),
            (("if", THREAD, (A,), (B, C)),),
        ),
        ((("if", BLOCK, (("if", THREAD, (A, LEFT), (B,)), C), ()), D), (("if", BLOCK, (B, C), ()), D), (A,)),
        ((("if", BLOCK, (A, ("continue",)), (B,)), C, LEFT), None, (B, C)),
        ((("once", (A, LEFT)), B, LEFT), None, (("once", (A, LEFT)), B)),
        ((A, ("if", BLOCK, (("leave",),), ()), B), (A, B), (A, ("leave",))),
    ],
)
def test_trips_that_go_on_and_last_ones(body: object, goes_on: object, last: object) -> None:
    assert (go_on(body), end_trip(body, THREAD)) == (goes_on, last)  # type: ignore[arg-type]


def test_a_jump_from_where_not_all_come_stays() -> None:
    body = (("loop", 0, BLOCK, (("only", 0, 0, 32, (LEFT,)), A)),)
    assert LastTrips([], [], set()).peel(body) == body
