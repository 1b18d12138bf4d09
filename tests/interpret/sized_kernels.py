"""Kernels with shared memory that is sized at launch: for the reference machine and for a GPU."""
# ruff: noqa: F821, I001 -- names that the kernels declare

from __future__ import annotations

import numpy as np

import prism
from prism.lang import (
    array, atomic_add, block, claim, const, count, float32, grid, group, id, int32, one, partition, ptr, requires, roles, shared,
    thread, uint8, warp,
)  # fmt: skip
from prism.lib.block import reduce
from prism.lib.thread.operators import add


@prism("global")
@requires(grid[1], block[1], thread[32])
def reversed_rows(x: array(const(float32), 2) @ grid[1], y: array(float32, 2) @ grid[1]):
    """A block reverses a row, of any length."""
    r: int32 @ block[1] = id()
    with partition(y, block[1], lambda c: (r, c)) as out, group(block[1]):
        row: shared(float32[x.shape[1]])
        n: int32 = int32(x.shape[1])
        for first in range(0, n, count(thread[1])):
            c: int32 @ thread[1] = first + id(thread[1])
            with partition(row, thread[1], c) as slot, group(thread[1]):
                if c < n:
                    slot[0] = x[r, c]
        for first in range(0, n, count(thread[1])):
            c: int32 @ thread[1] = first + id(thread[1])
            with partition(out, thread[1], c) as mine, group(thread[1]):
                if c < n:
                    mine[0] = row[n - 1 - c]


@prism("global")
@requires(grid[1], block[1], thread[32])
def histogram(x: ptr(const(uint8)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], bins: int32 @ grid[1]):
    """Counts by bins of the block's own; one for each number modulo `bins`."""
    with partition(y, block[1], races="allow") as out, group(block[1]):
        mine: shared(int32[bins])
        for first in range(0, bins, count(thread[1])):
            k: int32 @ thread[1] = first + id(thread[1])
            with partition(mine, thread[1], k) as slot, group(thread[1]):
                if k < bins:
                    slot[0] = 0
        for first in range(0, n, count(thread[1])):
            k: int32 @ thread[1] = first + id(thread[1])
            with group(thread[1]):
                if k < n:
                    atomic_add(mine[int32(x[k]) % bins], 1)
        for first in range(0, bins, count(thread[1])):
            k: int32 @ thread[1] = first + id(thread[1])
            with group(thread[1]):
                if k < bins:
                    atomic_add(out[k], mine[k])


@prism("device")
@requires(block[1], thread[32])
def filled(tile: ptr(int32) @ block[1], n: int32 @ block[1], value: int32 @ block[1]):
    """Writes to each element its index times a value."""
    for first in range(0, n, count(thread[1])):
        k: int32 @ thread[1] = first + id(thread[1])
        with partition(tile, thread[1], k) as slot, group(thread[1]):
            if k < n:
                slot[0] = value * k


@prism("global")
@requires(grid[1], block[1], thread[64])
def several(y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    """Three objects that are sized at launch, one of them as many bytes as threads, one of a constant size, and a callee's."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 4 * i) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        threads: int32 = count(thread[1])
        flags: shared(uint8[threads + 1])
        fixed: shared(int32[64])
        long: shared(int32[3 * n + m % 5])
        short: shared(int32[m])
        with partition(flags, thread[1], t) as slot, group(thread[1]):
            slot[0] = uint8(t % 7)
        with claim(flags, thread[1]) as last, one(thread):
            last[threads] = 9
        with partition(fixed, thread[1], t) as slot, group(thread[1]):
            if t < 64:
                slot[0] = 5 * t
        filled(long, 3 * n + m % 5, 3)
        filled(short, m, 7)
        total: int32 = reduce(t, OP=add)
        with group(thread[1]):
            mine[0] = int32(flags[t + 1])
            mine[1] = fixed[t % 64] + long[3 * n + m % 5 - 1 - t % n]
            mine[2] = short[t % m]
            mine[3] = total


@prism("global")
@requires(grid[1], block[1], warp[2])
def handed_over(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], rounds: int32 @ grid[1]):
    """One warp fills a tile, the other reads it, round after round; each warp has a part of another tile."""
    with partition(y, block[1]) as out, group(block[1]):
        tile: shared(int32[n])
        halves: shared(int32[2 * n])
        reader, writer = roles(warp, 1, 1)
        w: int32 @ warp[1] = id()
        lane: int32 @ thread[1] = id(thread[1]) % 32
        for j in range(0, rounds):
            with claim(tile, writer) as there:
                for first in range(0, n, 32):
                    with partition(there, thread[1], first + lane) as slot, group(thread[1]):
                        if first + lane < n:
                            slot[0] = x[j * n + first + lane]
            with partition(halves, warp[1], w * n) as half, group(warp[1]):
                for first in range(0, n, 32):
                    with partition(half, thread[1], first + lane) as slot, group(thread[1]):
                        if first + lane < n:
                            slot[0] = w + j
            with partition(out, thread[1], lambda k: j * n + k) as mine, reader, group(thread[1]):
                for first in range(0, n, 32):
                    if first + lane < n:
                        mine[first + lane] = tile[n - 1 - first - lane] + 1000 * halves[2 * n - 1 - first - lane]


def several_expected(threads: int, blocks: int, n: int, m: int) -> np.ndarray:
    """What `several` writes."""
    t = np.arange(threads)
    flags = np.append(t % 7, 9)
    long = 3 * n + m % 5
    rows = [flags[t + 1], 5 * (t % 64) + 3 * (long - 1 - t % n), 7 * (t % m), np.full(threads, t.sum())]
    return np.tile(np.stack(rows, 1), (blocks, 1)).astype(np.int32)


def handed_over_expected(x: np.ndarray) -> np.ndarray:
    """What `handed_over` writes, of a row a round."""
    return x[:, ::-1] + 1000 * (1 + np.arange(len(x), dtype=np.int32)[:, None])
