extern "C" __global__ void prism_asked(const int* __restrict__ x_, int* __restrict__ y_, int tiles_) {
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
    int first_ = ((int)blockIdx.x * tiles_) * 128;
    {
        const int y_offset_ = (int)blockIdx.x * 128;
        int* const a_ = reinterpret_cast<int*>(px_shared);
        int t_ = (int)threadIdx.x;
        unsigned int total_ = 1u;
        px_follow();
        #pragma unroll
        for (int k_ahead_ = 0; k_ahead_ < 3; ++k_ahead_) {
            if (k_ahead_ < tiles_) {
                {
                    int* const tile_ = a_ + px_a_ahead_slot * 128u;
                    if (threadIdx.x < 1u) {
                        px_arrive_expect(px_bar_a_filled + px_a_ahead_slot, 512u);
                        px_bulk_load(tile_, &x_[first_ + (k_ahead_ * 128)], 512u, px_bar_a_filled + px_a_ahead_slot);
                    }
                }
                if (++px_a_ahead_slot == 4u) { px_a_ahead_slot = 0u; px_a_ahead_phase ^= 1u; }
            }
        }
        const int px_stop3 = tiles_;
        for (int k_ = 0; k_ < px_stop3; ++k_) {
            if ((tiles_ - k_) > 3) {
                int k_ahead_ = k_ + 3;
                {
                    int* const tile_ = a_ + px_a_ahead_slot * 128u;
                    if (threadIdx.x < 1u) {
                        px_mbarrier_wait(px_bar_a_read + px_a_ahead_slot, px_a_ahead_phase ^ 1u);
                        px_arrive_expect(px_bar_a_filled + px_a_ahead_slot, 512u);
                        px_bulk_load(tile_, &x_[first_ + (k_ahead_ * 128)], 512u, px_bar_a_filled + px_a_ahead_slot);
                    }
                }
                if (++px_a_ahead_slot == 4u) { px_a_ahead_slot = 0u; px_a_ahead_phase ^= 1u; }
            }
            {
                int* const tile_2_ = a_ + px_a_slot * 128u;
                px_mbarrier_wait(px_bar_a_filled + px_a_slot, px_a_phase);
                total_ = (3u * total_) + (unsigned int)tile_2_[127 - t_];
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                px_arrive_warp(px_bar_a_read + px_a_slot);
            }
            if (++px_a_slot == 4u) { px_a_slot = 0u; px_a_phase ^= 1u; }
        }
        {
            const int out_offset_ = t_;
            y_[y_offset_ + (out_offset_ + 0)] = (int)total_;
        }
    }
}
