"""Programs whose explanations are looked at, as text, as pages, and in a browser."""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import functools

from examples.paper import hgemm, scan, sgemm
from prism.kernels.scan import single_pass
from prism.lang import (
    block,
    claim,
    const,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    split,
    thread,
)
from prism.lang.pipeline import build
from prism.lang.tree.plan import Program


@prism("global")
@requires(grid[1], block[1], thread[64])
def nasty(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """</style><script>alert("no & never")</script> <b id="f0"> &amp; 'quoted' \N{SNOWMAN} ]]> <!--"""
    i: int32 @ thread[1] = id()  # <img src=x onerror=alert(1)>
    with partition(y, thread[1], i) as mine:
        with group(block[1]):
            tile: shared(int32[64]) @ block[1]
            t: int32 @ thread[1] = id()
            with partition(tile, thread[1], t) as slot:
                with group(thread[1]):
                    slot[0] = x[i]
            with group(thread[32]):
                v: int32 @ thread[1] = tile[63 - t]
                with group(thread[1]):
                    mine[0] = v if v < 3 else tile[t]


@prism("global")
@requires(grid[1], block[1], thread[64])
def neighbours(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """One line reads four elements, and each is written twice before."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        tile: shared(int32[66])
        t: int32 @ thread[1] = id()
        for k in range(2):
            with partition(tile, thread[1], t) as mine, group(thread[1]):
                mine[0] = x[t] + k
            with partition(out, thread[1], t) as mine, group(thread[1]):
                mine[0] = tile[t] + tile[(t + 1) % 64] + tile[(t + 2) % 64] + tile[(t + 3) % 64]


@prism("device")
@requires(block[1], thread[64])
def turn(a: shared(int32[64]) @ block[1], b: shared(int32[64]) @ block[1], values: int32[1] @ thread[1]):
    """Compiled into its caller. One barrier does for both tables, and for one of the caller's."""
    t: int32 @ thread[1] = id()
    with partition(a, thread[1], t) as mine, partition(b, thread[1], t) as other, group(thread[1]):
        mine[0] = values[0]
        other[0] = -values[0]
    with group(thread[1]):
        values[0] = a[63 - t] + b[63 - t]


@prism("global")
@requires(grid[1], block[1], thread[64])
def turned(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as out, group(block[1]):
        a: shared(int32[64])
        b: shared(int32[64])
        c: shared(int32[64])
        t: int32 @ thread[1] = id()
        values: int32[1] @ thread[1] = [x[i]]
        with partition(c, thread[1], t) as mine, group(thread[1]):
            mine[0] = values[0]
        turn(a, b, values)
        with group(thread[1]):
            out[0] = values[0] + c[63 - t]


@prism("global")
@requires(grid[1], block[1], thread[64])
def ways(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=id() * 64) as out:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            t: int32 @ thread[1] = id()
            for k in range(n):
                if k == 3:
                    continue
                with claim(s, thread[1]) as own:
                    match split(thread):
                        case 1:
                            own[0] = k
                total: int32 @ block[1] = s[0]
                if total > 5:
                    with partition(s, thread[1], offset=t) as mine:
                        with group(thread[1]):
                            mine[0] = total
                    total = s[1]
                with partition(out, thread[1], offset=t) as mine:
                    with group(thread[1]):
                        mine[0] = total


@functools.cache
def program(name: str) -> Program:
    """Return a program by its name here."""
    match name:
        case "scan":
            return build(single_pass.scan, single_pass.EXAMPLES["scan"])
        case "paper scan":
            return build(scan.scan, scan.EXAMPLES["scan"])
        case "hgemm":
            return build(hgemm.hgemm, hgemm.EXAMPLES["hgemm"])
        case "nasty":
            return build(nasty)
        case "ways":
            return build(ways)
        case _:
            return build(getattr(sgemm, name), sgemm.EXAMPLES[name])


NAMES = ("scan", "paper scan", "tiled", "warps", "nasty", "ways")
