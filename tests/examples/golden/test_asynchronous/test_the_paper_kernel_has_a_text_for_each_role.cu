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
    __syncthreads();
    const unsigned int px_warp = __shfl_sync(0xffffffffu, threadIdx.x / 32u, 0);
    int across = N / 256;
    int top = ((int)blockIdx.x / across) * 128;
    int left = ((int)blockIdx.x % across) * 256;
    {
        const int C_offset = (top * N) + left;
        px_bf16* const a = reinterpret_cast<px_bf16*>(px_shared);
        px_bf16* const b = reinterpret_cast<px_bf16*>(px_shared + 65536u);
        if (px_warp < 8u) {
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            float sums[128];
            #pragma unroll
            for (int px_k0 = 0; px_k0 < 128; ++px_k0) {
                sums[px_k0] = 0.0f;
            }
            {
                asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
            }
            const int px_stop3 = K;
            for (int first = 0; first < px_stop3; first += 64) {
                {
                    px_bf16* const tile_a = a + px_a_b_slot * 8192u;
                    px_bf16* const tile_b = b + px_a_b_slot * 16384u;
                    int w = (int)(px_warp / 4u);
                    {
                        px_mbarrier_wait(px_bar_a_b_filled + px_a_b_slot, px_a_b_phase);
                        px_keep(sums);
                        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                        px_wgmma_n256_bf16<4, px_operand<128, 16384, 0, false>, px_operand<128, 32768, 0, false>>(sums, px_byte(tile_a, (int)(64 * w) * 128), tile_b);
                        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
                        px_keep(sums);
                        px_arrive_warp(px_bar_a_b_read + px_a_b_slot);
                    }
                }
                if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }
            }
            px_follow();
            {
                int w_2 = (int)(px_warp / 4u);
                {
                    const int tile_offset = (64 * w_2) * N;
                    const unsigned int px_t7 = threadIdx.x % 128u;
                    int t = (int)px_t7;
                    {
                        const int part_offset = ((((t / 32) * 16) + ((t % 32) / 4)) * N) + ((t % 4) * 2);
                        #pragma unroll
                        for (int i = 0; i < 128; i += 2) {
                            px_vector<px_bf16, 2> pair = px_vector<px_bf16, 2>{{px_bf16_of(0x0000u), px_bf16_of(0x0000u)}};
                            pair.item[0] = (px_bf16)sums[i];
                            pair.item[1] = (px_bf16)sums[i + 1];
                            px_store_vector<unsigned int, px_bf16, 2>(&C[C_offset + (tile_offset + (part_offset + ((((px_row(threadIdx.x % 128u, i) - px_row(threadIdx.x % 128u, 0)) * N) + px_column(threadIdx.x % 128u, i)) - px_column(threadIdx.x % 128u, 0))))], pair);
                        }
                    }
                }
            }
        } else {
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            {
                asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
            }
            if (threadIdx.x == 256u) {
                px_follow();
                const int px_stop10 = K;
                for (int first = 0; first < px_stop10; first += 64) {
                    {
                        px_bf16* const tile_a_2 = a + px_a_b_slot * 8192u;
                        px_bf16* const tile_b_2 = b + px_a_b_slot * 16384u;
                        {
                            px_mbarrier_wait(px_bar_a_b_read + px_a_b_slot, px_a_b_phase ^ 1u);
                            px_arrive_expect(px_bar_a_b_filled + px_a_b_slot, 49152u);
                            px_tma_load_2d<1, 16384, 64>(tile_a_2, &A, top, first, px_bar_a_b_filled + px_a_b_slot);
                            px_tma_load_2d<1, 32768, 64>(tile_b_2, &B, left, first, px_bar_a_b_filled + px_a_b_slot);
                        }
                    }
                    if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }
                }
            }
        }
    }
}
