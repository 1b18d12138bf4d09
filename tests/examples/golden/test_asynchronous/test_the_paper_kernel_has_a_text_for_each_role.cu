// hgemm for BN = 256, BK = 64, STAGES = 4
extern "C" __global__ void __launch_bounds__(384, 1) prism_hgemm(const __grid_constant__ px_tensor_map A, const __grid_constant__ px_tensor_map B, px_bf16* __restrict__ C, int M, int N, int K) {
    __builtin_assume(blockDim.x == 384u);
    unsigned long long* const px_bar_a_b_filled = reinterpret_cast<unsigned long long*>(px_shared + 196608u);
    unsigned long long* const px_bar_a_b_read = reinterpret_cast<unsigned long long*>(px_shared + 196640u);
    if (threadIdx.x == 0u) {
        #pragma unroll
        for (int px_k = 0; px_k < 4; ++px_k) px_mbarrier_init(px_bar_a_b_filled + px_k, 1u);
        #pragma unroll
        for (int px_k = 0; px_k < 4; ++px_k) px_mbarrier_init(px_bar_a_b_read + px_k, 8u);
        asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();  // the mbarriers are made
    int across = N / 256;  // line 33: across: int32 @ grid[1] = N / BN
    int top = ((int)blockIdx.x / across) * 128;  // line 34: top: int32 @ block[1] = id() / across * ROWS
    int left = ((int)blockIdx.x % across) * 256;  // line 35: left: int32 @ block[1] = id() % across * BN
    {  // line 36: with partition(C, block[1], offset=top * N + left) as target, group(block[1]):
        const int C_offset = (top * N) + left;
        px_bf16* const a = reinterpret_cast<px_bf16*>(px_shared);  // line 37: a: shared(bf16[ROWS, BK], ring=STAGES, swizzle=128) @ block[1]
        px_bf16* const b = reinterpret_cast<px_bf16*>(px_shared + 65536u);  // line 38: b: shared(bf16[BN, BK], ring=STAGES, swizzle=128) @ block[1]
        if (threadIdx.x < 256u) {  // threads 0 to 255
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            float sums[128];  // line 39: sums: fragment(float, 64, BN) @ warpgroup[1] = 0
            #pragma unroll
            for (int px_k0 = 0; px_k0 < 128; ++px_k0) {
                sums[px_k0] = 0.0f;
            }
            {  // line 43: with consumers:
                asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  // line 44: set_registers(232)
            }
            const int px_stop3 = K;
            for (int first = 0; first < px_stop3; first += 64) {  // line 45: for first in range(0, K, BK):
                {  // line 50: with claim(a, consumers) as tile_a, claim(b, consumers) as tile_b:
                    px_bf16* const tile_a = a + px_a_b_slot * 8192u;
                    px_bf16* const tile_b = b + px_a_b_slot * 16384u;
                    int w = (int)(threadIdx.x / 128u);  // line 51: w: int32 @ warpgroup[1] = id()
                    {  // line 52: with group(warpgroup[1]):
                        px_mbarrier_wait(px_bar_a_b_filled + px_a_b_slot, px_a_b_phase);  // write tile_a (line 48) before read tile_a[...] (line 53)
                        px_keep(sums);  // the wgmmas
                        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                        px_wgmma_n256_bf16<4, px_operand<128, 16384, 0, false>, px_operand<128, 32768, 0, false>>(sums, px_byte(tile_a, (int)(64 * w) * 128), tile_b);  // line 53: wgmma(sums, tile_a[64 * w, 0], tile_b)
                        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // a group of wgmmas
                        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // read tile_a[...] (line 53) before write tile_a (line 48)
                        px_keep(sums);
                        px_arrive_warp(px_bar_a_b_read + px_a_b_slot);  // a_b_read
                    }
                }
                if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }  // the next round of a, b
            }
            {  // line 54: with claim(target, consumers) as tile:
                int w_2 = (int)(threadIdx.x / 128u);  // line 55: w: int32 @ warpgroup[1] = id()
                {  // line 56: with partition(tile, warpgroup[1], offset=64 * w * N) as part, group(warpgroup[1]):
                    const int tile_offset = (64 * w_2) * N;
                    const unsigned int px_t7 = threadIdx.x % 128u;
                    int t = (int)px_t7;  // line 57: t: int32 @ thread[1] = id()
                    {  // line 58: with partition(part, thread[1], offset=(t / 32 * 16 + t % 32 / 4) * N + t % 4 * 2) as mine, group(thread[1]):
                        const int part_offset = ((((t / 32) * 16) + ((t % 32) / 4)) * N) + ((t % 4) * 2);
                        #pragma unroll
                        for (int i = 0; i < 128; i += 2) {  // line 59: for i in range(0, count(sums), 2):
                            px_vector<px_bf16, 2> pair = px_vector<px_bf16, 2>{{px_bf16_of(0x0000u), px_bf16_of(0x0000u)}};  // line 60: pair: vector(bf16, 2) = {0}
                            pair.item[0] = (px_bf16)sums[i];  // line 61: pair[0] = bf16(sums[i])
                            pair.item[1] = (px_bf16)sums[i + 1];  // line 62: pair[1] = bf16(sums[i + 1])
                            px_store_vector<unsigned int, px_bf16, 2>(&C[C_offset + (tile_offset + (part_offset + ((((px_row(threadIdx.x % 128u, i) - px_row(threadIdx.x % 128u, 0)) * N) + px_column(threadIdx.x % 128u, i)) - px_column(threadIdx.x % 128u, 0))))], pair);  // line 63: store_vector(mine[(row(sums, i) - row(sums, 0)) * N + column(sums, i) - column(sums, 0)], pair)
                        }
                    }
                }
            }
        } else {  // threads 256 to 383
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            {  // line 41: with producer:
                asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // line 42: set_registers(40)
            }
            const int px_stop10 = K;
            for (int first = 0; first < px_stop10; first += 64) {  // line 45: for first in range(0, K, BK):
                {  // line 46: with claim(a, producer) as tile_a, claim(b, producer) as tile_b:
                    px_bf16* const tile_a_2 = a + px_a_b_slot * 8192u;
                    px_bf16* const tile_b_2 = b + px_a_b_slot * 16384u;
                    const unsigned int px_t11 = threadIdx.x - 256u;
                    if (px_t11 < 1u) {  // line 47: with one(thread):
                        px_mbarrier_wait(px_bar_a_b_read + px_a_b_slot, px_a_b_phase ^ 1u);  // read tile_a[...] (line 53) before write tile_a (line 48)
                        px_arrive_expect(px_bar_a_b_filled + px_a_b_slot, 49152u);  // a_b_filled: bytes to come
                        px_tma_load_2d<1, 16384, 64>(tile_a_2, &A, top, first, px_bar_a_b_filled + px_a_b_slot);  // line 48: tma_load(tile_a, A[top, first])
                        px_tma_load_2d<1, 32768, 64>(tile_b_2, &B, left, first, px_bar_a_b_filled + px_a_b_slot);  // line 49: tma_load(tile_b, B[left, first])
                    }
                }
                if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }  // the next round of a, b
            }
        }
    }
}
