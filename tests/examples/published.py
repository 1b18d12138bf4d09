"""Faults of synchronisation that others have published, as small programs of Prism: what they forgot is nowhere in these either.

Each is the place of the fault in our words: who writes, who reads, what runs apart. `tests/examples/test_published.py` says what
becomes of them, and docs/published.md tells of it.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

from prism.lang import (
    CUtensorMap,
    attr,
    bf16,
    block,
    bulk_reduce,
    bulk_store,
    claim,
    const,
    count,
    float32,
    fragment,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    shuffle_xor,
    thread,
    tma_load,
    warp,
    warpgroup,
    wgmma,
)  # fmt: skip


@prism("global")
@requires(grid[1], block[1], thread[128])
def epilogue(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    """flash-attention #1344: warps write the result's tile, all threads copy it out, and nobody met in between."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(float32[128])
        with partition(tile, thread[1], t) as own, group(thread[1]):
            own[0] = 2 * x[t]
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = tile[127 - t]


@prism("global")
@requires(grid[1], block[1], thread[64])
def follower(dout: ptr(const(float32)) @ grid[1], sums: ptr(float32) @ grid[1]):
    """flash-attention #2481, cutlass #2760: launched while the kernel before it still writes what this one reads first."""
    t: int32 @ thread[1] = id()
    with partition(sums, thread[1], t) as mine, group(thread[1]):
        mine[0] = dout[t] * dout[t]


@prism("global")
@requires(grid[1], block[1], warp[5])
def handed_over(w: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], tiles: int32 @ grid[1]):
    """cudnn-frontend #426: all lanes of a warp store, and one of them arrives for all at the barrier that readers wait for."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        weights: shared(float32[64], ring=2)
        readers, loader = roles(warp, 4, 1)
        lane: int32 @ thread[1] = id() % 32
        t: int32 @ thread[1] = id() % 128
        total: float32 @ thread[1] = 0
        for tile in range(tiles):
            with claim(weights, loader) as filled, partition(filled, thread[1], lane) as own, group(thread[1]):
                own[0] = w[64 * tile + lane]
                own[32] = w[64 * tile + 32 + lane]
            with claim(weights, readers) as now, group(thread[1]):
                for i in range(64):
                    total += now[i]
        with partition(out, thread[1], t) as mine, readers, group(thread[1]):
            mine[0] = total


@prism("global")
@requires(grid[1], block[1], thread[64])
def staged(x: ptr(const(float32)) @ grid[1], sums: ptr(float32) @ grid[1], rows: int32 @ grid[1]):
    """cudnn-frontend #1049: many threads write a staging tile, one has the engine add it up, and the next tile comes too soon."""
    with group(block[1]):
        stage: shared(float32[64])
        t: int32 @ thread[1] = id()
        for row in range(rows):
            with partition(stage, thread[1], t) as own, group(thread[1]):
                own[0] = x[64 * row + t]
            with one(thread):
                bulk_reduce(sums[0], stage)


@prism("global")
@requires(grid[1], block[2], thread[32])
def halves(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    """cutlass #3643: each block of a pair loads its half by a barrier of its own, and one reads both."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[2]):
        scales: shared(float32[2, 32])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % 32
        with partition(scales, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
            own[0] = x[i]
        with group(thread[1]):
            mine[0] = scales[0, t] + scales[1, t]


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def released(
    map_a: const(CUtensorMap(bf16, 64, 16, swizzle=32)) @ grid[1],
    map_b: const(CUtensorMap(bf16, 16, 16, swizzle=32)) @ grid[1],
    c: ptr(float32) @ grid[1], steps: int32 @ grid[1],
):  # fmt: skip
    """tilelang #2613, cutlass #2508: tiles are given back, and loaded over, while the tensor cores still read them."""
    with partition(c, block[1], offset=0) as out, group(block[1]):
        a: shared(bf16[64, 16], ring=1, swizzle=32)
        b: shared(bf16[16, 16], ring=1, swizzle=32)
        consumers, loader = roles(warp, 4, 1)
        sums: fragment(float32, 64, 16) @ warpgroup[1] = 0
        for k in range(steps):
            with claim(a, loader) as a_in, claim(b, loader) as b_in, one(thread):
                tma_load(a_in, map_a[64 * k, 0])
                tma_load(b_in, map_b[16 * k, 0])
            with claim(a, consumers) as a_now, claim(b, consumers) as b_now, group(warpgroup[1]):
                wgmma(sums, a_now, b_now)
        t: int32 @ thread[1] = id()
        with partition(out, thread[1], offset=8 * t) as mine, consumers, group(thread[1]):
            for i in range(count(sums)):
                mine[i] = sums[i]


@prism("global")
@requires(grid[1], block[1], warpgroup[1])
def weights_in_memory(p: ptr(const(bf16)) @ grid[1], v: ptr(const(bf16)) @ grid[1], c: ptr(float32) @ grid[1]):
    """FlashMLA-ETAP #3: weights are stored by all threads, and multiplied as one tile, of which other warps wrote the rest."""
    with partition(c, block[1], offset=0) as out, group(block[1]):
        weights: shared(bf16[64, 16], swizzle=32)
        values: shared(bf16[16, 16], swizzle=32)
        t: int32 @ thread[1] = id()
        sums: fragment(float32, 64, 16) @ warpgroup[1] = 0
        with partition(weights, thread[1], lambda j: (t // 2, t % 2 * 8 + j)) as own, group(thread[1]):
            for j in range(8):
                own[j] = p[8 * t + j]
        with partition(values, thread[1], lambda j: (t // 8, t % 8 * 2 + j)) as own, group(thread[1]):
            for j in range(2):
                own[j] = v[2 * t + j]
        with group(warpgroup[1]):
            wgmma(sums, weights, values)
        with partition(out, thread[1], offset=8 * t) as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[i] = sums[i]


@prism("global")
@requires(grid[1], block[1], thread[64])
def state(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], tiles: int32 @ grid[1]):
    """FlashKDA #24, Fuser #5448: plain stores that the copy engine takes out, tile after tile."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        tile: shared(float32[64])
        t: int32 @ thread[1] = id()
        for i in range(tiles):
            with partition(tile, thread[1], t) as own, group(thread[1]):
                own[0] = 3 * x[64 * i + t]
            with one(thread):
                bulk_store(out[64 * i], tile)


@prism("global")
@requires(grid[1], block[1], thread[32])
def quantized(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """llama.cpp #28358: all lanes write their word, the last ones' padding, where others then write the scales."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        words: shared(int32[32])
        t: int32 @ thread[1] = id()
        with partition(words, thread[1], t) as own, group(thread[1]):
            own[0] = x[t] if t < 16 else 0
        with partition(words, thread[1], 31 - t) as scale, group(thread[1]):
            if t < 2:
                scale[0] = 100 + t
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = words[t]


@prism("global")
@requires(grid[1], block[1], thread[128])
def normalized(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], tokens: int32 @ grid[1]):
    """sparkinfer #705, cutlass #386: what warps leave for a token is written over while others still read the last one's."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        part: shared(float32[4])
        t: int32 @ thread[1] = id()
        w: int32 @ warp[1] = id()
        for token in range(tokens):
            value: float32 @ thread[1] = x[128 * token + t]
            total: float32 @ thread[1] = value
            for s in range(5):
                total += shuffle_xor(total, 1 << s)
            with partition(part, warp[1], w) as own, group(warp[1]), claim(own, thread[1]) as word, one(thread):
                word[0] = total
            with partition(out, thread[1], lambda i: 128 * token + t + i) as mine, group(thread[1]):
                mine[0] = value * (part[0] + part[1] + part[2] + part[3])


@prism("global")
@requires(grid[1], block[1], thread[128])
def cleared(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    """llm.c #847: the first warp clears the sums of all warps, and these write their own, whoever comes first."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        sums: shared(float32[32])
        t: int32 @ thread[1] = id()
        w: int32 @ warp[1] = id()
        with partition(sums, thread[1], t) as own, group(thread[1]):
            if t < 32:
                own[0] = 0
        with partition(sums, warp[1], w) as own, group(warp[1]), claim(own, thread[1]) as word, one(thread):
            word[0] = x[w]
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = sums[t % 32]


@prism("global")
@requires(grid[1], block[1], thread[64])
def left_behind(x: ptr(const(float32)) @ grid[1], sums: ptr(float32) @ grid[1]):
    """cudnn-frontend #395: the block ends, and its shared memory with it, while the engine still reads what it is to add up."""
    with group(block[1]):
        part: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(part, thread[1], t) as own, group(thread[1]):
            own[0] = x[t]
        with one(thread):
            bulk_reduce(sums[0], part)


# -- Refused --------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[128])
def some_warps_meet(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    """llama.cpp #27870, #13469: the block's barrier stands where only some of its warps come by."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        w: int32 @ warp[1] = id()
        tile: shared(float32[128])
        if w % 2 == 0:  # the block would have to meet between the two
            with partition(tile, thread[1], t) as own, group(thread[1]):
                own[0] = x[t]
            with partition(out, thread[1], t) as mine, group(thread[1]):
                mine[0] = tile[127 - t]


@prism("global")
@requires(grid[1], block[1], thread[32])
def padded(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """llama.cpp #28358, at once: lanes' words and the scales, of which some are the same."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        words: shared(int32[32])
        t: int32 @ thread[1] = id()
        with partition(words, thread[1], lambda i: t + 16 * i) as own, group(thread[1]):
            own[0] = x[t]
            own[1] = 1


@prism("global")
@requires(grid[1], block[1], thread[64])
def one_for_all(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    """cudnn-frontend #426, by hand: one lane writes what only others may."""
    with partition(y, block[1], offset=0) as out, group(block[1]):
        tile: shared(float32[64])
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            tile[t] = x[t]
