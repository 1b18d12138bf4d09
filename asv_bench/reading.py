"""A kernel that reads an array and keeps nothing: what no sum of the whole array can beat.

It reads as `prism.kernels.reduce` does, with the same blocks, rows and prefetches; but no two threads' sums meet, and nothing is
waited for at the end. The compiler can't drop the reads, for it can't know that no thread's sum is `never`.
"""
# ruff: noqa: F821, I001

from __future__ import annotations

from typing import Any

from prism.kernels.reduce import maps
from prism.kernels.reduce.single_pass import share
from prism.lang import (
    attr, block, const, constexpr, count, dtype, function, grid, group, id, int32, int64, partition, prefetch, prism, ptr,
    requires, split, template, thread,
)  # fmt: skip
from prism.host.plan import Step
from prism.lib.thread import operators
from prism.runtime.instance import Instance, instance

_SHARED = ("TI", "P", "T", "THREADS", "BLOCKS", "ROWS", "AHEAD", "WIDTH", "VECTORIZED")


@prism("global")
@template(
    TI=dtype, P=dtype, T=dtype, OP=function, THREADS=constexpr(int), BLOCKS=constexpr(int), ROWS=constexpr(int),
    AHEAD=constexpr(int), WIDTH=constexpr(int), VECTORIZED=constexpr(bool),
)  # fmt: skip
@requires(grid[1], block[1], thread[1])
@attr("__launch_bounds__(THREADS, BLOCKS)")
def read(x: ptr(const(TI)) @ grid[1], y: ptr(T) @ grid[1], n: int64 @ grid[1], zero: T @ grid[1], never: T @ grid[1]):
    """Add up each thread's share of `x`; `y[0]` becomes a sum that equals `never`, where there is one.

    Perspective: grid, of any number of blocks of up to `THREADS` threads.
    Shapes:      `x`: `n` elements, a multiple of `WIDTH`; `y`: one. The template is that of `prism.kernels.reduce.reduce`.
    Errors:      with `VECTORIZED`, `x` must be aligned to `WIDTH` elements, at most 16 bytes.
    Test:        tests/test_benchmarks.py
    """
    vectors: int64 @ grid[1] = n // WIDTH
    lane: int64 @ thread[1] = id()
    lanes: int64 @ grid[1] = count(thread[1])
    me: int32 @ block[1] = id()
    with partition(y, thread[1], offset=0, races="allow") as mine, group(block[1]):
        threads: int32 @ block[1] = count(thread[1])
        match split(thread):
            case 1:
                for j in range(AHEAD):
                    soon: int64 = int64(me) * threads + j * lanes
                    prefetch(x[soon * WIDTH], int32(min(max(vectors - soon, 0), threads)) * WIDTH)
        with group(thread[1]):
            sum: T = share(
                x, lane, lanes, vectors, 0, 0, zero, P=P, OP=OP, MAP=maps.same, ROWS=ROWS, WIDTH=WIDTH, VECTORIZED=VECTORIZED,
            )  # fmt: skip
            if sum == never:
                mine[0] = sum


def reading(step: Step) -> Instance:
    """Return the kernel that reads what a step of a sum does, in the same way. The step is a long array's, not `ONCE`."""
    given: dict[str, Any] = dict(step.instance.template)
    assert not given["ONCE"], "of a short array each thread has one share of loads"
    found = {name: given[name] for name in _SHARED} | {"OP": operators.add}
    return instance(read, tuple(sorted(found.items())))
