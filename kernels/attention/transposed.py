"""Values of 8 bits are transposed before attention, since wgmma takes such tiles with their keys inside."""

from prism.lang import (
    attr, block, byte_permute, const, constexpr, float32, grid, group, id, int32, int64, load_vector, partition, prism, ptr,
    requires, template, thread, uint32, vector,
)  # fmt: skip


@prism.kernel
@template(WORDS=constexpr(int))
@requires(grid[1], block[1], thread[128])
@attr("__launch_bounds__(128)")
def transpose_values(
    v: ptr(const(uint32)) @ grid[1], out: ptr(uint32) @ grid[1], q_scale: ptr(const(float32)) @ grid[1],
    k_scale: ptr(const(float32)) @ grid[1], v_scale: ptr(const(float32)) @ grid[1], scales: ptr(float32) @ grid[1],
    pairs: int32 @ grid[1], heads: int32 @ grid[1], share: int32 @ grid[1], keys: int32 @ grid[1], wide: int32 @ grid[1],
    batch_step: int64 @ grid[1], head_step: int64 @ grid[1], row_step: int64 @ grid[1], q_scales: int32 @ grid[1],
    k_scales: int32 @ grid[1], v_scales: int32 @ grid[1],
):
    """`out[pair, d, :]` = `v[pair, :, d]`, permuted so that weights need not be; and what products are to be scaled by.

    Of each 16 keys, positions 4 q to 4 q + 3 are of keys 2 q, 2 q + 1, 2 q + 8 and 2 q + 9: those of which a thread has the
    scores, as wgmma leaves them, where wgmma takes weights from it.

    Perspective: grid, a block for each 128 keys and 64 elements of a pair of batch and head; there are `pairs / share` of these.
    Shapes:      4 elements a word. `v`: steps are given, in words, multiples of 4; rows of 4 * `WORDS` words. `out`: pairs /
                 share x 16 * `WORDS` x `wide` words, `wide` a multiple of 4 that holds `keys`; zeros beyond those. `q_scale`:
                 `q_scales` numbers: one of each pair, or one for all, or none, which is 1; `k_scale`, `v_scale`: the same, of
                 their own pairs. `scales`: 2 x pairs.
    Test:        tests/kernels/test_attention8.py
    """
    WORDS_OF_BLOCK: constexpr(int) = 4
    lengths: int32 @ grid[1] = (wide + 31) // 32
    deep: int32 @ grid[1] = (WORDS + WORDS_OF_BLOCK - 1) // WORDS_OF_BLOCK
    b: int32 @ block[1] = id()
    pair: int32 @ block[1] = b // (lengths * deep)
    within: int32 @ block[1] = b % (lengths * deep)
    batch: int32 @ block[1] = pair // (heads // share)
    head: int32 @ block[1] = pair % (heads // share)
    from_: int64 @ block[1] = batch * batch_step + head * head_step
    to: int64 @ block[1] = int64(pair) * 16 * WORDS * wide
    with partition(out, thread[1], to, races="allow") as mine, partition(scales, thread[1], 0, races="allow") as factors:
        t: int32 @ thread[1] = id() % 128
        with group(thread[1]):
            four: int32 = within % lengths * 32 + t % 32  # the word of a row of `out`
            piece: int32 = within // lengths * WORDS_OF_BLOCK + t // 32  # 16 elements of a value
            first: int32 = four // 4 * 16 + four % 4 * 2
            if four < wide and piece < WORDS:
                words: uint32[16]
                for k in range(4):
                    key: int32 = first + k % 2 + k // 2 * 8
                    for c in range(4):
                        words[4 * k + c] = 0
                    if key < keys:
                        loaded: vector(uint32, 4) = load_vector(v[from_ + key * row_step + 4 * piece], 4)
                        for c in range(4):
                            words[4 * k + c] = loaded[c]
                for c in range(4):
                    low: uint32 = byte_permute(words[c], words[4 + c], 0x5140)
                    high: uint32 = byte_permute(words[c], words[4 + c], 0x7362)
                    low_of_last: uint32 = byte_permute(words[8 + c], words[12 + c], 0x5140)
                    high_of_last: uint32 = byte_permute(words[8 + c], words[12 + c], 0x7362)
                    row: int64 = int64(16 * piece + 4 * c) * wide + four
                    mine[row] = byte_permute(low, low_of_last, 0x5410)
                    mine[row + wide] = byte_permute(low, low_of_last, 0x7632)
                    mine[row + 2 * wide] = byte_permute(high, high_of_last, 0x5410)
                    mine[row + 3 * wide] = byte_permute(high, high_of_last, 0x7632)
            if within == 0:
                for s in range(t, share, 128):
                    query: int32 = pair * share + s
                    factor: float32 = q_scale[query if q_scales > 1 else 0] if q_scales > 0 else 1
                    if k_scales > 0:
                        factor *= k_scale[pair if k_scales > 1 else 0]
                    factors[query] = factor
                    factors[pairs + query] = v_scale[pair if v_scales > 1 else 0] if v_scales > 0 else 1


EXAMPLES = {"transpose_values": {"WORDS": 8}}
