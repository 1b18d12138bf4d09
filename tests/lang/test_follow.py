"""Where a kernel waits for the one before it in its stream: before its first access to memory of the grid, in every block."""

# ruff: noqa: F821  names that Prism declares

from __future__ import annotations

from typing import Any

import pytest

from prism.lang import (
    CUtensorMap,
    block,
    claim,
    const,
    float32,
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
    thread,
    tma_load,
    tma_store,
    warp,
)
from prism.lang.emit import emit
from prism.lang.emit.follow import WAIT
from prism.lang.pipeline import build
from prism.runtime.build import entry_of


@prism("global")
@requires(grid[1], block[1], thread[64])
def reads(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as mine, group(thread[1]):
        twice: int32 = 2 * t
        if t < n:
            mine[0] = x[twice]


@prism("global")
@requires(grid[1], block[1], thread[64])
def returns(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    if n < 0:
        return
    with partition(y, thread[1], offset=t) as mine, group(thread[1]):
        mine[0] = t


@prism("global")
@requires(grid[1], block[1], thread[64])
def touches_nothing(n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()


@prism("global")
@requires(grid[1], block[1], thread[64])
def makes_a_pointer(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    twice: int32 = 2 * n
    p: ptr(int32) @ grid[1] = x


@prism("global")
@requires(grid[1], block[1], thread[64])
def copies(source: const(CUtensorMap(float32, 16, 64)) @ grid[1], target: CUtensorMap(float32, 16, 64) @ grid[1]):
    with group(block[1]):
        tiles: shared(float32[16, 64], ring=2)
        loader, storer = roles(warp, 1, 1)
        for step in range(4):
            with claim(tiles, loader) as filled, one(thread):
                tma_load(filled, source[16 * step, 0])
            with claim(tiles, storer) as full, one(thread):
                tma_store(target[16 * step, 0], full)


@prism("global")
@requires(grid[1], block[1], thread[64], cooperative=True)
def meets(x: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(x, thread[1], offset=t) as mine, group(thread[1]):
        mine[0] = 1


def lines(kernel: Any) -> list[str]:
    """Return the lines of a kernel's own text."""
    text = emit(build(kernel), comments=False).source
    return [line.strip() for line in text[text.index('extern "C"') :].splitlines()]


@pytest.mark.parametrize(
    "kernel, after",
    [
        (reads, "if (t < n) {"),
        (returns, "if (n < 0) {"),
        (touches_nothing, "}"),
        (makes_a_pointer, "int* p = x;"),
        (copies, "if (threadIdx.x < 32u) {"),
    ],
)
def test_the_wait_stands_before_the_first_access(kernel: Any, after: str) -> None:
    found = lines(kernel)
    assert found.count(WAIT) == 1 and found[found.index(WAIT) + 1] == after
    assert entry_of(build(kernel), "sm_90a").programmatic and not entry_of(build(kernel), "sm_80").programmatic


def test_a_cooperative_kernel_begins_when_the_one_before_has_ended() -> None:
    assert WAIT not in lines(meets) and not entry_of(build(meets), "sm_90a").programmatic
