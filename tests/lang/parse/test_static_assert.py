"""`static_assert`: what a function demands of constants, and of its block's size; errors stand at the call.

Tests of prism/lang/facts/blocks.py.
"""
# ruff: noqa: F821 -- template parameters

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism
from prism import lib
from prism.lang import (
    Kernel,
    attr,
    block,
    constexpr,
    count,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    static_assert,
    template,
    thread,
)
from prism.launcher import host_entry
from prism.lib.thread import operators


@prism("device")
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), WIDE=constexpr(bool))
@requires(thread[1])
def demanding(items: T[ITEMS] @ thread[1]) -> T @ thread[1]:
    static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0, "`ITEMS` is a multiple of `WIDTH`")
    if WIDE:
        static_assert(WIDTH * T.bytes <= 16, "a vector has at most 16 bytes")
    static_assert(T != int32 or not WIDE, "not of int32")
    return items[0]


@prism("global")
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), WIDE=constexpr(bool))
@requires(grid[1], thread[1])
def calling(y: ptr(T) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        items: T[ITEMS] @ thread[1] = {0}
        mine[0] = demanding(items, WIDTH=WIDTH, WIDE=WIDE)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("float32", 4, 2, True), None), (("float32", 3, 2, False), "`ITEMS` is a multiple of `WIDTH`"),
        (("float32", 8, 8, False), None),
        (("float32", 8, 8, True), "at most 16 bytes"), (("float64", 4, 4, True), "at most 16 bytes"),
        (("int32", 4, 4, True), "not of int32"), (("int32", 4, 4, False), None),
    ],
)  # fmt: skip
def test_constants(given: tuple[Any, ...], text: str | None) -> None:
    """In a branch that constants leave out nothing is demanded."""
    named = dict(zip(("T", "ITEMS", "WIDTH", "WIDE"), given, strict=True))
    if text is None:
        prism.check(calling, named)
        return
    with pytest.raises(prism.CompileError) as caught:
        prism.check(calling, named)
    (error,) = caught.value.errors
    assert error.code == "static-assert" and text in str(caught.value)
    assert "demanding(items" in Path(__file__).read_text().splitlines()[error.span.line - 1], "it stands at the call"


def test_nothing_is_emitted() -> None:
    named = {"T": "float32", "ITEMS": 4, "WIDTH": 2, "WIDE": True}
    assert "assert" not in prism.compile(calling, template=named, arch="sm_90a").cuda.replace(
        "static_assert(sizeof", ""
    )


@prism("device")
@template(THREADS=constexpr(int))
@requires(block[1], thread[32])
def of_a_block(value: int32 @ thread[1]) -> int32 @ thread[1]:
    static_assert(count(thread[1]) == THREADS, "a block has `THREADS` threads")
    return value


@prism("device")
@template(THREADS=constexpr(int))
@requires(block[1], thread[32])
def through(value: int32 @ thread[1]) -> int32 @ thread[1]:
    return of_a_block(value, THREADS=THREADS)


@prism("global")
@template(N=constexpr(int), M=constexpr(int))
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(256)")
def blocks(y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        v: int32 @ thread[1] = of_a_block(i, THREADS=N)
        w: int32 @ thread[1] = through(i, THREADS=M)
        with group(thread[1]):
            mine[0] = v + w


@pytest.mark.parametrize(
    ("n", "m", "where"), [(96, 96, "of_a_block(i"), (512, 512, "of_a_block(i"), (128, 64, "demanded")]
)
def test_blocks_that_the_kernel_cannot_have(n: int, m: int, where: str) -> None:
    with pytest.raises(prism.CompileError, match="demands blocks of") as caught:
        prism.check(blocks, {"N": n, "M": m})
    assert where in str(caught.value)


def test_launches_are_held_to_the_size() -> None:
    named, y = {"N": 128, "M": 128}, np.zeros(256, np.int32)
    assert host_entry(prism.check(blocks, named)).block_threads == 128
    for threads in (64, 192, 256):
        with pytest.raises(prism.LaunchError, match="needs blocks of 128 threads"):
            blocks[1, threads](y, template=named)
    blocks[2, 128](y, template=named, check=True)
    assert np.array_equal(y, 2 * np.arange(256))
    blocks[2](y, template=named)  # the number of threads is known


@prism("global")
@template(WHAT=constexpr(int))
@requires(grid[1], block[1], thread[32])
def collective(x: ptr(int32) @ grid[1]):
    with partition(x, block[1], 96 * id()) as out, group(block[1]):
        items: int32[3] @ thread[1] = {0}
        four: int32[4] @ thread[1] = {0}
        if WHAT == 0:
            block.load(out, items, 96, 0, WIDTH=4, VECTORIZED=False)
        elif WHAT == 1:
            block.store(out, items, 96, WIDTH=4, VECTORIZED=False)
        elif WHAT == 2:
            block.scan(items, 0, WIDTH=2, OP=operators.add, EXCLUSIVE=False)
        elif WHAT == 3:
            block.load(out, four, 96, 0, WIDTH=2, VECTORIZED=True)
        elif WHAT == 4:
            block.blocked_to_striped(items, THREADS=48)
        else:
            block.load(out, items, 96, 0, WIDTH=3, VECTORIZED=True)


@pytest.mark.parametrize("what", [0, 1, 2, 4, 5])
def test_collectives_that_were_silently_wrong(what: int) -> None:
    with pytest.raises(prism.CompileError) as caught:
        prism.check(collective, {"WHAT": what})
    (error,) = caught.value.errors
    assert error.code == "static-assert" and error.span.file == __file__


def test_collectives_that_are_right() -> None:
    prism.check(collective, {"WHAT": 3})


def functions() -> Iterator[tuple[str, str]]:
    """The library's collectives, each with its text."""
    for level in (lib.thread, lib.warp, lib.block):
        for name in level.__all__:
            if isinstance(collective := getattr(level, name), Kernel):
                yield f"{level.__name__}.{name}", inspect.getsource(collective.python)


@pytest.mark.parametrize(("name", "text"), [pytest.param(*each, id=each[0]) for each in functions()])
def test_each_collective_states_its_demands(name: str, text: str) -> None:
    """Whoever has `WIDTH` beside `ITEMS`, `THREADS`, `SIZE` or `VECTORIZED` says what they must be."""
    if "ITEMS=constexpr" in text and "WIDTH=constexpr" in text:
        assert "static_assert(WIDTH >= 1 and ITEMS % WIDTH == 0," in text
    if "THREADS=constexpr" in text:
        assert "static_assert(count(thread[1]) == THREADS," in text
    for parameter in ("SIZE", "VECTORIZED"):
        if f"{parameter}=constexpr" in text:
            assert any("static_assert(" in line and parameter in line for line in text.splitlines())
