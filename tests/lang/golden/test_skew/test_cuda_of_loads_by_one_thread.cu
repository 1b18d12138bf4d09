extern "C" __global__ void prism_asked(const int* __restrict__ x, int* __restrict__ y, int tiles) {
    unsigned long long* const px_bar_a_filled = reinterpret_cast<unsigned long long*>(px_shared + 2048u);
    unsigned long long* const px_bar_a_read = reinterpret_cast<unsigned long long*>(px_shared + 2080u);
    if (threadIdx.x == 0u) {
        #pragma unroll
        for (int px_k = 0; px_k < 4; ++px_k) px_mbarrier_init(px_bar_a_filled + px_k, 1u);
        #pragma unroll
        for (int px_k = 0; px_k < 4; ++px_k) px_mbarrier_init(px_bar_a_read + px_k, blockDim.x / 32u);
        asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    unsigned int px_a_slot = 0u, px_a_phase = 0u;
    unsigned int px_a_ahead_slot = 0u, px_a_ahead_phase = 0u;
    int first = ((int)blockIdx.x * tiles) * 128;
    {
        const int y_offset = (int)blockIdx.x * 128;
        int* const a = reinterpret_cast<int*>(px_shared);
        int t = (int)threadIdx.x;
        unsigned int total = 1u;
        px_follow();
        #pragma unroll
        for (int k_ahead = 0; k_ahead < 3; ++k_ahead) {
            if (k_ahead < tiles) {
                {
                    int* const tile = a + px_a_ahead_slot * 128u;
                    if (threadIdx.x < 1u) {
                        px_arrive_expect(px_bar_a_filled + px_a_ahead_slot, 512u);
                        px_bulk_load(tile, &x[first + (k_ahead * 128)], 512u, px_bar_a_filled + px_a_ahead_slot);
                    }
                }
                if (++px_a_ahead_slot == 4u) { px_a_ahead_slot = 0u; px_a_ahead_phase ^= 1u; }
            }
        }
        const int px_stop3 = tiles;
        for (int k = 0; k < px_stop3; ++k) {
            if ((tiles - k) > 3) {
                int k_ahead = k + 3;
                {
                    int* const tile = a + px_a_ahead_slot * 128u;
                    if (threadIdx.x < 1u) {
                        px_mbarrier_wait(px_bar_a_read + px_a_ahead_slot, px_a_ahead_phase ^ 1u);
                        px_arrive_expect(px_bar_a_filled + px_a_ahead_slot, 512u);
                        px_bulk_load(tile, &x[first + (k_ahead * 128)], 512u, px_bar_a_filled + px_a_ahead_slot);
                    }
                }
                if (++px_a_ahead_slot == 4u) { px_a_ahead_slot = 0u; px_a_ahead_phase ^= 1u; }
            }
            {
                int* const tile_2 = a + px_a_slot * 128u;
                px_mbarrier_wait(px_bar_a_filled + px_a_slot, px_a_phase);
                total = (3u * total) + (unsigned int)tile_2[127 - t];
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                px_arrive_warp(px_bar_a_read + px_a_slot);
            }
            if (++px_a_slot == 4u) { px_a_slot = 0u; px_a_phase ^= 1u; }
        }
        {
            const int out_offset = t;
            y[y_offset + (out_offset + 0)] = (int)total;
        }
    }
}
