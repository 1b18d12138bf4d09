"""Functions that take shared tiles, called inside a batch of wgmmas."""

# ruff: noqa: B007, F821 -- names that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.lang import (
    CompileError,
    attr,
    block,
    claim,
    column,
    const,
    constexpr,
    count,
    float32,
    fragment,
    grid,
    group,
    half,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    row,
    shared,
    template,
    thread,
    warpgroup,
    wgmma,
    wgmma_async,
)  # fmt: skip


@prism("device")
@template(N=constexpr(int), ROUNDS=constexpr(int))
@requires(warpgroup[1])
def multiplied(
    acc: fragment(float32, 64, N) @ warpgroup[1],
    a: const(shared(half[64, 64], swizzle=128)) @ warpgroup[1],
    b: const(shared(half[N, 64], swizzle=128)) @ warpgroup[1],
):
    for k in range(ROUNDS):
        wgmma(acc, a, b)


@prism("global")
@template(N=constexpr(int), CALLED=constexpr(bool))
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
def batches(a: ptr(const(half)) @ grid[1], b: ptr(const(half)) @ grid[1], c: ptr(float32) @ grid[1]):
    with partition(c, block[1]) as c_block, group(block[1]):
        first: shared(half[64, 64], swizzle=128)
        second: shared(half[N, 64], swizzle=128)
        acc: fragment(float32, 64, N) @ warpgroup[1] = 0
        t: int32 @ thread[1] = id()
        with partition(first, thread[1], lambda j: (t % 64, t // 64 * 32 + j)) as mine, group(thread[1]):
            for j in range(32):
                mine[j] = a[t % 64 * 64 + t // 64 * 32 + j]
        with partition(second, thread[1], lambda j: (t % N, t // N * (N // 2) + j)) as mine, group(thread[1]):
            for j in range(N // 2):
                mine[j] = b[t % N * 64 + t // N * (N // 2) + j]
        with group(warpgroup[1]):
            with wgmma_async():
                if CALLED:
                    multiplied(acc, first, second, ROUNDS=2)
                    multiplied(acc, first, second, ROUNDS=1)
                else:
                    for k in range(2):
                        wgmma(acc, first, second)
                    wgmma(acc, first, second)
        with partition(c_block, thread[1], lambda i, j: N * i + j, races="allow") as out, group(thread[1]):
            for i in range(count(acc)):
                out[row(acc, i), column(acc, i)] = acc[i]


def test_calls_in_a_batch_of_wgmmas(nvrtc):
    """As the wgmmas in place of the calls: one group, and the same machine code."""
    a, b = (np.random.default_rng(n).integers(-4, 5, (64, 64)).astype(np.float16) for n in (0, 1))
    c = np.zeros((64, 64), np.float32)
    batches[1, 128](a, b, c, template={"N": 64, "CALLED": True}, check=True)
    assert np.array_equal(c, 3 * (a.astype(np.float32) @ b.T.astype(np.float32)))
    called, written = (package.compile(batches, {"N": 64, "CALLED": called}).cuda for called in (True, False))
    assert called.count("wgmma.commit_group") == written.count("wgmma.commit_group")
    assert nvrtc(called, "sm_90a").ptx == nvrtc(written, "sm_90a").ptx


def test_what_has_no_place_in_a_batch_has_none_in_a_call_there():
    @prism("device")
    @requires(warpgroup[1])
    def looked_at(
        acc: fragment(float32, 64, 64) @ warpgroup[1], a: const(shared(half[64, 64], swizzle=128)) @ warpgroup[1]
    ):
        wgmma(acc, a, a)
        corner: half @ warpgroup[1] = a[0, 0]

    @prism("global")
    @requires(grid[1], block[1], warpgroup[1])
    def caller(x: ptr(const(half)) @ grid[1]):
        with group(block[1]):
            tile: shared(half[64, 64], swizzle=128)
            acc: fragment(float32, 64, 64) @ warpgroup[1] = 0
            with claim(tile, thread[1]) as mine, one(thread):
                mine[0, 0] = x[0]
            with group(warpgroup[1]), wgmma_async():
                looked_at(acc, tile)

    with pytest.raises(CompileError, match="has no place in a batch of wgmmas"):
        package.check(caller)
