"""Weights of 4 or 8 bits in words: how they are packed, and how a word becomes pairs of 16-bit floats.

A strip of 16 columns of the weights (16 results) and 16 of K are the first operand of one product of the tensor cores. Of it each
lane has 8 elements, in one word of 4-bit numbers, or two of 8-bit numbers. The words of 16 of K lie side by side, by lanes.
So a warp that multiplies by `wgmma` reads its operand as it is; and one that multiplies few rows reads 16 bytes a lane, of which
each word is of the same 16 of K: it only takes K in another order, and reads the other operand in that order too.
"""

from __future__ import annotations

from prism.lang import (
    attr, bitcast, block, byte_permute, const, constexpr, dtype, float16, float32, fma_bf16x2, grid, group, id, int32, int64,
    mul_f16x2, pack_bf16x2, pack_f16x2, partition, prism, ptr, requires, store_vector, sub_f16x2, template, thread, uint8, uint32,
    vector,
)  # fmt: skip

STRIP = 16
"""Columns of the weights that lie together."""
DEEP = 64
"""K is packed in whole steps of so many, the last filled up with zeros."""
LANES = 32
THREADS = 256


@prism.device
@template(T=dtype, BITS=constexpr(int))
@requires(thread[1])
def offset_of(zero: int32 @ thread[1]) -> uint32 @ thread[1]:
    """What `expand` takes off for a zero point: 16-bit floats that end in a number's bits are too large by so much.

    Of bfloat16, whose 8 bits of precision do not hold 256 and such a number, it is for float32.
    """
    if T == float16:
        return uint32(0x64006400) + uint32(zero) * 0x10001  # 1024 + zero, twice
    elif BITS == 4:
        return uint32(0xC300C300) + uint32(zero) * 0x10001  # -(128 + zero), twice
    else:
        return uint32(0x4B000000) + uint32(zero)  # 2^23 + zero


@prism.device
@template(T=dtype, BITS=constexpr(int))
@requires(thread[1])
def expand(words: uint32[BITS // 4] @ thread[1], offsets: uint32[2] @ thread[1], pairs: uint32[4] @ thread[1]):
    """Make the numbers of a lane's words 16-bit floats, less the zero points of its two columns: pairs of them, exact.

    Perspective: thread.
    Shapes:      `pairs`: of the first column, the second, and both once more with K 8 further on, as `mma_m16n8k16` takes them.
    Numerics:    exact: they have at most 8 bits, and a sign.
    Cost:        of 4 bits about 3 instructions a pair, of 8 bits 2 of float16 and 5 of bfloat16.
    Test:        tests/kernels/test_mixed.py
    """
    for p in range(4):
        if BITS == 4:
            if T == float16:
                pairs[p] = sub_f16x2((words[0] >> (4 * p)) & 0x000F000F | 0x64006400, offsets[p % 2])
            else:
                pairs[p] = fma_bf16x2((words[0] >> (4 * p)) & 0x000F000F | 0x43004300, 0x3F803F80, offsets[p % 2])
        elif T == float16:
            pairs[p] = sub_f16x2(byte_permute(words[p // 2], 0x64, 0x4140 if p % 2 == 0 else 0x4342), offsets[p % 2])
        else:
            offset: float32 = bitcast(offsets[p % 2], float32)
            low: float32 = bitcast(byte_permute(words[p // 2], 0x4B000000, 0x7440 + p % 2 * 2), float32) - offset
            high: float32 = bitcast(byte_permute(words[p // 2], 0x4B000000, 0x7441 + p % 2 * 2), float32) - offset
            pairs[p] = byte_permute(bitcast(low, uint32), bitcast(high, uint32), 0x7632)


@prism.device
@template(T=dtype)
@requires(thread[1])
def scale_pairs(pairs: uint32[4] @ thread[1], scales: uint32[2] @ thread[1]):
    """Multiply pairs by the scales of their columns, each of which is in both halves of a word; products are rounded to `T`.

    Perspective: thread.
    Test:        tests/kernels/test_mixed.py
    """
    for p in range(4):
        if T == float16:
            pairs[p] = mul_f16x2(pairs[p], scales[p % 2])
        else:
            pairs[p] = fma_bf16x2(pairs[p], scales[p % 2], 0x80008000)


@prism.kernel
@template(T=dtype, TS=dtype, BITS=constexpr(int), ZEROS=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def prepare_factors(
    scales: ptr(const(TS)) @ grid[1], zeros: ptr(const(uint8)) @ grid[1], scale_k: int64 @ grid[1], scale_n: int64 @ grid[1],
    zero_k: int64 @ grid[1], zero_n: int64 @ grid[1], factors: ptr(uint32) @ grid[1], n: int32 @ grid[1],
    groups: int32 @ grid[1], pitch: int32 @ grid[1], many: int64 @ grid[1],
):  # fmt: skip
    """What weights are made with: of each group and column its scale twice, in `T`, and what `expand` takes off.

    Perspective: grid, a thread for each of `many` groups and columns.
    Shapes:      `factors`: rows of `pitch` pairs of words; beyond the last group and column are the last one's.
    Test:        tests/kernels/test_mixed.py
    """
    b: int64 @ block[1] = id()
    with partition(factors, thread[1], lambda e: e, races="none") as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            at: int64 = b * THREADS + t
            if at < many:
                g: int64 = min(at // pitch, int64(groups - 1))
                j: int64 = min(at % pitch, int64(n - 1))
                scale: float32 = float32(scales[g * scale_k + j * scale_n])
                zero: int32 = int32(zeros[g * zero_k + j * zero_n]) if ZEROS else 2 ** (BITS - 1)
                twice: uint32 = pack_f16x2(scale, scale) if T == float16 else pack_bf16x2(scale, scale)
                store_vector(mine[2 * at], vector(uint32, 2)(twice, offset_of(zero, T=T, BITS=BITS)))


@prism.kernel
@template(Q=dtype, BITS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def pack_words(
    q: ptr(const(Q)) @ grid[1], step_k: int64 @ grid[1], step_n: int64 @ grid[1], packed: ptr(int32) @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], deep: int32 @ grid[1], words: int64 @ grid[1], shift: int32 @ grid[1],
):  # fmt: skip
    """Pack numbers of `BITS` bits: the lowest of `q[kk * step_k + j * step_n] + shift`, for `deep` of K, zeros beyond n and k.

    Perspective: grid, a thread for each of the words.
    Shapes:      `packed`: strips x deep / 16 x `BITS` * 8 words; a word has columns j and j + 8, and two of K, twice, 8 apart.
    Test:        tests/kernels/test_mixed.py
    """
    EACH: constexpr(int) = BITS // 4  # words of a lane
    b: int64 @ block[1] = id()
    with partition(packed, thread[1], lambda e: e, races="none") as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            at: int64 = b * THREADS + t
            if at < words:
                lane: int32 = at // EACH % LANES
                tile: int64 = at // (LANES * EACH)
                depth: int32 = tile % (deep // 16) * 16 + lane % 4 * 2
                column: int32 = tile // (deep // 16) * STRIP + lane // 4
                word: uint32 = 0
                for e in range(32 // BITS):
                    p: int32 = e % 4 if BITS == 4 else at % EACH * 2 + e // 2  # which pair, and which of it
                    h: int32 = e // 4 if BITS == 4 else e % 2
                    j: int32 = column + p % 2 * 8
                    kk: int32 = depth + p // 2 * 8 + h
                    if j < n and kk < k:
                        number: uint32 = uint32(int32(q[kk * step_k + j * step_n]) + shift)
                        word |= (number & (2**BITS - 1)) << (BITS * e)
                mine[at] = int32(word)


@prism.kernel
@template(Q=dtype, BITS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def unpack_words(
    packed: ptr(const(int32)) @ grid[1], q: ptr(Q) @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], deep: int32 @ grid[1],
    shift: int32 @ grid[1],
):  # fmt: skip
    """What `pack_words` has packed: `q[kk * n + j]`, a number less `shift`.

    Perspective: grid, a thread for each of n * k numbers.
    Test:        tests/kernels/test_mixed.py
    """
    b: int64 @ block[1] = id()
    with partition(q, thread[1], lambda e: e, races="none") as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            at: int64 = b * THREADS + t
            if at < int64(k) * n:
                kk: int32 = at // n
                j: int32 = at % n
                lane: int32 = j % 8 * 4 + kk % 8 // 2
                p: int32 = kk // 8 % 2 * 2 + j // 8 % 2
                tile: int64 = int64(j // STRIP) * (deep // 16) + kk // 16
                word: uint32 = uint32(packed[(tile * LANES + lane) * (BITS // 4) + (0 if BITS == 4 else p // 2)])
                e: int32 = p + kk % 2 * 4 if BITS == 4 else p % 2 * 2 + kk % 2
                mine[at] = Q(int32((word >> (BITS * e)) & (2**BITS - 1)) - shift)


__all__ = [
    "DEEP", "LANES", "STRIP", "THREADS", "expand", "offset_of", "pack_words", "prepare_factors", "scale_pairs", "unpack_words",
]  # fmt: skip
