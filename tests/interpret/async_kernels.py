"""Small kernels with rings, asynchronous copies and wgmma, each with what it computes.

Each case runs in a block or two of a few warps, so that all schedules and all mutants of its plan are soon tried.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.lang import (
    CUtensorMap,
    async_,
    bf16,
    block,
    bulk_load,
    bulk_store,
    claim,
    column,
    const,
    constexpr,
    count,
    cp_async,
    fragment,
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
    row,
    shared,
    template,
    thread,
    tma_load,
    tma_store,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.types.shorts import bf16_bits, bf16_values

TILE = 32


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(K=constexpr(int))
def loaded(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """One thread loads tiles, a warp reads them backwards."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int32[32], ring=K)
        consumer, producer = roles(thread, 32, 32)
        with partition(out, thread[1], offset=0) as mine:
            for i in range(n):
                with claim(s, producer) as a:
                    with one(thread):
                        bulk_load(a, x[i * 32])
                with claim(s, consumer) as a:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        mine[i * 32 + t] = a[31 - t] + 1


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(K=constexpr(int))
def written(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """A warp fills tiles, another reads them."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int32[32], ring=K)
        consumer, producer = roles(thread, 32, 32)
        with partition(out, thread[1], offset=0) as mine:
            for i in range(n):
                with claim(s, producer) as a:
                    t: int32 @ thread[1] = id()
                    with partition(a, thread[1], offset=t) as cell, group(thread[1]):
                        cell[0] = x[i * 32 + t]
                with claim(s, consumer) as a:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        mine[i * 32 + t] = a[31 - t] + 1


@prism("global")
@requires(grid[1], block[1], thread[96])
@template(K=constexpr(int))
def stations(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """A tile is loaded, worked on in place, and stored."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int32[32], ring=K)
        worker, loader, storer = roles(thread, 32, 32, 32)
        with partition(out, thread[1], offset=0) as mine:
            for i in range(n):
                with claim(s, loader) as a:
                    with one(thread):
                        bulk_load(a, x[i * 32])
                with claim(s, worker) as a:
                    t: int32 @ thread[1] = id()
                    with partition(a, thread[1], offset=t) as cell, group(thread[1]):
                        cell[0] = cell[0] + 1
                with claim(s, storer) as a:
                    with one(thread):
                        bulk_store(mine[i * 32], a)


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(K=constexpr(int))
def copied(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Each thread of one warp copies four elements; another reads them backwards."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int32[128], ring=K)
        consumer, producer = roles(thread, 32, 32)
        with partition(out, thread[1], offset=0) as mine:
            for i in range(n):
                with claim(s, producer) as a:
                    t: int32 @ thread[1] = id()
                    with partition(a, thread[1], offset=t * 4) as part, async_(part) as d, group(thread[1]):
                        cp_async(d[0], x[i * 128 + t * 4], 16)
                with claim(s, consumer) as a:
                    t: int32 @ thread[1] = id()
                    with group(thread[1]):
                        for j in range(4):
                            mine[i * 128 + t + 32 * j] = a[127 - t - 32 * j] + 1


@prism("global")
@requires(grid[1], block[1], thread[64])
def grouped(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Two objects are copied, and each is waited for when it is read, not before."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        a: shared(int32[64])
        b: shared(int32[64])
        t: int32 @ thread[1] = id()
        with partition(out, thread[1], offset=0) as mine:
            for i in range(n):
                with partition(a, thread[1], offset=t) as cell, async_(cell) as d, group(thread[1]):
                    cp_async(d[0], x[i * 128 + t], 4)
                with partition(b, thread[1], offset=t) as cell, async_(cell) as d, group(thread[1]):
                    cp_async(d[0], x[i * 128 + 64 + t], 4)
                with group(thread[1]):
                    mine[i * 128 + t] = a[63 - t] + 1
                with group(thread[1]):
                    mine[i * 128 + 64 + t] = b[63 - t] + 1


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(K=constexpr(int))
def boxes(
    x: const(CUtensorMap(int32, 8, 16)) @ grid[1],
    y: CUtensorMap(int32, 8, 16) @ grid[1],
    columns: int32 @ grid[1],
):
    """A row of boxes of a matrix is copied; one of them lies half outside."""
    with group(block[1]):
        s: shared(int32[8, 16], ring=K)
        storer, loader = roles(thread, 32, 32)
        for j in range(0, columns, 16):
            with claim(s, loader) as a:
                with one(thread):
                    tma_load(a, x[3, j])
            with claim(s, storer) as a:
                with one(thread):
                    tma_store(y[3, j], a)


@prism("global")
@requires(grid[1], block[1], warpgroup[2])
@template(K=constexpr(int), D=constexpr(int))
def product(
    a: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1],
    b: const(CUtensorMap(bf16, 16, 64, swizzle=128)) @ grid[1],
    c: ptr(float) @ grid[1],
    k: int32 @ grid[1],
):
    """A product of 64 x k by k x 16, with `D` steps of it under way."""
    with partition(c, block[1], offset=0) as out, group(block[1]):
        ta: shared(bf16[64, 64], ring=K, swizzle=128)
        tb: shared(bf16[16, 64], ring=K, swizzle=128)
        acc: fragment(float, 64, 16) @ warpgroup[1] = 0
        consumer, producer = roles(warpgroup, 1, 1)
        for i in range(0, k, 64):
            with claim(ta, producer) as now_a, claim(tb, producer) as now_b:
                with one(thread):
                    tma_load(now_a, a[0, i])
                    tma_load(now_b, b[0, i])
            with claim(ta, consumer, in_flight=D) as now_a, claim(tb, consumer, in_flight=D) as now_b:
                wgmma(acc, now_a, now_b)
        with claim(out, consumer) as tile:
            with partition(tile, thread[1], offset=0) as mine, group(thread[1]):
                for i in range(0, count(acc)):
                    mine[row(acc, i) * 16 + column(acc, i)] = acc[i]


@prism("global")
@requires(grid[1], block[2], thread[32])
def swapped(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Two blocks of a cluster read each other's shared memory."""
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g) as out:
        with group(block[2]):
            s: shared(int32[2, 32]) @ block[2]
            r: int32 @ block[1] = id()
            t: int32 @ thread[1] = id()
            for i in range(n):
                with partition(s, thread[1], offset=lambda i, j: {t // 32 + i, t % 32 + j}) as mine:
                    with group(thread[1]):
                        mine[0, 0] = x[g] + i
                with group(thread[1]):
                    out[0] = s[1 - r, 31 - t % 32]


@prism("global")
@requires(grid[1], block[2], thread[64])
@template(K=constexpr(int))
def shared_loads(
    x: const(CUtensorMap(int32, 8, 16)) @ grid[1],
    y: ptr(int32) @ grid[1],
    n: int32 @ grid[1],
):
    """Each block of a cluster loads half a tile, for both."""
    with partition(y, block[1], offset=0) as out:
        b: int32 @ block[1] = id()
        with group(block[2]):
            r: int32 @ block[1] = id()
            with group(block[1]):
                s: shared(int32[16, 16], ring=K)
                consumer, producer = roles(thread, 32, 32)
                with partition(out, thread[1], offset=0) as mine:
                    for i in range(n):
                        with claim(s, producer) as a:
                            with one(thread):
                                tma_load(a[8 * r, 0], x[16 * i + 8 * r, 0], multicast=3)
                        with claim(s, consumer) as a:
                            t: int32 @ thread[1] = id()
                            with group(thread[1]):
                                for j in range(8):
                                    mine[(b * n + i) * 256 + j * 32 + t] = a[j * 2 + t // 16, t % 16] + b


@prism("global")
@requires(grid[1], block[4], thread[64])
@template(K=constexpr(int), MASK=constexpr(int))
def loads_for_some(
    x: const(CUtensorMap(int32, 4, 16)) @ grid[1],
    y: ptr(int32) @ grid[1],
    n: int32 @ grid[1],
):
    """Each block of a cluster loads a quarter of a tile, for blocks r ^ b of which MASK has bit b; they add up what they get."""
    with partition(y, block[1], offset=0) as out:
        number: int32 @ block[1] = id()
        with group(block[4]):
            r: int32 @ block[1] = id()
            with group(block[1]):
                s: shared(int32[16, 16], ring=K)
                consumer, producer = roles(thread, 32, 32)
                with partition(out, thread[1], offset=0) as mine:
                    for i in range(n):
                        with claim(s, producer) as a:
                            with one(thread):
                                tma_load(a[4 * r, 0], x[16 * i + 4 * r, 0], multicast=MASK, relative=True)
                        with claim(s, consumer) as a:
                            t: int32 @ thread[1] = id()
                            with group(thread[1]):
                                sum: int32 = 0
                                for b in range(4):
                                    if MASK >> b & 1 == 1:
                                        for half in range(2):
                                            sum += a[4 * (r ^ b) + 2 * half + t // 16, t % 16]
                                mine[(number * n + i) * 32 + t] = sum


@prism("global")
@requires(grid[1], block[1], warpgroup[2])
@template(K=constexpr(int), D=constexpr(int))
def products(
    a: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1],
    b: const(CUtensorMap(bf16, 16, 64, swizzle=128)) @ grid[1],
    c: ptr(float) @ grid[1],
    k: int32 @ grid[1],
):
    """Products with parts of b, one after the other, of 0, 64, 128 .. of k: the rings and the steps under way go on."""
    with partition(c, block[1], offset=0) as out, group(block[1]):
        ta: shared(bf16[64, 64], ring=K, swizzle=128)
        tb: shared(bf16[16, 64], ring=K, swizzle=128)
        acc: fragment(float, 64, 16) @ warpgroup[1]
        consumer, producer = roles(warpgroup, 1, 1)
        with partition(out, thread[1], offset=0) as mine:
            for j in range(3):
                with consumer:
                    acc = 0
                for i in range(0, k * j // 2, 64):
                    with claim(ta, producer) as now_a, claim(tb, producer) as now_b:
                        with one(thread):
                            tma_load(now_a, a[0, i])
                            tma_load(now_b, b[0, i])
                    with claim(ta, consumer, in_flight=D) as now_a, claim(tb, consumer, in_flight=D) as now_b:
                        wgmma(acc, now_a, now_b)
                with consumer, group(thread[1]):
                    for i in range(0, count(acc)):
                        mine[j * 1024 + row(acc, i) * 16 + column(acc, i)] = acc[i]


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(K=constexpr(int))
def nested(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """A ring that goes on through the trips of an outer loop, whose inner loops have 0, 1, 2 .. trips."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int32[32], ring=K)
        consumer, producer = roles(thread, 32, 32)
        with partition(out, thread[1], offset=0) as mine:
            first: int32 @ block[1] = 0
            for m in range(n):
                for i in range(m % 3):
                    with claim(s, producer) as a:
                        with one(thread):
                            bulk_load(a, x[(first + i) * 32])
                    with claim(s, consumer) as a:
                        t: int32 @ thread[1] = id()
                        with group(thread[1]):
                            mine[(first + i) * 32 + t] = a[31 - t] + 1
                first = first + m % 3


# -- what they compute ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A kernel with its template, a launch, and what it computes."""

    kernel: Any
    make: Callable[[int], tuple[list[Any], int, Any]]
    template: dict[str, Any] = field(default_factory=dict)
    blocks: int = 1
    threads: int = 64

    def __str__(self) -> str:
        return "-".join([self.kernel.__name__, *(f"{k}{v}" for k, v in self.template.items())])

    def arguments(self, trips: int) -> tuple[list[Any], int, Any]:
        """Return fresh arguments for so many trips, which of them is the result, and what must be in it."""
        return self.make(trips)


def _tiles(size: int, back: bool = True) -> Callable[[int], Any]:
    def make(trips: int) -> tuple[list[Any], int, Any]:
        x = np.arange(12 * size, dtype=np.int32) * 3
        wanted = np.zeros_like(x)
        tiles = x.reshape(12, size)[:trips]
        wanted[: trips * size] = ((tiles[:, ::-1] if back else tiles) + 1).ravel()
        return [x, np.zeros_like(x), trips], 1, wanted

    return make


def _pairs(trips: int) -> tuple[list[Any], int, Any]:
    x = np.arange(12 * 128, dtype=np.int32) * 3
    wanted = np.zeros_like(x)
    wanted[: trips * 128] = (x.reshape(-1, 64)[: trips * 2, ::-1] + 1).ravel()
    return [x, np.zeros_like(x), trips], 1, wanted


def _nested(trips: int) -> tuple[list[Any], int, Any]:
    x = np.arange(16 * 32, dtype=np.int32)
    done = sum(m % 3 for m in range(trips))
    wanted = np.zeros_like(x)
    wanted[: done * 32] = (x.reshape(16, 32)[:done, ::-1] + 1).ravel()
    return [x, np.zeros_like(x), trips], 1, wanted


def _boxes(trips: int) -> tuple[list[Any], int, Any]:
    width = max(1, trips * 16 - 5)
    x = np.arange(8 * 200, dtype=np.int32).reshape(8, 200)[:, :width]
    y = np.full((200, 9), -1, np.int32).T[:, :width]  # strides of another order
    wanted = y.copy()
    wanted[3:8, : trips * 16] = x[3:8]
    wanted[8] = 0 if trips else -1  # below the source
    return [x, y, trips * 16], 1, wanted


def _product(trips: int) -> tuple[list[Any], int, Any]:
    random = np.random.default_rng(trips)
    a, b = (random.integers(-3, 4, (n, max(1, trips) * 64)).astype(np.float32) for n in (64, 16))
    wanted = (a @ b.T).ravel() if trips else np.zeros(64 * 16, np.float32)
    return [bf16_bits(a), bf16_bits(b), np.zeros(64 * 16, np.float32), trips * 64], 2, wanted


def _products(trips: int) -> tuple[list[Any], int, Any]:
    (a, b, *_), _, _ = _product(2 * trips)
    left, right = bf16_values(a), bf16_values(b)
    parts = [64 * -(-(128 * trips * j // 2) // 64) for j in range(3)]
    wanted = np.concatenate([(left[:, :n] @ right[:, :n].T).ravel() for n in parts])
    return [a, b, np.zeros(3 * 1024, np.float32), 128 * trips], 2, wanted


def _shared_loads(trips: int) -> tuple[list[Any], int, Any]:
    x = np.arange(256 * max(1, trips), dtype=np.int32)
    wanted = np.concatenate([x[: trips * 256] + b for b in range(2)])
    return [x.reshape(-1, 16), np.zeros(max(1, len(wanted)), np.int32)[: len(wanted)], trips], 1, wanted


def _loads_for_some(mask: int, trips: int) -> tuple[list[Any], int, Any]:
    x = np.arange(256 * max(1, trips), dtype=np.int32)
    quarters = x.reshape(-1, 4, 2, 32)[:trips].sum(2, dtype=np.int32)
    wanted = np.ravel([sum(quarters[:, r ^ b] for b in range(4) if mask >> b & 1) for r in range(4)])
    return [x.reshape(-1, 16), np.zeros(max(1, len(wanted)), np.int32)[: len(wanted)], trips], 1, wanted


def _swapped(trips: int) -> tuple[list[Any], int, Any]:
    x = np.arange(128, dtype=np.int32)
    wanted = x.reshape(2, 2, 32)[:, ::-1, ::-1].ravel() + trips - 1 if trips else np.zeros_like(x)
    return [x, np.zeros_like(x), trips], 1, wanted


RINGS = (1, 2, 7)
CASES = [
    *(Case(loaded, _tiles(32), {"K": k}) for k in RINGS),
    *(Case(written, _tiles(32), {"K": k}) for k in RINGS),
    *(Case(stations, _tiles(32, back=False), {"K": k}, threads=96) for k in RINGS),
    *(Case(copied, _tiles(128), {"K": k}) for k in RINGS),
    Case(grouped, _pairs),
    *(Case(boxes, _boxes, {"K": k}) for k in RINGS),
    *(Case(nested, _nested, {"K": k}) for k in RINGS),
    *(Case(product, _product, {"K": k, "D": d}, threads=256) for k, d in ((1, 0), (2, 0), (2, 1), (4, 2))),
    *(Case(products, _products, {"K": k, "D": d}, threads=256) for k, d in ((1, 0), (2, 1), (4, 2))),
    *(Case(shared_loads, _shared_loads, {"K": k}, blocks=2) for k in RINGS),
    *(
        Case(loads_for_some, functools.partial(_loads_for_some, mask), {"K": k, "MASK": mask}, blocks=4)
        for k in RINGS
        for mask in range(1, 16, 2)
    ),
    Case(swapped, _swapped, blocks=4, threads=32),
]
