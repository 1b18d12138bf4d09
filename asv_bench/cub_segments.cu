// CUB's sums of segments, and its scans and reductions by key, for asv_bench/segments.py. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>

#define PEERS(NAME, T)                                                                                                          \
    extern "C" int cub_segments_##NAME(                                                                                         \
        void* scratch, size_t* bytes, const void* x, void* y, const void* offsets, int64_t count, cudaStream_t stream) {        \
        auto from = (const int32_t*)offsets;                                                                                    \
        return cub::DeviceSegmentedReduce::Sum(scratch, *bytes, (const T*)x, (T*)y, count, from, from + 1, stream);             \
    }                                                                                                                           \
    extern "C" int cub_scan_by_key_##NAME(                                                                                      \
        void* scratch, size_t* bytes, const void* keys, const void* x, void* y, int64_t n, cudaStream_t stream) {               \
        return cub::DeviceScan::InclusiveSumByKey(                                                                              \
            scratch, *bytes, (const int32_t*)keys, (const T*)x, (T*)y, n, cuda::std::equal_to<>{}, stream);                     \
    }                                                                                                                           \
    extern "C" int cub_reduce_by_key_##NAME(                                                                                    \
        void* scratch, size_t* bytes, const void* keys, void* unique, const void* x, void* y, void* runs, int64_t n,            \
        cudaStream_t stream) {                                                                                                  \
        return cub::DeviceReduce::ReduceByKey(                                                                                  \
            scratch, *bytes, (const int32_t*)keys, (int32_t*)unique, (const T*)x, (T*)y, (int64_t*)runs, cuda::std::plus<>{},    \
            n, stream);                                                                                                         \
    }

PEERS(int32, int32_t)
PEERS(float32, float)
