"""Small kernels with rings, asynchronous copies and wgmma, each with what it computes.

Each case runs in a block or two of a few warps, so that all schedules and all mutants of its plan are soon tried.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

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
    wgmma_async,
)  # fmt: skip
from prism.lang.shorts import bf16_bits, bf16_values

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
    with claim(y, thread[96]) as out, group(block[1]):
        pass


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
