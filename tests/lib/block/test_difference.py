"""block.difference, difference_right, heads and tails, against NumPy, in every arrangement and from tile to tile.

Tests of prism/lib/block/difference.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
    uint8,
)
from prism.lib.thread import operators
from tests.lib.oracles import SCHEDULES


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), RIGHT=constexpr(bool))
def differences(
    x: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    marks: ptr(uint8) @ grid[1],
    ends: ptr(T) @ grid[1],
    n: int32 @ grid[1],
    edge: T @ grid[1],
    first: int32 @ grid[1],
):
    t: int32 @ thread[1] = id()
    with (
        partition(ends, thread[1], 2 * t) as own,
        partition(y, block[1]) as target,
        partition(marks, block[1]) as marked,
    ):
        with group(block[1]):
            items: T[ITEMS] @ thread[1]
            flags: bool[ITEMS] @ thread[1]
            bytes: uint8[ITEMS] @ thread[1]
            end: T @ block[1] = edge
            other: T @ block[1] = edge
            block.load(x, items, n, 0, WIDTH=WIDTH, VECTORIZED=False)
            if RIGHT:
                end = block.tails(items, flags, edge, first != 0, WIDTH=WIDTH, DIFFERENT=operators.not_equal)
                other = block.difference_right(items, edge, WIDTH=WIDTH, OP=operators.subtract)
            else:
                end = block.heads(items, flags, edge, first != 0, WIDTH=WIDTH, DIFFERENT=operators.not_equal)
                other = block.difference(items, edge, WIDTH=WIDTH, OP=operators.subtract)
            with group(thread[1]):
                for k in range(ITEMS):
                    bytes[k] = 1 if flags[k] else 0
            block.store(target, items, n, WIDTH=WIDTH, VECTORIZED=False)
            block.store(marked, bytes, n, WIDTH=WIDTH, VECTORIZED=False)
            with group(thread[1]):
                own[0] = end
                own[1] = other


@pytest.mark.covering(2)
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("kind", ["int32", "float64", "float16", "uint8"])
@pytest.mark.parametrize(("threads", "items", "width"), [(32, 1, 1), (96, 4, 4), (128, 6, 2)])
def test_against_numpy(threads: int, items: int, width: int, kind: str, right: bool) -> None:
    n = threads * items
    x = np.random.default_rng(0).integers(0, 3, n).astype(kind)
    template = {"ITEMS": items, "WIDTH": width, "RIGHT": right}
    for edge, first in ((x[-1] if right else x[0], False), (x[-1] if right else x[0], True), (x.dtype.type(9), False)):
        for schedule, seed in SCHEDULES[:2]:
            y, marks, ends = np.zeros_like(x), np.zeros(n, np.uint8), np.zeros(2 * threads, kind)
            arguments = (x, y, marks, ends, n, edge, int(first))
            differences[1, threads](*arguments, template=template, check=True, schedule=schedule, seed=seed)
            others = np.array([*x[1:], edge] if right else [edge, *x[:-1]], kind)
            flags = x != others
            flags[-1 if right else 0] |= first
            assert np.array_equal(y, x - others)
            assert np.array_equal(marks, flags)
            assert (ends == (x[0] if right else x[-1])).all()


def test_they_compile() -> None:
    for right in (False, True):
        template = {"T": "bfloat16", "ITEMS": 4, "WIDTH": 4, "RIGHT": right}
        assert package.compile(differences, template).cubin
