"""Pointers declared, copied, swapped, returned: what they name, and the barriers that this costs."""

# ruff: noqa: F821 - locals declared without a value

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.interpret import RaceError, UninitialisedError, run
from prism.lang import (
    block,
    const,
    constexpr,
    grid,
    group,
    id,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip

ARCHES = ["sm_80", "sm_90a"]


@prism("device")
@requires(block[1], thread[64])
@template(SWAP=constexpr(bool))
def ping_pong(x: ptr(int) @ block[1], x_buf: ptr(int) @ block[1], n: int @ block[1]):
    for _ in range(n):
        v: int @ thread[1] = x[(id() + 1) % 64]
        with partition(x_buf, thread[1], id()) as mine:
            with group(thread[1]):
                mine[0] = v + 1
        if SWAP:
            tmp: ptr(int) @ block[1] = x
            x = x_buf
            x_buf = tmp


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(SWAP=constexpr(bool))
def rotate(y: ptr(int) @ grid[1], n: int @ grid[1]):
    with partition(y, thread[1], id()) as out:
        with group(block[1]):
            one: shared(int[64]) @ block[1]
            two: shared(int[64]) @ block[1]
            with partition(one, thread[1], id()) as mine:
                with partition(two, thread[1], id()) as other:
                    with group(thread[1]):
                        mine[0] = out[0]
                        other[0] = 0
            ping_pong(one, two, n, SWAP=SWAP)
            with group(thread[1]):
                out[0] = one[0] if n % 2 == 0 else two[0]


def test_w5_a_swap_takes_one_barrier_a_trip():
    program = package.check(ping_pong, {"SWAP": True})
    barriers = program.plans[program.entry].barriers
    assert [(b.kind, b.loop) for b in barriers] == [("block", True)]


def test_without_the_swap_nothing_is_shared():
    program = package.check(ping_pong, {"SWAP": False})
    assert program.plans[program.entry].barriers == ()


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_rotation(n):
    program = package.check(rotate, {"SWAP": True})
    y = np.arange(64, dtype=np.int32)
    run(program, 1, 64, [y, n], check=True)
    assert y[0] == n + (n % 64)


def test_the_barrier_is_needed():
    program = package.check(rotate, {"SWAP": True})
    function = program.functions[0]
    plan = program.plans[function]
    with pytest.raises(RaceError):
        run(program.with_plan(plan.drop_step(plan.barriers[0])), 1, 64, [np.arange(64, dtype=np.int32), 3], check=True)


@pytest.mark.parametrize("arch", ARCHES)
def test_compiles(arch, nvrtc):
    assert nvrtc(package.compile(rotate, {"SWAP": True}, arch=arch).cuda, arch).cubin


# -- returned, chosen, of one thread --------------------------------------------------------------------------------------


@prism("device")
@requires(block[1], thread[32])
def later(x: ptr(int) @ block[1], y: ptr(int) @ block[1], n: int @ block[1]) -> ptr(int) @ block[1]:
    if n > 2:
        return y
    found: ptr(int) @ block[1] = x
    return found


@prism("global")
@requires(grid[1], block[1], thread[32])
def chosen(y: ptr(int) @ grid[1], z: ptr(const(int)) @ grid[1], w: ptr(const(int)) @ grid[1], n: int @ grid[1]):
    with partition(y, thread[1], id()) as out:
        with group(block[1]):
            one: shared(int[32]) @ block[1]
            two: shared(int[32]) @ block[1]
            with partition(one, thread[1], id()) as a:
                with partition(two, thread[1], id()) as b:
                    with group(thread[1]):
                        a[0] = 0
                        b[0] = 100
            best: ptr(int) @ block[1] = later(one, two, n)
            with partition(best, thread[1], 31 - id()) as mine:
                with group(thread[1]):
                    mine[0] = mine[0] + 1000
            t: int @ thread[1] = id()
            with group(thread[1]):
                q: ptr(const(int)) @ thread[1] = z if t % 2 == 0 else w
                if t > 20:
                    q = w
                out[0] = one[t] + two[t] + q[t]


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("check", [True, False])
def test_returned_and_chosen(n, check):
    y = np.zeros(32, np.int32)
    z, w = np.full(32, 7, np.int32), np.full(32, 9, np.int32)
    run(package.check(chosen), 1, 32, [y, z, w, n], check=check)
    t = np.arange(32)
    assert np.array_equal(y, 1100 + np.where((t % 2 == 0) & (t <= 20), 7, 9))


@pytest.mark.parametrize("arch", ARCHES)
def test_returned_compiles(arch, nvrtc):
    assert nvrtc(package.compile(chosen, arch=arch).cuda, arch).cubin


def test_a_pointer_that_points_nowhere():
    @prism("global")
    @requires(grid[1], thread[1])
    def f(y: ptr(int) @ grid[1], n: int @ grid[1]):
        q: ptr(int) @ grid[1]
        if n > 0:
            q = y
        with partition(q, thread[1], id()) as mine:
            with group(thread[1]):
                mine[0] = 1

    program = package.check(f)
    y = np.zeros(4, np.int32)
    run(program, 1, 4, [y, 1], check=True)
    assert y.tolist() == [1] * 4
    with pytest.raises(UninitialisedError):
        run(program, 1, 4, [y, 0], check=True)
