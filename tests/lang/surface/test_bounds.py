"""Sizes of a bound in quotes: names of template parameters, of which Python knows nothing, and arithmetic with them.

Tests of prism/lang/surface/templates.py and prism/lang/check/signature.py.
"""

# ruff: noqa: F821 - template parameters, and what is declared in kernels

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import prism
from prism.lang import (
    CompileError,
    block,
    constexpr,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    shared,
    static_assert,
    template,
    thread,
    warp,
)

WARPS = 2


@dataclass(frozen=True)
class Cut:
    rows: int

    @property
    def threads(self) -> int:
        return 32 * self.rows


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("N", 64), (" N ", 64), ("N * 2", 128), ("2 * N", 128), ("N // 2", 32), ("N / 4", 16), ("N + 32", 96), ("32 + N", 96),
        ("N - 32", 32), ("128 - N", 64), ("512 // N", 8), ("N * K // 2", 96), ("(N - 32) * K", 96), ("N - K", 61),
        ("WARPS * 32", 64), ("N // WARPS", 32), ("CUT.threads", 128), ("CUT.rows * N", 256), ("32", 32),
    ],
)  # fmt: skip
def test_a_size_in_quotes(text: str, size: int) -> None:
    @prism.kernel
    @template(N=constexpr(int), K=constexpr(int), CUT=constexpr(Cut))
    @requires(grid[1], block[1], thread[text])
    def ones(y: ptr(int32) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(thread[1]):
            mine[0] = 1

    assert prism.check(ones, {"N": 64, "K": 3, "CUT": Cut(4)}).entry.bound.thread == size


@requires(grid[1], warp["N"])
@template(N=constexpr(int))
def below(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = N


def test_quotes_need_no_order_of_decorators() -> None:
    y = np.zeros(64, np.int32)
    prism.kernel(below)[1, 64](y, template={"N": 2}, check=True)
    assert (y == 2).all()
    with pytest.raises(prism.LaunchError, match="multiple of 96 threads"):
        prism.kernel(below)[1, 64](y, template={"N": 3})


@prism.kernel
@template(N=constexpr(int))
@requires(grid[1], block[1], thread["N"], smem="N * 4")
def summed(y: ptr(int32) @ grid[1]):
    @requires(block[1], thread["N // 2"])
    def halves():
        static_assert(N != 128, "of this test")

    with partition(y, thread[1], id()) as mine, group(block[1]):
        halves()
        tile: shared(int32[64])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], t) as slot, group(thread[1]):
            slot[0] = t
        with group(thread[1]):
            mine[0] = tile[63 - t]


def test_a_function_inside_and_a_limit_of_memory() -> None:
    y = np.zeros(64, np.int32)
    summed[1, 64](y, template={"N": 64}, check=True)
    assert np.array_equal(y, np.arange(64)[::-1])
    with pytest.raises(CompileError, match="of this test"):
        prism.check(summed, {"N": 128})
    with pytest.raises(CompileError, match="call-smem"):
        prism.check(summed, {"N": 32})


def test_a_number_of_the_file_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    @prism.kernel
    @template(N=constexpr(int))
    @requires(grid[1], block[1], thread["N * WARPS"])
    def ones(y: ptr(int32) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(thread[1]):
            mine[0] = 1

    assert prism.check(ones, {"N": 32}).entry.bound.thread == 64
    monkeypatch.setitem(globals(), "WARPS", 4)
    assert prism.check(ones, {"N": 32}).entry.bound.thread == 128


@pytest.mark.parametrize("text", ["", "N *", "f(N)", "N % 2", "import os", "N[", "1 / 0"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(TypeError, match="is no size: write"):
        thread[text]


def test_a_size_that_cannot_be_computed() -> None:
    @prism.kernel
    @template(N=constexpr(int))
    @requires(grid[1], thread["64 // N"])
    def ones(y: ptr(int32) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(thread[1]):
            mine[0] = 1

    for n in (0, 65):
        with pytest.raises(CompileError, match="positive constant size"):
            prism.check(ones, {"N": n})
