"""Parts of tiles as arguments of functions that take tiles: what they compute, and as what lines.

Tests of prism/lang/check/pieces.py.
"""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import SCHEDULES
from prism.lang import (
    CUtensorMap, attr, block, claim, column, const, constexpr, count, dtype, float32, fragment, grid, group, half, id, int32,
    one, partition, ptr, requires, roles, row, shared, template, thread, tma_load, warpgroup, wgmma,
)  # fmt: skip
from prism.lang import prism as mark
from tests.lang.check.test_inlined import steps
from tests.lang.check.test_inlined_roles import same_code

random = np.random.default_rng(3)


@mark("device")
@template(T=dtype, N=constexpr(int), M=constexpr(int))
@requires(block[1], thread[64])
def fill(tile: shared(T[N, M]) @ block[1], first: int32 @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], lambda k: (k, t % M), races="allow") as mine, group(thread[1]):
        for k in range(N):
            mine[k] = first + M * k + t % M


@mark("device")
@template(T=dtype, N=constexpr(int), M=constexpr(int))
@requires(thread[1])
def total(tile: const(shared(T[N, M])) @ thread[1], at: int32 @ thread[1]) -> int32 @ thread[1]:
    found: int32 = 0
    for k in range(N):
        found += tile[k, (at + k) % M]
    return found


@mark("device")
@requires(thread[1])
def corner(tile: const(shared(int32[4, 8])) @ thread[1], at: int32 @ thread[1]) -> int32 @ thread[1]:
    return total(tile, at, N=4, M=8) - total(tile[1, 2], 0, N=2, M=2) + tile[3, 7]


@mark("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def quarters(y: ptr(int32) @ grid[1], k: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        tile: shared(int32[8, 16])
        t: int32 @ thread[1] = id()
        fill(tile[0, 0], 0, N=4, M=8)
        fill(tile[0, 8], 100, N=4, M=8)
        fill(tile[4, 8 * k], 200, N=4, M=8)
        with partition(tile, block[1], lambda i, j: (4 + i, 8 - 8 * k + j)) as last:
            fill(last, 300, N=4, M=8)
        with partition(out, thread[1], t) as mine, group(thread[1]):
            i: int32 = t // 32 * 4
            mine[0] = corner(tile[i, t // 16 % 2 * 8], t)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_parts_are_filled_and_read(schedule):
    y = np.zeros(64, np.int32)
    quarters[1, 64](y, 1, check=True, schedule=schedule)
    quarter = np.arange(32).reshape(4, 8)
    whole = np.block([[quarter, quarter + 100], [quarter + 300, quarter + 200]])
    for t in range(64):
        part = whole[t // 32 * 4 :, t // 16 % 2 * 8 :][:4, :8]
        found = sum(part[k, (t + k) % 8] for k in range(4)) - part[1, 2] - part[2, 3] + part[3, 7]
        assert y[t] == found


@mark("device")
@template(N=constexpr(int))
@requires(warpgroup[1])
def multiply(
    acc: fragment(float32, 64, N) @ warpgroup[1], a: const(shared(half[64, 64], swizzle=128)) @ warpgroup[1],
    b: const(shared(half[N, 64], swizzle=128)) @ warpgroup[1],
):  # fmt: skip
    wgmma(acc, a, b)


@mark("device")
@requires(warpgroup[1])
def bring(
    tile: shared(half[64, 64], swizzle=128) @ warpgroup[1], x: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1],
    i: int32 @ warpgroup[1], k: int32 @ warpgroup[1],
):  # fmt: skip
    with one(thread):
        tma_load(tile, x[i, k])


@mark("global")
@requires(grid[1], block[1], warpgroup[3])
@attr("__launch_bounds__(384)")
def product(
    x: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1], b: const(CUtensorMap(half, 32, 64, swizzle=128)) @ grid[1],
    c: ptr(float32) @ grid[1], k: int32 @ grid[1],
):  # fmt: skip
    with partition(c, block[1], races="none") as out, group(block[1]):
        a: shared(half[128, 64], ring=2, swizzle=128)
        d: shared(half[32, 64], ring=2, swizzle=128)
        sums: fragment(float32, 64, 32) @ warpgroup[1] = 0
        w: int32 @ warpgroup[1] = id()
        consumers, loader = roles(warpgroup, 2, 1)
        for step in range(0, k, 64):
            with claim(a, loader) as sa, claim(d, loader) as sd:
                with one(thread):
                    tma_load(sd, b[0, step])
                for i in range(0, 128, 64, unroll=True):
                    bring(sa[i, 0], x, i, step)
            with claim(a, consumers) as sa, claim(d, consumers) as sd, group(warpgroup[1]):
                multiply(sums, sa[64 * w, 0], sd)
        with partition(out, thread[1], lambda y, z: y * 32 + z, races="none") as mine, consumers, group(thread[1]):
            for e in range(count(sums)):
                mine[64 * w + row(sums, e), column(sums, e)] = sums[e]


@mark("global")
@requires(grid[1], block[1], warpgroup[3])
@attr("__launch_bounds__(384)")
def product_by_hand(
    x: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1], b: const(CUtensorMap(half, 32, 64, swizzle=128)) @ grid[1],
    c: ptr(float32) @ grid[1], k: int32 @ grid[1],
):  # fmt: skip
    with partition(c, block[1], races="none") as out, group(block[1]):
        a: shared(half[128, 64], ring=2, swizzle=128)
        d: shared(half[32, 64], ring=2, swizzle=128)
        sums: fragment(float32, 64, 32) @ warpgroup[1] = 0
        w: int32 @ warpgroup[1] = id()
        consumers, loader = roles(warpgroup, 2, 1)
        for step in range(0, k, 64):
            with claim(a, loader) as sa, claim(d, loader) as sd:
                with one(thread):
                    tma_load(sd, b[0, step])
                for i in range(0, 128, 64, unroll=True):
                    with one(thread):
                        tma_load(sa[i, 0], x[i, step])
            with claim(a, consumers) as sa, claim(d, consumers) as sd, group(warpgroup[1]):
                wgmma(sums, sa[64 * w, 0], sd)
        with partition(out, thread[1], lambda y, z: y * 32 + z, races="none") as mine, consumers, group(thread[1]):
            for e in range(count(sums)):
                mine[64 * w + row(sums, e), column(sums, e)] = sums[e]


@pytest.mark.parametrize("schedule", ["round-robin", "late", "random"])
def test_parts_of_swizzled_copies(schedule):
    a, b = random.integers(-3, 4, (128, 128)).astype(np.float16), random.integers(-3, 4, (32, 128)).astype(np.float16)
    c = np.zeros((128, 32), np.float32)
    for kernel in (product_by_hand, product):
        c[:] = 0
        kernel[1, 384](a, b, c.ravel(), 128, check=True, schedule=schedule)
        assert np.array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))


def test_they_are_the_code_of_their_lines():
    assert steps(product) == steps(product_by_hand)
    assert same_code(product, product_by_hand)
