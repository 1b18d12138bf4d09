"""Kernels that a reader wrote from the pages alone, none of which is on a page. Each was right at the first or second attempt.

test_readers.py runs them on the reference machine and compiles them, tests/gpu/test_readers.py runs them on a GPU.
"""

# ruff: noqa: F821, B007 - what a kernel declares without a value, and a loop that counts alone

from __future__ import annotations

import math

import prism
from prism.lang import (
    array,
    atomic_add,
    atomic_max,
    atomic_min,
    attr,
    block,
    bulk_load,
    claim,
    const,
    count,
    float32,
    grid,
    group,
    id,
    int32,
    int64,
    load_relaxed,
    maximum,
    minimum,
    one,
    partition,
    ptr,
    requires,
    roles,
    shared,
    shuffle_xor,
    struct,
    thread,
    uint8,
    warp,
)
from prism.lib.thread import operators


@prism.kernel
@requires(grid[1], block[1], thread[32])
def top8(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], columns: int32 @ grid[1]):
    """The eight largest elements of each row, by a bitonic sort of the lanes of a warp."""
    w: int32 @ warp[1] = id()
    with partition(y, warp[1], 8 * w) as out, group(warp[1]):
        lane: int32 @ thread[1] = id()
        best: float32 @ thread[1] = -math.inf
        for first in range(0, columns, 32):
            v: float32 @ thread[1] = -math.inf
            with group(thread[1]):
                if first + lane < columns:
                    v = x[w * columns + first + lane]
            for k in range(1, 6):
                size: int32 @ thread[32] = 1 << k
                for j in range(k):
                    stride: int32 @ thread[32] = size >> (j + 1)
                    other: float32 @ thread[1] = shuffle_xor(v, stride)
                    up: bool @ thread[1] = (lane & size) == 0
                    low: bool @ thread[1] = (lane & stride) == 0
                    v = minimum(v, other) if up == low else maximum(v, other)
            best = maximum(best, v)  # one falls, one rises: the 32 largest of both, as a bitonic sequence
            for j in range(5):
                stride: int32 @ thread[32] = 16 >> j
                other: float32 @ thread[1] = shuffle_xor(best, stride)
                best = maximum(best, other) if (lane & stride) == 0 else minimum(best, other)
        with partition(out, thread[1], lane) as mine, group(thread[1]):
            if lane < 8:
                mine[0] = best


@prism.kernel
@requires(grid[1], block[1], thread[256])
@attr("__launch_bounds__(256)")
def stencil(x: array(const(float32), 2) @ grid[1], y: array(float32, 2) @ grid[1]):
    """The mean of an element and its four neighbours: tiles of 16 x 16 with their halo in shared memory."""
    left: int32 @ block[1] = 16 * id(0)
    top: int32 @ block[1] = 16 * id(1)
    with partition(y, block[1], lambda i, j: (top + i, left + j)) as out, group(block[1]):
        tile: shared(float32[18][18])
        t: int32 @ thread[1] = id()
        r: int32 @ thread[1] = t // 16
        c: int32 @ thread[1] = t % 16
        for first in range(0, 324, 256):
            e: int32 @ thread[1] = first + t
            with partition(tile, thread[1], lambda k: (e // 18, e % 18)) as slot, group(thread[1]):
                if e < 324:
                    i: int32 = top + e // 18 - 1
                    j: int32 = left + e % 18 - 1
                    slot[0] = x[i, j] if 0 <= i and i < x.shape[0] and 0 <= j and j < x.shape[1] else 0
        with partition(out, thread[1], lambda i, j: (r + i, c + j)) as mine, group(thread[1]):
            if top + r < y.shape[0] and left + c < y.shape[1]:
                beside: float32 = tile[r, c + 1] + tile[r + 2, c + 1] + tile[r + 1, c] + tile[r + 1, c + 2]
                mine[0, 0] = 0.2 * (tile[r + 1, c + 1] + beside)


@prism.kernel
@requires(grid[1], block[1], thread[32])
def weighted(
    keys: ptr(const(int32)) @ grid[1], weights: ptr(const(float32)) @ grid[1], out: ptr(float32) @ grid[1],
    n: int32 @ grid[1], bins: int32 @ grid[1],
):  # fmt: skip
    """A histogram with weights: as many bins in shared memory as the launch says."""
    start: int32 @ thread[1] = id()
    step: int32 @ grid[1] = count(thread[1])
    with group(block[1]):
        table: shared(float32[bins])
        t: int32 @ thread[1] = id()
        threads: int32 @ block[1] = count(thread[1])
        with partition(table, thread[1], lambda k: t + k * threads) as mine, group(thread[1]):
            for k in range((bins - t + threads - 1) // threads):
                mine[k] = 0
        with group(thread[1]):
            for i in range(start, n, step):
                if 0 <= keys[i] and keys[i] < bins:
                    atomic_add(table[keys[i]], weights[i])
        with group(thread[1]):
            for k in range(t, bins, threads):
                atomic_add(out[k], table[k])


@prism.kernel
@requires(grid[1], block[1], thread[32], cooperative=True)
def jacobi(a: ptr(float32) @ grid[1], b: ptr(float32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """Two steps a trip, from a to b and back. The grid's barriers are inferred."""
    i: int32 @ thread[1] = id()
    threads: int32 @ grid[1] = count(thread[1])
    for s in range(steps):
        with partition(b, thread[1], lambda k: i + k * threads) as mine, group(thread[1]):
            for k in range((n - i + threads - 1) // threads):
                e: int32 = i + k * threads
                mine[k] = 0.5 * (a[e - 1] + a[e + 1]) if 0 < e and e < n - 1 else a[e]
        with partition(a, thread[1], lambda k: i + k * threads) as mine, group(thread[1]):
            for k in range((n - i + threads - 1) // threads):
                e: int32 = i + k * threads
                mine[k] = 0.5 * (b[e - 1] + b[e + 1]) if 0 < e and e < n - 1 else b[e]


@prism.kernel
@requires(grid[1], block[1], thread[32])
def characters(text: ptr(const(uint8)) @ grid[1], total: ptr(int32) @ grid[1], n: int64 @ grid[1]):
    """How many characters a text in UTF-8 has: bytes that do not continue one."""
    i: int64 @ thread[1] = id()
    step: int64 @ grid[1] = count(thread[1])
    with group(block[1]):
        found: int32 @ thread[1] = 0
        with group(thread[1]):
            for k in range(i, n, step):
                if (text[k] & 0xC0) != 0x80:
                    found += 1
        all: int32 @ block[1] = block.reduce(found, OP=operators.add)
        with one(thread):
            atomic_add(total[0], all)


@prism.kernel
@requires(grid[1], thread[1])
def inverse(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    """The inverse of each matrix of 4 x 4, by elimination in registers, with pivots."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 16 * i) as mine, group(thread[1]):
        if i < n:
            a: float32[4][8]
            for r in range(4):
                for c in range(4):
                    a[r][c] = x[16 * i + 4 * r + c]
                    a[r][c + 4] = 1 if r == c else 0
            for p in range(4):
                for r in range(p + 1, 4):
                    if abs(a[r][p]) > abs(a[p][p]):
                        for c in range(8):
                            a[p][c], a[r][c] = a[r][c], a[p][c]
                f: float32 = 1 / a[p][p]
                for c in range(8):
                    a[p][c] *= f
                for r in range(4):
                    if r != p:
                        g: float32 = a[r][p]
                        for c in range(8):
                            a[r][c] -= g * a[p][c]
            for r in range(4):
                for c in range(4):
                    mine[4 * r + c] = a[r][c + 4]


@prism.kernel
@requires(grid[1], thread[1])
def spread(
    u: ptr(const(int32)) @ grid[1], v: ptr(const(int32)) @ grid[1], label: ptr(int32) @ grid[1],
    changed: ptr(int32) @ grid[1], edges: int32 @ grid[1],
):  # fmt: skip
    """A step of connected components: the lower label of an edge's ends goes to the other end."""
    i: int32 @ thread[1] = id()
    with group(thread[1]):
        if i < edges:
            a: int32 = atomic_min(label[u[i]], load_relaxed(label[v[i]]))
            b: int32 = atomic_min(label[v[i]], load_relaxed(label[u[i]]))
            if a != b:
                atomic_max(changed[0], 1)


@prism.kernel
@requires(grid[1], block[1], warp[5])
def gemv(
    a: ptr(const(float32)) @ grid[1], x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1],
    columns: int32 @ grid[1],
):  # fmt: skip
    """A matrix times a vector: a row a block, which one warp loads through a ring and four warps multiply."""
    row: int32 @ block[1] = id()
    with partition(y, block[1], row) as out, group(block[1]):
        tile: shared(float32[512], ring=4)
        sums: shared(float32[4])
        workers, loader = roles(warp, 4, 1)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for first in range(0, columns, 512):
            with claim(tile, loader) as coming, one(thread):
                bulk_load(coming, a[row * columns + first])
            with claim(tile, workers) as now, group(thread[1]):
                for k in range(4):
                    total += now[t + 128 * k] * x[first + t + 128 * k]
        w: int32 @ warp[1] = id()
        with partition(sums, warp[1], w) as mine, workers, group(warp[1]):
            s: float32 @ warp[1] = warp.reduce(total, OP=operators.add)
            with claim(mine, thread[1]) as m, one(thread):
                m[0] = s
        with claim(out, thread[1]) as o, one(thread):
            o[0] = sums[0] + sums[1] + sums[2] + sums[3]


@prism.kernel
@requires(grid[1], block[4], thread[32])
def long_rows(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], columns: int32 @ grid[1]):
    """The sum of each row, by a cluster of four blocks."""
    row: int32 @ block[4] = id()
    with partition(y, block[4], row) as out, group(block[4]):
        parts: shared(float32[4][1])
        b: int32 @ block[1] = id()
        threads: int32 @ block[4] = count(thread[1])
        i: int32 @ thread[1] = id()
        with partition(parts, block[1], lambda i, j: (b + i, j)) as mine, group(block[1]):
            own: float32 @ thread[1] = 0
            with group(thread[1]):
                for c in range(i, columns, threads):
                    own += x[row * columns + c]
            s: float32 @ block[1] = block.reduce(own, OP=operators.add)
            with claim(mine, thread[1]) as m, one(thread):
                m[0, 0] = s
        with claim(out, thread[1]) as o, one(thread):
            o[0] = parts[0, 0] + parts[1, 0] + parts[2, 0] + parts[3, 0]


@struct
class Best:
    value: float32
    at: int32


@prism.device
@requires(thread[1])
def better(a: Best @ thread[1], b: Best @ thread[1]) -> Best @ thread[1]:
    return a if a.value > b.value or (a.value == b.value and a.at < b.at) else b


@prism.kernel
@requires(grid[1], thread[32])
def argmax(
    x: ptr(const(float32)) @ grid[1], starts: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1],
    segments: int32 @ grid[1],
):  # fmt: skip
    """The first place of the largest element of each segment: a warp a segment, a struct a lane."""
    w: int32 @ warp[1] = id()
    with partition(y, warp[1], w) as out, group(warp[1]):
        if w < segments:
            lane: int32 @ thread[1] = id()
            best: Best @ thread[1] = Best(-math.inf, 2147483647)
            low: int32 @ warp[1] = starts[w]
            high: int32 @ warp[1] = starts[w + 1]
            with group(thread[1]):
                for k in range(low + lane, high, 32):
                    best = better(best, Best(x[k], k - low))
            found: Best @ warp[1] = warp.reduce(best, OP=better)
            with claim(out, thread[1]) as o, one(thread):
                o[0] = found.at
