extern "C" __global__ void prism_in_turn(const int* __restrict__ x_, int* __restrict__ y_, int tiles_) {
    unsigned int px_a_slot = 0u;
    unsigned int px_a_ahead_slot = 0u;
    int first_ = ((int)blockIdx.x * tiles_) * 128;
    {
        const int y_offset_ = (int)blockIdx.x * 128;
        int* const a_ = reinterpret_cast<int*>(px_shared);
        int t_ = (int)threadIdx.x;
        unsigned int total_ = 1u;
        px_follow();
        #pragma unroll
        for (int k_ahead_ = 0; k_ahead_ < 2; ++k_ahead_) {
            if (k_ahead_ < tiles_) {
                {
                    int* const mine_ = a_ + px_a_ahead_slot * 128u;
                    const int a_offset_ = t_;
                    px_cp_async<4>(&mine_[a_offset_ + 0], &x_[(first_ + (k_ahead_ * 128)) + t_]);
                }
                if (++px_a_ahead_slot == 3u) px_a_ahead_slot = 0u;
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
        const int px_stop3 = tiles_;
        for (int k_ = 0; k_ < px_stop3; ++k_) {
            asm volatile("cp.async.wait_group 1;" ::: "memory");
            __syncthreads();
            if ((tiles_ - k_) > 2) {
                int k_ahead_ = k_ + 2;
                {
                    int* const mine_ = a_ + px_a_ahead_slot * 128u;
                    const int a_offset_ = t_;
                    px_cp_async<4>(&mine_[a_offset_ + 0], &x_[(first_ + (k_ahead_ * 128)) + t_]);
                }
                if (++px_a_ahead_slot == 3u) px_a_ahead_slot = 0u;
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            {
                int* const tile_ = a_ + px_a_slot * 128u;
                total_ = (3u * total_) + (unsigned int)tile_[127 - t_];
            }
            if (++px_a_slot == 3u) px_a_slot = 0u;
        }
        {
            const int out_offset_ = t_;
            y_[y_offset_ + (out_offset_ + 0)] = (int)total_;
        }
    }
}
