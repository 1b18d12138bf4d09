// CUB's radix sorts of keys and of pairs, for asv_bench/sort.py. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>
#include <cuda_fp16.h>

#define PEERS(NAME, T)                                                                                                          \
    extern "C" int cub_sort_##NAME(void* scratch, size_t* bytes, const void* x, void* y, int64_t n, cudaStream_t stream) {      \
        return cub::DeviceRadixSort::SortKeys(scratch, *bytes, (const T*)x, (T*)y, n, 0, 8 * (int)sizeof(T), stream);           \
    }                                                                                                                           \
    extern "C" int cub_sort_pairs_##NAME(                                                                                       \
        void* scratch, size_t* bytes, const void* x, void* y, const void* values, void* moved, int64_t n, cudaStream_t stream) { \
        return cub::DeviceRadixSort::SortPairs(                                                                                 \
            scratch, *bytes, (const T*)x, (T*)y, (const uint32_t*)values, (uint32_t*)moved, n, 0, 8 * (int)sizeof(T), stream);   \
    }

PEERS(uint8, uint8_t)
PEERS(uint16, uint16_t)
PEERS(uint32, uint32_t)
PEERS(uint64, uint64_t)
PEERS(float32, float)
PEERS(float16, __half)
PEERS(int64, int64_t)
