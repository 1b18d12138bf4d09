"""Where a kernel waits for the one before it in its stream: before its first access to memory of the grid, in every block."""

# ruff: noqa: F821  names that Prism declares

from __future__ import annotations

import re
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
    prefetch,
    prism,
    ptr,
    requires,
    roles,
    shared,
    split,
    thread,
    tma_load,
    tma_prefetch,
    tma_store,
    warp,
)
from prism.lang.emit import emit
from prism.lang.emit.follow import WAIT
from prism.lang.pipeline import build, lower
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
@requires(grid[1], block[1], thread[96])
def copies_tiles(
    source: const(CUtensorMap(float32, 16, 64)) @ grid[1],
    y: ptr(float32) @ grid[1],
    tiles: int32 @ grid[1],
    steps: int32 @ grid[1],
):
    with partition(y, block[1], offset=64 * id()) as own, group(block[1]):
        rows: shared(float32[16, 64], ring=2)
        sums: shared(float32[64], ring=2)
        adders, loader, storer = roles(warp, 1, 1, 1)
        t: int32 @ thread[1] = id()
        for tile in range(tiles):
            top: int32 @ block[1] = 16 * tile * steps
            for step in range(steps):
                with claim(rows, loader) as filled, one(thread):
                    tma_load(filled, source[top + 16 * step, 0])
                with claim(rows, adders) as full, claim(sums, adders) as total:
                    with partition(total, thread[1], offset=t) as mine, group(thread[1]):
                        mine[0] = full[0, t] + full[1, t]
                with claim(sums, storer) as total, claim(own, storer) as target:
                    with partition(target, thread[1], offset=t % 32) as mine, group(thread[1]):
                        mine[0] += total[t % 32]


@prism("global")
@requires(grid[1], block[1], thread[64])
def copies_while(
    source: const(CUtensorMap(float32, 16, 64)) @ grid[1], y: ptr(float32) @ grid[1], tiles: int32 @ grid[1],
    steps: int32 @ grid[1],
):  # fmt: skip
    with partition(y, block[1], offset=64 * id()) as own, group(block[1]):
        rows: shared(float32[16, 64], ring=2)
        factor: shared(float32[32], ring=1)
        adders, loader = roles(warp, 1, 1)
        t: int32 @ thread[1] = id()
        sum: float32 @ thread[1] = 0
        tile: int32 @ block[1] = 0
        while tile < tiles:
            top: int32 @ block[1] = 16 * tile * steps
            with claim(factor, adders) as made, partition(made, thread[1], offset=t % 32) as mine, group(thread[1]):
                mine[0] = float32(tile)
            with claim(factor, adders) as by:
                for step in range(steps):
                    with claim(rows, loader) as filled, one(thread):
                        tma_load(filled, source[top + 16 * step, 0])
                    with claim(rows, adders) as full, group(thread[1]):
                        sum += full[0, t % 32] * by[t % 32]
            tile += 1
        with claim(own, adders) as target, partition(target, thread[1], offset=t % 32) as mine, group(thread[1]):
            mine[0] = sum


@prism("global")
@requires(grid[1], block[1], thread[64], cooperative=True)
def meets(x: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(x, thread[1], offset=t) as mine, group(thread[1]):
        mine[0] = 1


@prism("global")
@requires(grid[1], block[1], thread[64])
def prefetches(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    b: int32 @ block[1] = id()
    with (
        partition(x, block[1], offset=b * 64) as rows,
        partition(y, block[1], offset=b * 64) as target,
        group(block[1]),
    ):
        match split(thread):
            case 1:
                for k in range(4):
                    if k < n:
                        prefetch(rows[k * 1024], min(64, n))
        with partition(target, thread[1], offset=lambda i: t % 64) as mine, group(thread[1]):
            mine[0] = x[t]


@prism("global")
@requires(grid[1], block[1], thread[64])
def prefetches_what_memory_names(x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        prefetch(x[x[t]], 4)


@prism("global")
@requires(grid[1], block[1], thread[64])
def prefetches_as_much_as_memory_says(x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        prefetch(x[t], x[0])


@prism("global")
@requires(grid[1], block[1], thread[64])
def prefetches_where_memory_begins(x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    with partition(x, block[1], offset=x[0]) as rows, group(block[1]):
        match split(thread):
            case 1:
                prefetch(rows[0], 4)


@prism("global")
@requires(grid[1], block[1], thread[64])
def begins_where_memory_says(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=x[t]) as mine, group(thread[1]):
        mine[0] = t


@prism("global")
@requires(grid[1], block[1], thread[64])
def prefetches_and_reads_in_turn(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as mine, group(thread[1]):
        for k in range(n):
            prefetch(x[t + 64 * k], 4)
            mine[0] = x[t]


@prism("device")
@requires(thread[1])
def ask(x: ptr(const(int32)) @ grid[1]):
    prefetch(x[0], 4)


@prism("device")
@requires(thread[1])
def ask_and_read(x: ptr(const(int32)) @ grid[1]) -> int32 @ thread[1]:
    prefetch(x[0], 4)
    return x[1]


@prism("global")
@requires(grid[1], block[1], thread[64])
def calls_what_prefetches_and_reads(x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    with group(thread[1]):
        y: int32 = ask_and_read(x)


@prism("global")
@requires(grid[1], block[1], thread[64])
def calls_what_prefetches(x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    with group(thread[1]):
        ask(x)


@prism("global")
@requires(grid[1], block[1], thread[64])
def asks_for_tiles(source: const(CUtensorMap(int32, 2, 32)) @ grid[1], y: ptr(int32) @ grid[1], steps: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], offset=32 * b) as own, group(block[1]):
        rows: shared(int32[2, 32], ring=2)
        adder, loader = roles(warp, 1, 1)
        t: int32 @ thread[1] = id() % 32
        total: int32 @ thread[1] = 0
        with loader, one(thread):
            if b < 4:
                tma_prefetch(source[2 * b, 0])
        for step in range(steps):
            with claim(rows, loader) as filled, one(thread):
                tma_load(filled, source[2 * step, 0])
            with claim(rows, adder) as full, group(thread[1]):
                total += full[0, t] + full[1, t]
        with partition(own, thread[1], offset=t) as mine, adder, group(thread[1]):
            mine[0] = total


def lines(kernel: Any) -> list[str]:
    """Return the lines of a kernel's own text."""
    text = emit(lower(build(kernel)), comments=False).source
    return [line.strip() for line in text[text.index('extern "C"') :].splitlines()]


@pytest.mark.parametrize(
    "kernel, after",
    [
        (reads, "if (t_ < n_) {"),
        (returns, "if (n_ < 0) {"),
        (touches_nothing, "}"),
        (makes_a_pointer, "int* p_ = x_;"),
        (prefetches_what_memory_names, "px_prefetch(&x_[x_[t_]], 4);"),
        (prefetches_as_much_as_memory_says, "px_prefetch(&x_[t_], x_[0]);"),
        (prefetches_where_memory_begins, "{"),
        (begins_where_memory_says, "{"),
        (prefetches_and_reads_in_turn, "const int px_stop2 = n_;"),
        (calls_what_prefetches, "}"),
        (calls_what_prefetches_and_reads, "int y_ = prism_ask_and_read(x_);"),
    ],
)
def test_the_wait_stands_before_the_first_access(kernel: Any, after: str) -> None:
    found = lines(kernel)
    assert found.count(WAIT) == 1 and found[found.index(WAIT) + 1] == after
    assert entry_of(build(kernel), "sm_90a").programmatic and not entry_of(build(kernel), "sm_80").programmatic


def test_each_role_waits_for_itself() -> None:
    found = lines(copies)
    at = [k for k, line in enumerate(found) if line == WAIT]
    assert [found[k - 1] for k in at] == ["if (threadIdx.x == 0u) {", "if (threadIdx.x == 32u) {"]
    assert {found[k + 1] for k in at} == {"for (int step_ = 0; step_ < 4; ++step_) {"}


def test_a_loop_over_tiles_waits_inside_and_behind() -> None:
    found = lines(copies_tiles)
    adders, loader, storer = (found.index(line) for line in found if re.match(r"(} else )?if \(threadIdx.x <", line))
    at = [k for k, line in enumerate(found) if line == WAIT]
    assert adders < loader < at[0] < at[1] < storer < at[2] < at[3] and len(at) == 4  # those that add have no access
    for inside, behind in (at[:2], at[2:]):
        tile = found[inside - (2 if inside < storer else 1)]
        assert "int tile_" in tile and found[inside + 2].startswith("for (int step_")
        assert found[behind - 1] == "}" and not found[behind + 1].startswith("for")


def test_a_while_waits_inside_and_behind() -> None:
    """Also where the loop that reaches memory stands in a claim, of others' copies."""
    found = lines(copies_while)
    loader = next(k for k, line in enumerate(found) if line.startswith("} else"))
    at = [k for k, line in enumerate(found) if line == WAIT]
    loop = next(k for k in range(loader, len(found)) if found[k].startswith("while (tile_"))
    load = next(k for k, line in enumerate(found) if line.startswith("px_tma_load"))
    assert len(at) == 3 and at[0] < loader < loop < at[1] < load < at[2]
    assert any(line.startswith("for (int step_") for line in found[at[1] : at[1] + 3])


def test_a_prefetch_comes_before_the_wait() -> None:
    found = lines(prefetches)
    at = found.index(WAIT)
    asked = [k for k, line in enumerate(found) if line.startswith("px_prefetch(")]
    read = [k for k, line in enumerate(found) if "= x_[" in line]
    assert found.count(WAIT) == 1 and len(asked) == 1 and asked[0] < at < read[0]


def test_a_tensor_prefetch_comes_before_the_wait() -> None:
    found = lines(asks_for_tiles)
    at, asked, loaded = (
        [k for k, line in enumerate(found) if line.startswith(what)]
        for what in (WAIT, "px_tma_prefetch_2d<1, 32>(&source_, 2 * b_, 0);", "px_tma_load_2d")
    )
    assert len(at) == 2 and len(asked) == len(loaded) == 1 and asked[0] < min(at) and at[1] < loaded[0]


def test_a_cooperative_kernel_begins_when_the_one_before_has_ended() -> None:
    assert WAIT not in lines(meets) and not entry_of(build(meets), "sm_90a").programmatic
