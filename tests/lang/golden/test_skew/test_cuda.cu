extern "C" __global__ void prism_in_turn(const int* __restrict__ x, int* __restrict__ y, int tiles) {
    unsigned int px_a_slot = 0u;
    unsigned int px_a_ahead_slot = 0u;
    int first = ((int)blockIdx.x * tiles) * 128;
    {
        const int y_offset = (int)blockIdx.x * 128;
        int* const a = reinterpret_cast<int*>(px_shared);
        int t = (int)threadIdx.x;
        unsigned int total = 1u;
        px_follow();
        #pragma unroll
        for (int k_ahead = 0; k_ahead < 2; ++k_ahead) {
            if (k_ahead < tiles) {
                {
                    int* const mine = a + px_a_ahead_slot * 128u;
                    const int a_offset = t;
                    px_cp_async<4>(&mine[a_offset + 0], &x[(first + (k_ahead * 128)) + t]);
                }
                if (++px_a_ahead_slot == 3u) px_a_ahead_slot = 0u;
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
        const int px_stop3 = tiles;
        for (int k = 0; k < px_stop3; ++k) {
            asm volatile("cp.async.wait_group 1;" ::: "memory");
            __syncthreads();
            if ((tiles - k) > 2) {
                int k_ahead = k + 2;
                {
                    int* const mine = a + px_a_ahead_slot * 128u;
                    const int a_offset = t;
                    px_cp_async<4>(&mine[a_offset + 0], &x[(first + (k_ahead * 128)) + t]);
                }
                if (++px_a_ahead_slot == 3u) px_a_ahead_slot = 0u;
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            {
                int* const tile = a + px_a_slot * 128u;
                total = (3u * total) + (unsigned int)tile[127 - t];
            }
            if (++px_a_slot == 3u) px_a_slot = 0u;
        }
        {
            const int out_offset = t;
            y[y_offset + (out_offset + 0)] = (int)total;
        }
    }
}
