// CUB's selections, partitions, unique elements and run lengths, for asv_bench/selection.py. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>

#define PEERS(NAME, T)                                                                                                          \
    extern "C" int cub_compress_##NAME(                                                                                         \
        void* scratch, size_t* bytes, const void* x, const void* flags, void* y, void* count, int64_t n, cudaStream_t stream) { \
        return cub::DeviceSelect::Flagged(                                                                                      \
            scratch, *bytes, (const T*)x, (const uint8_t*)flags, (T*)y, (int64_t*)count, n, stream);                            \
    }                                                                                                                           \
    extern "C" int cub_split_##NAME(                                                                                            \
        void* scratch, size_t* bytes, const void* x, const void* flags, void* y, void* count, int64_t n, cudaStream_t stream) { \
        return cub::DevicePartition::Flagged(                                                                                   \
            scratch, *bytes, (const T*)x, (const uint8_t*)flags, (T*)y, (int64_t*)count, n, stream);                            \
    }                                                                                                                           \
    extern "C" int cub_unique_##NAME(                                                                                           \
        void* scratch, size_t* bytes, const void* x, void* y, void* count, int64_t n, cudaStream_t stream) {                    \
        return cub::DeviceSelect::Unique(scratch, *bytes, (const T*)x, (T*)y, (int64_t*)count, n, stream);                      \
    }                                                                                                                           \
    extern "C" int cub_encode_##NAME(                                                                                           \
        void* scratch, size_t* bytes, const void* x, void* y, void* lengths, void* count, int64_t n, cudaStream_t stream) {     \
        return cub::DeviceRunLengthEncode::Encode(                                                                              \
            scratch, *bytes, (const T*)x, (T*)y, (int64_t*)lengths, (int64_t*)count, n, stream);                                \
    }                                                                                                                           \
    extern "C" int cub_nonzero_##NAME(                                                                                          \
        void* scratch, size_t* bytes, const void* x, void* y, void* count, int64_t n, cudaStream_t stream) {                    \
        return cub::DeviceSelect::Flagged(                                                                                      \
            scratch, *bytes, thrust::counting_iterator<int64_t>(0), (const T*)x, (int64_t*)y, (int64_t*)count, n, stream);      \
    }

PEERS(float32, float)
PEERS(uint8, uint8_t)
PEERS(int64, int64_t)
