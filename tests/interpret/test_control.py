"""Branches and loops: each thread goes its own way, as the same code would alone.

Tests of prism/interpret: assign, expressions, scope, statements.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import run
from prism.lang import (
    block,
    device,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    thread,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[32])
def collatz(y: ptr(int32) @ grid[1], limit: int32 @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(thread[1]):
            n: int32 @ thread[1] = g + 1
            steps: int32 @ thread[1] = 0
            while n != 1:
                steps += 1
                if steps > limit:
                    steps = -1
                    break
                if n % 2 == 0:
                    n = n // 2
                    continue
                n = 3 * n + 1
            out[0] = steps


def alone(n: int, limit: int) -> int:
    steps = 0
    while n != 1:
        steps += 1
        if steps > limit:
            return -1
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return steps


@pytest.mark.parametrize("check", [False, True])
def test_while(program, check):
    y = np.zeros(128, np.int32)
    run(program(collatz), 2, 64, [y, 60], check=check)
    assert y.tolist() == [alone(n + 1, 60) for n in range(128)]


@device
@requires(thread[1])
def first_multiple(start: int32 @ thread[1], of: int32 @ thread[1]) -> int32 @ thread[1]:
    if of == 0:
        return -1
    for i in range(start, start + of):
        if i % of == 0:
            return i
    return -2


@prism("global")
@requires(grid[1], block[1], thread[32])
def calls(y: ptr(int32) @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(thread[1]):
            if g % 3 != 1:
                out[0] = first_multiple(g, g % 7)
            else:
                total: int32 @ thread[1] = 0
                for i in range(g % 5, g, 2):
                    if i % 4 == 3:
                        continue
                    total += i
                out[0] = total


def test_returns_and_loops_of_each_thread(program):
    expected = []
    for g in range(64):
        if g % 3 != 1:
            expected.append(-1 if g % 7 == 0 else next(i for i in range(g, g + 7) if i % (g % 7) == 0))
        else:
            expected.append(sum(i for i in range(g % 5, g, 2) if i % 4 != 3))
    for check in (False, True):
        y = np.zeros(64, np.int32)
        run(program(calls), 1, 64, [y], check=check)
        assert y.tolist() == expected


@prism("global")
@requires(grid[1], block[1], thread[32])
def arrays(y: ptr(int32) @ grid[1]):
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(block[1]):
            a: int32[4] @ thread[1]
            c: int32[3] @ block[1]
            for i in range(3):
                c[i] = 10 * i
            with group(thread[1]):
                for i in range(4):
                    a[i] = g + i
                old: int32 @ thread[1] = a[0]
                a[0] = a[1]
                a[1] = old
                a[g % 4] += 100
                out[0] = a[0] + 2 * a[1] + 3 * a[3 - g % 4] + c[g % 3]


def test_local_arrays(program):
    expected = []
    for g in range(32):
        a = [g + 1, g, g + 2, g + 3]
        a[g % 4] += 100
        expected.append(a[0] + 2 * a[1] + 3 * a[3 - g % 4] + 10 * (g % 3))
    for check in (False, True):
        y = np.zeros(32, np.int32)
        run(program(arrays), 1, 32, [y], check=check)
        assert y.tolist() == expected


@device
@requires(block[1], thread[32])
def fill(tile: ptr(int32) @ block[1], value: int32 @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], offset=2 * t) as mine:
        with group(thread[1]):
            mine[0] = value
            mine[1] = value + 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def views(y: ptr(int32) @ grid[1], stride: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], lambda i: i + id(block[1]) * stride) as part:
        with group(block[1]):
            with partition(part, block[1], offset=4) as shifted:
                fill(shifted, b * 1000)


def test_views_passed_on(program):
    y = np.zeros(200, np.int32)
    run(program(views), 2, 32, [y, 100], check=True)
    expected = np.zeros(200, np.int32)
    for b in range(2):
        expected[100 * b + 4 : 100 * b + 68] = [1000 * b, 1000 * b + 1] * 32
    assert np.array_equal(y, expected)
