"""What the L2 shall keep of tensor copies: chosen by the kernel, by its templates or while it runs; nothing for the values.

Tests of prism/lang/intrinsics/memory.py.
"""

# ruff: noqa: F821  names that Prism declares

from __future__ import annotations

import re

import numpy as np
import pytest

from prism.interpret import run
from prism.lang import (
    CUtensorMap,
    block,
    claim,
    const,
    constexpr,
    float32,
    grid,
    group,
    int32,
    one,
    prism,
    requires,
    roles,
    shared,
    template,
    thread,
    tma_load,
    tma_store,
    warp,
)
from prism.lang.diagnostics import CompileError
from prism.lang.pipeline import build
from prism.runtime.build import entry_of


@prism("global")
@template(HOT=constexpr(bool), WHEN=constexpr(bool))
@requires(grid[1], block[1], thread[64])
def copies(
    source: const(CUtensorMap(float32, 16, 64)) @ grid[1], target: CUtensorMap(float32, 16, 64) @ grid[1],
    steps: int32 @ grid[1], kept: int32 @ grid[1],
):  # fmt: skip
    with group(block[1]):
        tiles: shared(float32[16, 64], ring=2)
        loader, storer = roles(warp, 1, 1)
        for step in range(steps):
            with claim(tiles, loader) as filled, one(thread):
                if WHEN:
                    if step < kept:
                        tma_load(filled, source[16 * step, 0], cache="evict_last")
                    else:
                        tma_load(filled, source[16 * step, 0], cache="evict_first")
                else:
                    tma_load(filled, source[16 * step, 0], cache="evict_last" if HOT else "")
            with claim(tiles, storer) as full, one(thread):
                tma_store(target[16 * step, 0], full, cache="evict_first" if HOT else "")


@prism("global")
@template(HOW=constexpr(int))
@requires(grid[1], block[1], thread[32])
def copies_how(source: const(CUtensorMap(float32, 16, 64)) @ grid[1], kept: int32 @ grid[1]):
    with group(block[1]):
        tiles: shared(float32[16, 64], ring=2)
        (loader,) = roles(warp, 1)
        with claim(tiles, loader) as filled, one(thread):
            tma_load(filled, source[0, 0], cache="evict_never" if HOW == 1 else "evict_last" if kept > 0 else "")


@pytest.mark.parametrize("hot", [False, True])
@pytest.mark.parametrize("when", [False, True])
def test_a_hint_is_chosen_by_the_kernel_and_changes_no_value(nvrtc, hot, when):
    program = build(copies, {"HOT": hot, "WHEN": when})
    source = entry_of(program, "sm_90a").source
    calls = re.findall(r"px_tma_(load|store)_2d(?:_(evict_\w+))?<", source[source.index("__global__") :])
    load = [("load", "evict_last"), ("load", "evict_first")] if when else [("load", "evict_last" if hot else "")]
    assert calls == [*load, ("store", "evict_first" if hot else "")]
    assert ("L2::cache_hint" in nvrtc(source, "sm_90a").ptx) == (hot or when)
    x, y = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32), np.zeros((64, 64), np.float32)
    run(program, 1, 64, [x, y, 4, 2], check=True)
    assert np.array_equal(x, y)


@pytest.mark.parametrize(
    ("how", "what"), [(1, "is one of '', 'evict_first', 'evict_last'"), (2, "is a compile-time constant")]
)
def test_another_hint_is_an_error(how, what):
    with pytest.raises(CompileError, match=f"`cache` of `tma_load` {what}"):
        build(copies_how, {"HOW": how})
