"""Negation: each element by a thread of its own, and how many threads a block has."""

from dataclasses import dataclass

from prism.lang import block, const, dtype, grid, group, id, int64, partition, prism, ptr, requires, template, thread


@dataclass(frozen=True)
class Configuration:
    """`threads` a block."""

    threads: int


DEVICE = {size: Configuration(threads=256) for size in (1, 2, 4, 8)}
"""By the bytes of an element."""


@prism("global")
@template(T=dtype, THREADS=int)
@requires(grid[1], block[1], thread[THREADS])
def negate(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int64 @ grid[1]):
    i: int64 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        if i < n:
            mine[0] = -x[i]
