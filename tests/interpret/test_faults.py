"""Faults other than races, each at its line.

Tests of prism/interpret: arguments, checker, errors, frame, launch, pointers.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import BoundsError, DeadlockError, MisalignedError, UninitialisedError, run
from prism.lang import (
    block,
    const,
    grid,
    group,
    id,
    int32,
    load_relaxed,
    load_vector,
    mailbox,
    partition,
    prism,
    ptr,
    receive,
    requires,
    shared,
    thread,
    vector,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[32])
def shift(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], by: int32 @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(thread[1]):
            out[0] = x[g + by]


def test_bounds(program):
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    run(program(shift), 2, 32, [x, y, 0], check=True)
    for by, thread_, block_ in ((1, 31, 1), (-1, 0, 0), (32, 0, 1)):
        with pytest.raises(BoundsError) as caught:
            run(program(shift), 2, 32, [x, y, by], check=True)
        assert (caught.value.thread, caught.value.block) == (thread_, block_)
        assert "out[0] = x[g + by]" in str(caught.value)
    with pytest.raises(BoundsError):
        run(program(shift), 2, 32, [x, y, 1])


@prism("global")
@requires(grid[1], block[1], thread[32])
def locals_(y: ptr(int32) @ grid[1], case: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[32]) @ block[1]
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            a: int32[4] @ thread[1]
            b: int32 @ thread[1]
            z: int32 @ thread[1] = 0
            if t != 7:
                b = 1
                a[2] = 1
            a[1] = 3
            if case == 1:
                z = a[0]
            if case == 2:
                z = a[2]
            if case == 3:
                z = b
            if case == 4:
                z = s[t]
            if case == 5:
                z = a[t]
            if case == 6:
                a[t - 3] = 0
            if case == 7:
                z = s[t + 1]
            if case == 8:
                if t != 7:
                    z = a[2] + b
            if case == 9:
                for k in range(9):
                    z = z + a[1] * k
                z = z + a[3]


@pytest.mark.parametrize(
    ("case", "error", "at"),
    [
        (1, UninitialisedError, 0), (2, UninitialisedError, 7), (3, UninitialisedError, 7), (4, UninitialisedError, 0),
        (5, BoundsError, 4), (6, BoundsError, 0), (7, BoundsError, 31), (0, None, 0), (8, None, 0),
        (9, UninitialisedError, 0),
    ],
)  # fmt: skip
def test_locals(program, case, error, at):
    y = np.zeros(1, np.int32)
    if error is None:
        run(program(locals_), 1, 32, [y, case], check=True)
        return
    with pytest.raises(error) as caught:
        run(program(locals_), 1, 32, [y, case], check=True)
    assert caught.value.thread == at


@prism("global")
@requires(grid[1], block[1], thread[32])
def vectors(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], by: int32 @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(thread[1]):
            v: vector(int32, 4) @ thread[1] = load_vector(x[g * 4 + by], 4)
            w: vector(int32, 4) @ thread[1] = v
            v[1] = v[1] * 2
            out[0] = v[0] + v[1] + w[1] + v[3]


def test_alignment(program):
    raw = np.arange(4 * 32 + 16, dtype=np.int32)
    first = (-raw.__array_interface__["data"][0] // 4) % 4
    x, y = raw[first : first + 132], np.zeros(32, np.int32)
    for check in (False, True):
        run(program(vectors), 1, 32, [x, y, 0], check=check)
        q = x[:128].reshape(32, 4)
        assert np.array_equal(y, q[:, 0] + 3 * q[:, 1] + q[:, 3])
    with pytest.raises(MisalignedError):
        run(program(vectors), 1, 32, [x, y, 2], check=True)
    with pytest.raises(MisalignedError):
        run(program(vectors), 1, 32, [x[1:], y, 0], check=True)


@prism("global")
@requires(grid[1], block[1], thread[32])
def waits(boxes: ptr(mailbox(int32)) @ grid[1]):
    with group(block[1]):
        v: int32[1] @ thread[1]
        with group(thread[1]):
            receive(boxes[0], v, 1, 1, 0, 3)


def test_deadlock(program):
    with pytest.raises(DeadlockError) as caught:
        run(program(waits), 2, 32, [np.zeros(1, np.uint64)], check=True)
    assert "receive(boxes[0]" in str(caught.value)


@prism("global")
@requires(grid[1], block[1], thread[32])
def spins(flag: ptr(int32) @ grid[1]):
    with group(thread[1]):
        while True:
            if load_relaxed(flag[0]) != 0:
                break


def test_spinning_for_ever(program):
    run(program(spins), 2, 32, [np.ones(1, np.int32)])
    with pytest.raises(DeadlockError):
        run(program(spins), 2, 32, [np.zeros(1, np.int32)])
