"""Kernels over arrays with axes, for the reference machine and the GPU."""

# ruff: noqa: F821 -- names that kernels declare

import prism
from prism.lang import (
    array,
    attr,
    block,
    cdiv,
    const,
    dtype,
    float32,
    grid,
    group,
    id,
    int32,
    int64,
    partition,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip

TILE = 8


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype)
def scaled(x: array(const(T), 2) @ grid[1], y: array(T, 2) @ grid[1], a: T @ grid[1]):
    t: int64 @ thread[1] = id()
    r: int64 @ thread[1] = t // x.shape[1]
    c: int64 @ thread[1] = t % x.shape[1]
    with partition(y, thread[1], lambda i, j: (r + i, c + j)) as mine, group(thread[1]):
        if r < x.shape[0]:
            mine[0, 0] = a * x[r, c]


@prism("device")
@requires(thread[1])
@template(T=dtype)
def row_sum(x: array(const(T), 2) @ grid[1], r: int32 @ thread[1]) -> T @ thread[1]:
    total: T = T(0)
    for c in range(x.shape[1]):
        total += x[r, c]
    return total


@prism("global")
@requires(grid[1], thread[1])
@template(T=dtype)
def row_sums(x: array(const(T), 2) @ grid[1], y: array(T, 1) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], lambda i: t + i) as mine, group(thread[1]):
        if t < y.shape[0]:
            mine[0] = row_sum(x, t)


@prism("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
@template(T=dtype)
def transposed(x: array(const(T), 2) @ grid[1], y: array(T, 2) @ grid[1]):
    across: int32 @ grid[1] = cdiv(int32(x.shape[1]), TILE)
    top: int32 @ block[1] = TILE * (id(block[1]) // across)
    left: int32 @ block[1] = TILE * (id(block[1]) % across)
    with partition(y, block[1], lambda i, j: (left + i, top + j)) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        r: int32 @ thread[1] = t // TILE
        c: int32 @ thread[1] = t % TILE
        tile: shared(T[TILE, TILE + 1]) @ block[1]
        with partition(tile, thread[1], lambda i: (r, c + i)) as slot, group(thread[1]):
            if top + r < x.shape[0] and left + c < x.shape[1]:
                slot[0] = x[top + r, left + c]
        with partition(out, thread[1], lambda i, j: (r + i, c + j)) as mine, group(thread[1]):
            if left + r < y.shape[0] and top + c < y.shape[1]:
                mine[0, 0] = tile[c, r]


@prism("global")
@requires(grid[1], thread[1])
def facts(y: array(int64, 1) @ grid[1], x: array(const(float32), 3) @ grid[1]):
    with partition(y, thread[1], lambda i: 7 * id(thread[1]) + i) as mine, group(thread[1]):
        mine[0] = x.ndim
        mine[1] = x.shape[0]
        mine[2] = x.shape[1]
        mine[3] = x.shape[2]
        mine[4] = x.strides[0]
        mine[5] = x.strides[1]
        mine[6] = x.strides[2]
