"""Kernels in which the warps of a cluster gather what all of them have, with what NumPy makes of it: see `Launch`."""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import numpy as np

from prism.lang import (
    all_gather,
    attr,
    block,
    const,
    constexpr,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip
from tests.examples.programs import Launch

WARPS = 3  # of a block


@prism("global")
@template(T=dtype, N=constexpr(int), PARTS=constexpr(int), BLOCKS=constexpr(int), MET=constexpr(bool))
@attr("__launch_bounds__(96)")
@requires(grid[1], block[BLOCKS], thread[32])
def added_up(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], rounds: int32 @ grid[1], skip: int32 @ grid[1]):
    """In each round but those that `skip` divides: what lane d of each warp has goes to block d, whose threads weigh it by warp.

    `MET`: the cluster's blocks also reach into each other's memory, and meet.
    """
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=lambda i: t * N + i) as out, group(block[BLOCKS]):
        b: int32 @ block[1] = id()
        c: int32 @ thread[1] = id()
        lane: int32 @ thread[1] = id() % 32
        values: T[N] @ thread[1]
        found: T[N, PARTS] @ thread[1]
        with group(thread[1]):
            for q in range(N):
                values[q] = x[t * N + q]
        for k in range(rounds, unroll=False):
            if k % skip != 0:
                for q in range(N):
                    for p in range(PARTS):
                        found[q, p] = T(0)
                all_gather(values, found)
                with group(thread[1]):
                    for q in range(N):
                        for p in range(PARTS):
                            values[q] = T(3) * values[q] + found[q, p]
        if MET:
            last: shared(T[BLOCKS, 1]) @ block[BLOCKS]
            with partition(last, thread[1], lambda k: ((b + 1) % BLOCKS, k), races="none") as slot, group(thread[1]):
                if c % 96 == 0:
                    slot[0] = values[0]
            with group(thread[1]):
                values[0] = values[0] + last[b, 0]
        with group(thread[1]):
            for q in range(N):
                out[q] = values[q]


def gathered(
    kind: str, rounds: int, n: int = 1, blocks: int = 2, clusters: int = 1, skip: int = 100, met: bool = False
) -> Launch:
    """Numbers of each thread of each cluster."""
    threads = 32 * WARPS
    x = np.random.default_rng(rounds + n).integers(0, 9, (clusters, blocks * WARPS, 32, n)).astype(kind)
    found = x.copy()
    parts = -(-blocks * WARPS // 32)
    for k in range(rounds):
        if k % skip == 0:
            continue
        new = found.copy()
        for p in range(parts):
            came = np.zeros((clusters, blocks, 32, n), kind)  # to block d, from warp 32 * p + l
            of = found[:, 32 * p : 32 * p + 32]
            came[:, :, : of.shape[1]] = of[:, :, :blocks].transpose(0, 2, 1, 3)
            new = (3 * new + np.repeat(came, WARPS, axis=1)).astype(kind)
        found = new
    if met:
        first = found[:, ::WARPS, 0, 0]
        found[..., 0] += np.repeat(np.roll(first, 1, axis=1), WARPS, axis=1)[:, :, None]
    template = {"T": kind, "N": n, "PARTS": parts, "BLOCKS": blocks, "MET": met}
    arguments = (x.ravel(), np.zeros(x.size, kind), np.int32(rounds), np.int32(skip))
    return Launch(added_up, (clusters * blocks, threads), arguments, {1: found.ravel()}, template)
