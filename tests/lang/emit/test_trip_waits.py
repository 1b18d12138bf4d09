"""Waits for the wgmmas of the trip before: where they stand, and that the assembler then keeps wgmmas under way.

Tests of prism/lang/emit/trip_waits.py.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import re
from typing import Any

from prism import check
from prism.lang import (
    attr,
    block,
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
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
@template(SKIPS=constexpr(bool), AWAITED=constexpr(bool))
def repeated(v: ptr(const(half)) @ grid[1], o: ptr(float32) @ grid[1], trips: int32 @ grid[1]):
    with partition(o, block[1], 0) as out, group(block[1]):
        tile: shared(half[32, 64], swizzle=128)
        p: fragment(half, 64, 32) @ warpgroup[1] = 0
        sums: fragment(float32, 64, 64) @ warpgroup[1] = 0
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (e // 64, e % 64)) as mine, group(thread[1]):
            for e in range(t, 32 * 64, 128):
                mine[e] = v[e]
        for j in range(trips):
            with group(thread[1]):
                for i in range(count(p)):
                    p[i] = half(j + i)
            if SKIPS and j == 5:
                continue
            with group(warpgroup[1]):
                wgmma(sums, p, tile, transpose_b=True)
            if AWAITED:
                with group(thread[1]):
                    sums[0] += 1
        with partition(out, thread[1], lambda e: 128 * e + t) as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[i] = sums[i]


def program(skips: bool = False, awaited: bool = False) -> Any:
    return check(repeated, {"SKIPS": skips, "AWAITED": awaited})


def order(built: Any) -> list[str]:
    """What stands before the loop, and in it, in the order of the text: waits, writes of the operand, and wgmmas."""
    text = entry_of(built, "sm_90a").source
    text = text[text.index("const int px_stop") : text.index("sums_[i_")]
    words = {"wgmma.wait_group": "wait", "for (int j_": "loop", "p_[i_] =": "write", "wgmma.commit": "wgmma"}
    found = re.findall("|".join(map(re.escape, words)), text)
    return [words[word] for word in found]


def test_the_wait_stands_where_the_trip_ends() -> None:
    assert order(program())[:5] == ["wait", "loop", "write", "wgmma", "wait"]


def test_waits_that_stay_where_they_are() -> None:
    """Where a trip may end sooner, or waits itself, nothing is moved."""
    assert order(program(skips=True))[:4] == ["loop", "wait", "write", "wgmma"]
    assert order(program(awaited=True))[:4] == ["loop", "write", "wgmma", "wait"]


def test_wgmmas_stay_under_way() -> None:
    made: Any = compile_cubin(entry_of(program(), "sm_90a").source, "sm_90a")
    assert not re.search(r"C7\d\d\d", made.log) and made.spills == made.stack == 0
