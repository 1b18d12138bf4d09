"""Kernels that the tests of the command name."""

# ruff: noqa: F821 -- kernels: names that they declare

from prism.lang import (
    CUtensorMap,
    attr,
    block,
    claim,
    const,
    dtype,
    float32,
    grid,
    group,
    half,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    template,
    thread,
    tma_load,
    tma_store,
    uint64,
)

EXAMPLES = {"scale": {"T": float32}}


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype)
def scale(a: T @ grid[1], x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine:
        with group(thread[1]):
            if i < n:
                mine[0] = a * x[i]


@prism("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def reversed_blocks(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], 64 * b) as y_block, group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[64 * b + t]
        with partition(y_block, thread[1], t) as mine, group(thread[1]):
            mine[0] = s[63 - t]


@prism("global")
@requires(grid[1], block[1], thread[64])
def unbounded(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], 64 * b) as y_block, group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[64 * b + t]
        with partition(y_block, thread[1], t) as mine, group(thread[1]):
            mine[0] = s[63 - t]


@prism("global")
@requires(grid[1], thread[32], cooperative=True)
def twice(x: ptr(float32) @ grid[1], h: half @ grid[1], new: uint64 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine:
        with group(thread[1]):
            mine[0] = mine[0] + float32(h) + float32(new)


@prism("global")
@requires(grid[1], block[1], thread[64])
def tile(x: const(CUtensorMap(int32, 8, 16)) @ grid[1], y: CUtensorMap(int32, 8, 16) @ grid[1]):
    with group(block[1]):
        s: shared(int32[8, 16], ring=2)
        storer, loader = roles(thread, 32, 32)
        for j in range(0, 64, 16):
            with claim(s, loader) as a, one(thread):
                tma_load(a, x[0, j])
            with claim(s, storer) as a, one(thread):
                tma_store(y[0, j], a)


@prism("device")
@requires(thread[1])
def plus(a: float32 @ thread[1], b: float32 @ thread[1]) -> float32 @ thread[1]:
    return a + b


@prism("global")
@requires(grid[1], thread[32])
def wrong(y: ptr(int32) @ grid[1]):
    y[0] = id()


@prism("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(32)")
def large(y: ptr(float32) @ grid[1]):
    with partition(y, block[1], 32 * id()) as y_block, group(block[1]):
        s: shared(float32[16384])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], lambda i: i * 32 + t) as mine, group(thread[1]):
            mine[0] = 1.0
        with partition(y_block, thread[1], t) as mine, group(thread[1]):
            mine[0] = s[31 - t]
