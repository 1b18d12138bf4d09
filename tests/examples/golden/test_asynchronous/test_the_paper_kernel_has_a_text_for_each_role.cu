extern "C" __global__ void __launch_bounds__(384, 1) prism_hgemm(const __grid_constant__ px_tensor_map A_, const __grid_constant__ px_tensor_map B_, px_bf16* __restrict__ C_, int M_, int N_, int K_) {
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
    int across_ = N_ / 256;
    int top_ = ((int)blockIdx.x / across_) * 128;
    int left_ = ((int)blockIdx.x % across_) * 256;
    {
        const int C_offset_ = (top_ * N_) + left_;
        px_bf16* const a_ = reinterpret_cast<px_bf16*>(px_shared);
        px_bf16* const b_ = reinterpret_cast<px_bf16*>(px_shared + 65536u);
        if (px_warp < 8u) {
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            float sums_[128];
            #pragma unroll
            for (int px_k0 = 0; px_k0 < 128; ++px_k0) {
                sums_[px_k0] = 0.0f;
            }
            {
                asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
            }
            const int px_stop3 = K_;
            for (int first_ = 0; first_ < px_stop3; first_ += 64) {
                {
                    px_bf16* const tile_a_ = a_ + px_a_b_slot * 8192u;
                    px_bf16* const tile_b_ = b_ + px_a_b_slot * 16384u;
                    int w_ = (int)(px_warp / 4u);
                    {
                        px_mbarrier_wait(px_bar_a_b_filled + px_a_b_slot, px_a_b_phase);
                        px_keep(sums_);
                        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                        px_wgmma_n256_bf16<4, px_operand<128, 16384, 0, false>, px_operand<128, 32768, 0, false>>(sums_, px_byte(tile_a_, (int)(64 * w_) * 128), tile_b_);
                        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
                        px_keep(sums_);
                        px_arrive_warp(px_bar_a_b_read + px_a_b_slot);
                    }
                }
                if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }
            }
            px_follow();
            {
                int w_2_ = (int)(px_warp / 4u);
                {
                    const int tile_offset_ = (64 * w_2_) * N_;
                    const unsigned int px_t7 = threadIdx.x % 128u;
                    int t_ = (int)px_t7;
                    {
                        const int part_offset_ = ((((t_ / 32) * 16) + ((t_ % 32) / 4)) * N_) + ((t_ % 4) * 2);
                        #pragma unroll
                        for (int i_ = 0; i_ < 128; i_ += 2) {
                            px_vector<px_bf16, 2> pair_ = px_vector<px_bf16, 2>{{px_bf16_of(0x0000u), px_bf16_of(0x0000u)}};
                            pair_.item[0] = (px_bf16)sums_[i_];
                            pair_.item[1] = (px_bf16)sums_[i_ + 1];
                            px_store_vector<unsigned int, px_bf16, 2>(&C_[C_offset_ + (tile_offset_ + (part_offset_ + ((((px_row(threadIdx.x % 128u, i_) - px_row(threadIdx.x % 128u, 0)) * N_) + px_column(threadIdx.x % 128u, i_)) - px_column(threadIdx.x % 128u, 0))))], pair_);
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
                const int px_stop10 = K_;
                for (int first_ = 0; first_ < px_stop10; first_ += 64) {
                    {
                        px_bf16* const tile_a_2_ = a_ + px_a_b_slot * 8192u;
                        px_bf16* const tile_b_2_ = b_ + px_a_b_slot * 16384u;
                        {
                            px_mbarrier_wait(px_bar_a_b_read + px_a_b_slot, px_a_b_phase ^ 1u);
                            px_arrive_expect(px_bar_a_b_filled + px_a_b_slot, 49152u);
                            px_tma_load_2d<1, 16384, 64>(tile_a_2_, &A_, top_, first_, px_bar_a_b_filled + px_a_b_slot);
                            px_tma_load_2d<1, 32768, 64>(tile_b_2_, &B_, left_, first_, px_bar_a_b_filled + px_a_b_slot);
                        }
                    }
                    if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }
                }
            }
        }
    }
}
