// k
extern "C" __global__ void __launch_bounds__(384, 1) k(const __grid_constant__ px_tensor_map map_a_, const __grid_constant__ px_tensor_map map_b_, float* __restrict__ c_, int k_) {
    __builtin_assume(blockDim.x == 384u);
    unsigned long long* const px_bar_full = reinterpret_cast<unsigned long long*>(px_shared + 196608u);
    unsigned long long* const px_bar_empty = reinterpret_cast<unsigned long long*>(px_shared + 196640u);
    if (threadIdx.x == 0u) {
        #pragma unroll
        for (int px_k = 0; px_k < 4; ++px_k) px_mbarrier_init(px_bar_full + px_k, 1u);
        #pragma unroll
        for (int px_k = 0; px_k < 4; ++px_k) px_mbarrier_init(px_bar_empty + px_k, 8u);
        asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();  // the mbarriers are made
    const unsigned int px_warp = __shfl_sync(0xffffffffu, threadIdx.x / 32u, 0);  // the same for the whole warp
    {  // line 1
        px_bf16* const a_ = reinterpret_cast<px_bf16*>(px_shared);  // line 1
        px_bf16* const b_ = reinterpret_cast<px_bf16*>(px_shared + 65536u);
        if (px_warp < 8u) {  // threads 0 to 255
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            float acc_[128];  // line 1
            {
                asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  // line 1
            }
            const int px_stop3 = k_;
            for (int kk_ = 0; kk_ < px_stop3; ++kk_) {
                {  // line 1
                    px_bf16* const sa_ = a_ + px_a_b_slot * 8192u;
                    px_bf16* const sb_ = b_ + px_a_b_slot * 16384u;
                    int w_ = (int)(px_warp / 4u);  // line 1
                    px_mbarrier_wait(px_bar_full + px_a_b_slot, px_a_b_phase);  // write a (line 1) before read a (line 1)
                    px_keep(acc_);  // the wgmmas
                    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                    px_wgmma_n256_bf16<4, px_operand<128, 16384, 0, false>, px_operand<128, 32768, 0, false>>(acc_, px_byte(sa_, (int)(64 * w_) * 128), sb_);
                    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // a group of wgmmas
                    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // write a (line 1) before read a (line 1)
                    px_keep(acc_);
                    px_arrive_warp(px_bar_empty + px_a_b_slot);  // empty
                }
                if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }  // the next round of a, b
            }
            px_follow();  // for what the kernel before this one in its stream wrote
            {
                #pragma unroll
                for (int i_ = 0; i_ < 128; ++i_) {  // line 1
                    c_[(px_row(threadIdx.x % 128u, i_) * 256) + px_column(threadIdx.x % 128u, i_)] = acc_[i_];  // line 1
                }
            }
        } else {  // threads 256 to 383
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            int row_ = (int)blockIdx.x * 128;  // line 1
            {
                asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // line 1
            }
            if (threadIdx.x == 256u) {
                px_follow();  // for what the kernel before this one in its stream wrote
                const int px_stop10 = k_;
                for (int kk_ = 0; kk_ < px_stop10; ++kk_) {  // line 1
                    {  // line 1
                        px_bf16* const sa_2_ = a_ + px_a_b_slot * 8192u;
                        px_bf16* const sb_2_ = b_ + px_a_b_slot * 16384u;
                        px_mbarrier_wait(px_bar_empty + px_a_b_slot, px_a_b_phase ^ 1u);  // read a (line 1) before write a (line 1)
                        px_arrive_expect(px_bar_full + px_a_b_slot, 49152u);  // full: bytes to come
                        px_tma_load_2d<1, 16384, 64>(sa_2_, &map_a_, row_, kk_ * 64, px_bar_full + px_a_b_slot);  // line 1
                        px_tma_load_2d<1, 32768, 64>(sb_2_, &map_b_, 0, kk_ * 64, px_bar_full + px_a_b_slot);
                    }
                    if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }  // the next round of a, b
                }
            }
        }
    }
}
