// k
extern "C" __global__ void __launch_bounds__(384, 1) k(const __grid_constant__ px_tensor_map map_a, const __grid_constant__ px_tensor_map map_b, float* __restrict__ c, int k_2) {
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
        px_bf16* const a = reinterpret_cast<px_bf16*>(px_shared);  // line 1
        px_bf16* const b = reinterpret_cast<px_bf16*>(px_shared + 65536u);
        if (px_warp < 8u) {  // threads 0 to 255
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            float acc[128];  // line 1
            {
                asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");  // line 1
            }
            const int px_stop3 = k_2;
            for (int kk = 0; kk < px_stop3; ++kk) {
                {  // line 1
                    px_bf16* const sa = a + px_a_b_slot * 8192u;
                    px_bf16* const sb = b + px_a_b_slot * 16384u;
                    int w = (int)(px_warp / 4u);  // line 1
                    px_mbarrier_wait(px_bar_full + px_a_b_slot, px_a_b_phase);  // write a (line 1) before read a (line 1)
                    px_keep(acc);  // the wgmmas
                    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                    px_wgmma_n256_bf16<4, px_operand<128, 16384, 0, false>, px_operand<128, 32768, 0, false>>(acc, px_byte(sa, (int)(64 * w) * 128), sb);
                    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // a group of wgmmas
                    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");  // write a (line 1) before read a (line 1)
                    px_keep(acc);
                    px_arrive_warp(px_bar_empty + px_a_b_slot);  // empty
                }
                if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }  // the next round of a, b
            }
            px_follow();  // for what the kernel before this one in its stream wrote
            {
                #pragma unroll
                for (int i = 0; i < 128; ++i) {  // line 1
                    c[(px_row(threadIdx.x % 128u, i) * 256) + px_column(threadIdx.x % 128u, i)] = acc[i];  // line 1
                }
            }
        } else {  // threads 256 to 383
            unsigned int px_a_b_slot = 0u, px_a_b_phase = 0u;
            int row = (int)blockIdx.x * 128;  // line 1
            {
                asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // line 1
            }
            if (threadIdx.x == 256u) {
                px_follow();  // for what the kernel before this one in its stream wrote
                const int px_stop10 = k_2;
                for (int kk = 0; kk < px_stop10; ++kk) {  // line 1
                    {  // line 1
                        px_bf16* const sa_2 = a + px_a_b_slot * 8192u;
                        px_bf16* const sb_2 = b + px_a_b_slot * 16384u;
                        px_mbarrier_wait(px_bar_empty + px_a_b_slot, px_a_b_phase ^ 1u);  // read a (line 1) before write a (line 1)
                        px_arrive_expect(px_bar_full + px_a_b_slot, 49152u);  // full: bytes to come
                        px_tma_load_2d<1, 16384, 64>(sa_2, &map_a, row, kk * 64, px_bar_full + px_a_b_slot);  // line 1
                        px_tma_load_2d<1, 32768, 64>(sb_2, &map_b, 0, kk * 64, px_bar_full + px_a_b_slot);
                    }
                    if (++px_a_b_slot == 4u) { px_a_b_slot = 0u; px_a_b_phase ^= 1u; }  // the next round of a, b
                }
            }
        }
    }
}
