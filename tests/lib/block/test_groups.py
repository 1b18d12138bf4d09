"""block.reduce_groups and block.scan_groups: parts of a block, of any number of warps, kept apart; warp.reduce_across.

Tests of prism/lib/block: reduce, scan; prism/lib/warp/reduce.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import MachineError, run
from prism.lang import (
    attr,
    block,
    claim,
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
    roles,
    shared,
    template,
    thread,
    warp,
)
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.mutation import without_barriers


@prism("global")
@template(T=dtype, OP=function, ITEMS=constexpr(int), SIZE=constexpr(int), EXCLUSIVE=constexpr(bool))
@requires(grid[1], block[1], thread[SIZE])
@attr("__launch_bounds__(256)")
def groups(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1], identity: T @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i * ITEMS) as mine, partition(z, thread[1], offset=i) as own, group(block[1]):
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[i * ITEMS + k]
        total: T @ thread[SIZE] = block.scan_groups(items, identity, WIDTH=ITEMS, OP=OP, EXCLUSIVE=EXCLUSIVE, SIZE=SIZE)
        first: T @ thread[1] = x[i * ITEMS]
        sum: T @ thread[SIZE] = block.reduce_groups(first, OP=OP, SIZE=SIZE)
        with group(thread[SIZE]):
            total = OP(total, sum)  # at thread[SIZE]: its threads agree on both
        with group(thread[1]):
            own[0] = total
            for k in range(ITEMS):
                mine[k] = items[k]


@prism("global")
@template(T=dtype, OP=function)
@requires(grid[1], block[1], warp[4])
@attr("__launch_bounds__(128)")
def parts(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as mine, group(block[1]):
        scratch: shared(T[2])
        other: shared(T[2])
        two, last = roles(warp, 2, 1)
        with claim(scratch, two) as desk:
            value: T @ thread[1] = x[t]
            for _ in range(2):
                total: T @ thread[32] = warp.reduce_across(value, desk, OP=OP, SIZE=64)
                value = OP(value, total)
            with group(thread[1]):
                mine[0] = value
        with claim(other, last) as desk:
            alone: T @ thread[1] = x[t]
            alone = warp.reduce_across(alone, desk, OP=OP, SIZE=32)
            with group(thread[1]):
                mine[0] = alone


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("threads", "size", "items"), [(96, 32, 1), (128, 64, 2), (96, 96, 3), (256, 128, 1)])
def test_each_group_has_its_own(case: Case, threads: int, size: int, items: int, exclusive: bool) -> None:
    x = case.data(threads * items)
    template = {"OP": case.function, "ITEMS": items, "SIZE": size, "EXCLUSIVE": exclusive}
    for schedule, seed in SCHEDULES[:3]:
        y, z = np.zeros_like(x), np.zeros(threads, case.dtype)
        groups[1, threads](x, y, z, case.identity, template=template, check=True, schedule=schedule, seed=seed)
        for g in range(threads // size):
            run_ = x[g * size * items : (g + 1) * size * items]
            wanted = case.exclusive(run_) if exclusive else case.inclusive(run_)
            assert np.array_equal(y[g * size * items : (g + 1) * size * items], wanted)
            ends = np.array([case.inclusive(run_)[-1], case.inclusive(run_[::items])[-1]], case.dtype)
            assert (z[g * size : (g + 1) * size] == case.inclusive(ends)[-1]).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_roles_reduce_apart(case: Case) -> None:
    x = case.data(128)
    for schedule, seed in SCHEDULES:
        y = np.zeros_like(x)
        parts[1, 128](x, y, template={"OP": case.function}, check=True, schedule=schedule, seed=seed)
        two = x[:64]
        with np.errstate(over="ignore"):
            for _ in range(2):
                total = case.inclusive(two)[-1]
                two = np.array([case.meaning(v, total) for v in two], case.dtype)
        assert np.array_equal(y[:64], two)
        assert (y[64:96] == case.inclusive(x[64:96])[-1]).all()
        assert not y[96:].any()


def test_groups_wait_for_their_own_warps_only() -> None:
    template = {"T": "int32", "OP": CASES[0].function, "ITEMS": 1, "SIZE": 64, "EXCLUSIVE": False}
    program = package.check(groups, template)
    inside = [b for plan in program.plans.values() if "groups" in plan.function.name for b in plan.barriers]
    assert any(str(b.unit) == "thread[64]" for b in inside)
    x = CASES[0].data(128)
    for barrier, mutant in without_barriers(program):
        if str(barrier.unit) == "thread[64]":
            with pytest.raises(MachineError):
                run(mutant, 1, 128, (x, np.zeros_like(x), np.zeros_like(x), 0), check=True)
    assert package.compile(groups, template).cubin
    assert package.compile(parts, {"T": "float16", "OP": CASES[0].function}).cubin
