"""Loops that make floats of 8 bits: which go by pairs, and what they compute.

Tests of prism/lang/emit/pairs.py.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from prism import check
from prism.interpret import run
from prism.lang import (
    attr,
    block,
    column,
    const,
    constexpr,
    count,
    dtype,
    float8_e4m3fn,
    float8_e5m2,
    float32,
    fragment,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    row,
    shared,
    template,
    thread,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.types.shorts import bits_of, values_of
from prism.runtime.build import entry_of


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
@template(T=dtype, FORM=constexpr(int))
def converted(
    x: ptr(const(float32)) @ grid[1], b: ptr(const(T)) @ grid[1], o: ptr(float32) @ grid[1], n: int32 @ grid[1]
):
    with partition(o, block[1], 0) as out, group(block[1]):
        tile: shared(T[64, 64], swizzle=64)
        p: fragment(T, 64, 64) @ warpgroup[1] = 0
        sums: fragment(float32, 64, 64) @ warpgroup[1]
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (e // 64, e % 64)) as mine, group(thread[1]):
            for e in range(t, 64 * 64, 128):
                mine[e] = b[e]
        with group(thread[1]):
            if FORM == 0:  # by pairs: all that it does is to convert
                for i in range(count(p)):
                    p[i] = T(x[64 * row(p, i) + column(p, i)] * n)
            elif FORM == 1:  # an odd number
                for i in range(count(p) - 1):
                    p[i] = T(x[64 * row(p, i) + column(p, i)] * n)
            elif FORM == 2:  # an element is read that the loop writes
                for i in range(count(p)):
                    p[i] = T(x[64 * row(p, i) + column(p, i)] + float32(p[max(i - 1, 0)]))
            elif FORM == 3:  # of numbers that are no floats
                for i in range(count(p)):
                    p[i] = T(i % 4)
            else:  # something else besides
                for i in range(count(p)):
                    p[i] = T(x[64 * row(p, i) + column(p, i)] * n)
                    t += 1
        with group(warpgroup[1]):
            wgmma(sums, p, tile, accumulate=False)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[64 * row(sums, i) + column(sums, i)] = sums[i]


@pytest.mark.parametrize("form", range(5))
@pytest.mark.parametrize("element", [float8_e4m3fn, float8_e5m2], ids=str)
def test_which_loops_go_by_pairs(element: Any, form: int, nvrtc: Any) -> None:
    text = entry_of(check(converted, {"T": element, "FORM": form}), "sm_90a").source
    kind = element.cuda.removeprefix("px_")
    assert (f"px_pack_{kind}(p_, i_" in text) == (form == 0)
    if form == 0:
        ptx = nvrtc(text, "sm_90a").ptx
        assert len(re.findall(rf"cvt\.rn\.satfinite\.{kind}x2\.f32", ptx)) == 16  # of 32 elements
        assert "for (int i_ = 0; i_ < 32; i_ += 2) {" in text


@pytest.mark.parametrize("element", [float8_e4m3fn, float8_e5m2], ids=str)
def test_what_is_converted(element: Any) -> None:
    random = np.random.default_rng(0)
    x, b = random.normal(size=(64, 64)).astype(np.float32), random.integers(-2, 3, (64, 64)).astype(np.float32)
    o = np.zeros(64 * 64, np.float32)
    given = bits_of(b, element).astype(np.uint8).ravel()
    run(check(converted, {"T": element, "FORM": 0}), 1, 128, [x.ravel(), given, o, np.int32(3)], check=True)
    rounded = np.asarray(values_of(bits_of(3 * x, element), element), np.float64)
    assert np.array_equal(o.reshape(64, 64), (rounded @ b.T).astype(np.float32))
