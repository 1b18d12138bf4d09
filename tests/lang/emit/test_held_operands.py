"""A wgmma's operand that is held in registers over a loop, beside another that the loop writes: which compilers are right."""
# ruff: noqa: F821, I001 -- names that the kernels declare

from __future__ import annotations

import pytest

import prism
from prism.lang import (
    attr, block, column, constexpr, const, count, float32, fragment, grid, group, half, id, int32, partition, ptr, requires, row,
    shared, template, thread, warpgroup, wgmma,
)  # fmt: skip
from prism.runtime import compile as compiler
from tests.machine_code import call_compiler

LINE = "// NVRTC 13.1 or later: a wgmma's operand `{}` is held in registers over a loop that writes `{}`, another's\n"


@prism("device")
@requires(warpgroup[1])
def add(
    sums: fragment(float32, 64, 32) @ warpgroup[1],
    given: fragment(half, 64, 32) @ warpgroup[1],
    tile: shared(half[32, 32], swizzle=64) @ warpgroup[1],
):
    wgmma(sums, given, tile, transpose_b=True)


@prism("global")
@template(N=constexpr(int), HELD=constexpr(bool), LENT=constexpr(bool))
@requires(grid[1], block[1], warpgroup[1])
@attr("__launch_bounds__(128, 1)")
def products(y: ptr(float32) @ grid[1], x: ptr(const(half)) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1]) as out, group(block[1]):
        tile: shared(half[N, 32], swizzle=64)
        first: fragment(half, 64, 32) @ warpgroup[1] = 0
        scores: fragment(float32, 64, N) @ warpgroup[1] = 0
        weights: fragment(half, 64, N) @ warpgroup[1] = 0
        sums: fragment(float32, 64, 32) @ warpgroup[1] = 0
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (t, e)) as mine, group(thread[1]):
            if t < N:
                for e in range(32):
                    mine[e] = x[t * 32 + e]
        with group(thread[1]):
            for i in range(count(first)):
                first[i] = x[row(first, i) * 32 + column(first, i)]
        for j in range(n):
            with group(warpgroup[1]):
                wgmma(scores, first, tile, accumulate=False)
            if j > 3:
                with group(thread[1]):
                    for i in range(count(scores)):
                        scores[i] = scores[i] if t + i > j else -1000.0
            with group(thread[1]):
                for i in range(count(weights)):
                    weights[i] = half(scores[i])
                if not HELD:
                    for i in range(count(first)):
                        first[i] = x[row(first, i) * 32 + column(first, i) + j]
            if LENT:
                with partition(tile, warpgroup[1]) as own, group(warpgroup[1]):
                    add(sums, weights, own)
            else:
                with group(warpgroup[1]):
                    wgmma(sums, weights, tile, transpose_b=True)
        with partition(out, thread[1], t) as mine, group(thread[1]):
            total: float32 = 0
            for i in range(count(sums)):
                total += sums[i]
            mine[0] = total


@pytest.mark.parametrize(
    ("sizes", "needed"),
    [
        ({"N": 32, "HELD": True, "LENT": False}, True),
        ({"N": 32, "HELD": True, "LENT": True}, True),
        ({"N": 64, "HELD": True, "LENT": False}, False),  # of other sizes they are apart
        ({"N": 32, "HELD": False, "LENT": False}, False),  # both are written
    ],
)
def test_the_text_says_what_it_needs(sizes: dict[str, object], needed: bool) -> None:
    assert (LINE.format("first", "weights") in prism.compile(products, sizes).cuda) == needed


def test_an_older_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = prism.compile(products, {"N": 32, "HELD": True, "LENT": False}).cuda
    monkeypatch.setattr(compiler, "nvrtc_version", lambda: (13, 0))
    with (
        call_compiler(),
        pytest.raises(
            compiler.AssemblerError, match=r"NVRTC 13.0 makes wrong code .*`first`.*nvrtc 13.1 or later"
        ) as caught,
    ):
        compiler.compile_cubin(text, "sm_90a")
    assert caught.value.source == text
    monkeypatch.setattr(compiler, "nvrtc_version", lambda: (13, 1))
    assert compiler.compile_cubin(text, "sm_90a").spills == 0
