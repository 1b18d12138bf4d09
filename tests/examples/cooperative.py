"""Kernels whose blocks meet at barriers of the grid, with arguments and what NumPy makes of them: see `Launch`."""

# ruff: noqa: B007, F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang import (
    atomic_add,
    attr,
    block,
    bulk_load,
    claim,
    const,
    constexpr,
    count,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    split,
    template,
    thread,
    warp,
)  # fmt: skip
from tests.examples.programs import Launch

TILE = 128


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def smooth(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """Replace x by the sums of each element and its right neighbour, `steps` times."""
    i: int32 @ thread[1] = id()
    for step in range(0, steps):
        with partition(y, thread[1], i) as there, group(thread[1]):
            there[0] = x[i] + x[(i + 1) % n]
        with partition(x, thread[1], i) as here, group(thread[1]):
            here[0] = y[i]


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def swapped(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """The same, from one array into the other and back: `steps` is even."""
    i: int32 @ thread[1] = id()
    now: ptr(int32) @ grid[1] = x
    then: ptr(int32) @ grid[1] = y
    for step in range(0, steps):
        with partition(then, thread[1], i) as there, group(thread[1]):
            there[0] = now[i] + now[(i + 1) % n]
        other: ptr(int32) @ grid[1] = now
        now = then
        then = other


@prism("global")
@template(THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS], cooperative=True)
def total(x: ptr(const(int32)) @ grid[1], sums: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    """y[i] = x[i] less the sum of all x: each block adds its part of x up, and then all blocks' sums."""
    i: int32 @ thread[1] = id()
    b: int32 @ block[1] = id()
    with partition(sums, block[1], b) as own, group(block[1]):
        t: int32 @ thread[1] = id()
        parts: shared(int32[THREADS]) @ block[1]
        with partition(parts, thread[1], t) as part, group(thread[1]):
            part[0] = x[i]
        with claim(own, thread[1]) as it:
            match split(thread):
                case 1:
                    s: int32 @ thread[1] = 0
                    for k in range(THREADS):
                        s += parts[k]
                    it[0] = s
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, thread[1], i) as mine, group(thread[1]):
        whole: int32 @ thread[1] = 0
        for k in range(0, blocks):
            whole += sums[k]
        mine[0] = x[i] - whole


@prism("device")
@requires(grid[1], block[1], thread[32], cooperative=True)
def doubled_and_shifted(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """x[i] = 2 * x[i + 1]: all read, all meet, all write."""
    i: int32 @ thread[1] = id()
    v: int32 @ thread[1] = x[(i + 1) % n]
    with partition(x, thread[1], i) as mine, group(thread[1]):
        mine[0] = 2 * v


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def shifted(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    for step in range(0, steps):
        doubled_and_shifted(x, n)


@prism("global")
@requires(grid[1], block[2], thread[32], cooperative=True)
def by_clusters(x: ptr(const(int32)) @ grid[1], sums: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    """The blocks of each cluster exchange what they read; then each block adds up what all blocks have got."""
    first: int32 @ block[1] = id() * 32
    with partition(sums, block[1], offset=first) as out, group(block[2]):
        s: shared(int32[2, 32]) @ block[2]
        r: int32 @ block[1] = id()
        with partition(s, block[1], lambda i: (r, i)) as own, group(block[1]):
            t: int32 @ thread[1] = id()
            with partition(own, thread[1], offset=t) as place, group(thread[1]):
                place[0] = x[first + t]
        with group(block[1]):
            t: int32 @ thread[1] = id()
            with partition(out, thread[1], offset=t) as place, group(thread[1]):
                place[0] = s[1 - r, t]
    i: int32 @ thread[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, thread[1], i) as mine, group(thread[1]):
        total: int32 @ thread[1] = i
        for k in range(0, blocks):
            total = 3 * total + sums[32 * k + (i + 1) % 32]
        mine[0] = total


@prism("global")
@template(COPIES=constexpr(int))
@attr("__launch_bounds__(160)")
@requires(grid[1], block[1], thread[160], cooperative=True)
def passed_on(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1]):
    """Each block makes its part of x, reads all parts through a ring, and makes its part anew."""
    first: int32 @ block[1] = id() * TILE
    blocks: int32 @ grid[1] = count(block[1])
    with partition(x, block[1], offset=first) as own, group(block[1]):
        makers, idle = roles(warp, 4, 1)
        with claim(own, makers) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                mine[0] = 2 * mine[0]
    with partition(y, block[1], offset=first) as out, group(block[1]):
        ring: shared(int32[TILE], ring=COPIES) @ block[1]
        readers, loader = roles(warp, 4, 1)
        total: int32 @ thread[1] = 1
        for k in range(0, blocks):
            with claim(ring, loader) as tile, one(thread):
                bulk_load(tile, x[k * TILE])
            with claim(ring, readers) as tile:
                t: int32 @ thread[1] = id()
                with group(thread[1]):
                    total = 3 * total + tile[(t + 1) % TILE]
        with claim(out, readers) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                mine[0] = total
    with partition(x, block[1], offset=first) as own, group(block[1]):
        makers, idle = roles(warp, 4, 1)
        with claim(own, makers) as part:
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                mine[0] = y[first + (t + 1) % TILE]


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def settled(x: ptr(int32) @ grid[1], y: ptr(int32) @ grid[1], left: ptr(int32) @ grid[1]):
    """Halve what is above its left neighbour until nothing is; `left[1]` counts the steps. The grid itself loads `left[0]`."""
    i: int32 @ thread[1] = id()
    while left[0] != 0:
        with claim(left, thread[1]) as own, one(thread):  # the first thread of the grid
            own[0] = 0
            own[1] += 1
        with partition(y, thread[1], i) as there, group(thread[1]):
            above: bool = i > 0 and x[i] > x[max(i - 1, 0)]
            there[0] = x[i] // 2 if above else x[i]
            if above:
                atomic_add(left[0], 1)
        with partition(x, thread[1], i) as here, group(thread[1]):
            here[0] = y[i]


def ring_sums(kernel: Any, blocks: int, threads: int, steps: int) -> Launch:
    """Neighbours' sums, `steps` times over."""
    n = blocks * threads
    x = np.random.default_rng(n).integers(-5, 5, n, dtype=np.int32)
    found = x
    for _ in range(steps):
        found = found + np.roll(found, -1)
    return Launch(kernel, (blocks, threads), (x, np.zeros_like(x), np.int32(n), np.int32(steps)), {0: found})


def less_total(blocks: int, threads: int) -> Launch:
    x = np.random.default_rng(blocks).integers(-100, 100, blocks * threads, dtype=np.int32)
    arguments = (x, np.zeros(blocks, np.int32), np.zeros_like(x))
    return Launch(total, (blocks, threads), arguments, {2: x - x.sum()}, {"THREADS": threads})


def in_a_function(blocks: int, threads: int, steps: int) -> Launch:
    n = blocks * threads
    x = np.arange(n, dtype=np.int32)
    return Launch(shifted, (blocks, threads), (x, np.int32(n), np.int32(steps)), {0: np.roll(x, -steps) << steps})


def until_settled(blocks: int, threads: int) -> Launch:
    n = blocks * threads
    x = np.random.default_rng(n).integers(1, 100, n, dtype=np.int32)
    found, steps = x, 0
    while True:
        steps += 1
        above = np.r_[False, found[1:] > found[:-1]]
        if not above.any():
            break
        found = np.where(above, found // 2, found)
    arguments = (x, np.zeros_like(x), np.array([1, 0], np.int32))
    return Launch(settled, (blocks, threads), arguments, {0: found, 2: np.array([0, steps], np.int32)})


def clustered(clusters: int) -> Launch:
    n = 64 * clusters
    x = np.random.default_rng(clusters).integers(0, 100, n, dtype=np.int32)
    exchanged = x.reshape(clusters, 2, 32)[:, ::-1].reshape(2 * clusters, 32)
    total = np.arange(n, dtype=np.int32)
    for part in exchanged:
        total = 3 * total + np.tile(np.roll(part, -1), 2 * clusters)
    return Launch(by_clusters, (2 * clusters, 32), (x, np.zeros_like(x), np.zeros_like(x)), {2: total})


def through_a_ring(blocks: int, copies: int) -> Launch:
    x = np.random.default_rng(blocks).integers(0, 100, TILE * blocks, dtype=np.int32)
    total = np.ones(TILE, np.int32)
    for part in x.reshape(blocks, TILE):
        total = 3 * total + 2 * np.roll(part, -1)
    arguments = (x, np.zeros_like(x))
    return Launch(passed_on, (blocks, 160), arguments, {0: np.tile(np.roll(total, -1), blocks)}, {"COPIES": copies})
