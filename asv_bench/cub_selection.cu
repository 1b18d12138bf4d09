// CUB's selections, partitions, unique elements and run lengths, for asv_bench/selection.py. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>

template <typename T>
struct Below {
    T limit;
    __host__ __device__ bool operator()(const T& x) const { return x < limit; }
};

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
    extern "C" int cub_select_##NAME(                                                                                           \
        void* scratch, size_t* bytes, const void* x, void* y, void* count, int64_t limit, int64_t n, cudaStream_t stream) {     \
        return cub::DeviceSelect::If(scratch, *bytes, (const T*)x, (T*)y, (int64_t*)count, n, Below<T>{(T)limit}, stream);      \
    }                                                                                                                           \
    extern "C" int cub_split3_##NAME(                                                                                           \
        void* scratch, size_t* bytes, const void* x, void* y, void* z, void* rest, void* count, int64_t first, int64_t second,  \
        int64_t n, cudaStream_t stream) {                                                                                       \
        return cub::DevicePartition::If(                                                                                        \
            scratch, *bytes, (const T*)x, (T*)y, (T*)z, (T*)rest, (int64_t*)count, n, Below<T>{(T)first},                       \
            Below<T>{(T)second}, stream);                                                                                       \
    }                                                                                                                           \
    extern "C" int cub_unique_by_key_##NAME(                                                                                    \
        void* scratch, size_t* bytes, const void* keys, const void* x, void* unique, void* y, void* count, int64_t n,           \
        cudaStream_t stream) {                                                                                                  \
        return cub::DeviceSelect::UniqueByKey(                                                                                  \
            scratch, *bytes, (const T*)keys, (const T*)x, (T*)unique, (T*)y, (int64_t*)count, n, stream);                       \
    }                                                                                                                           \
    extern "C" int cub_nonzero_##NAME(                                                                                          \
        void* scratch, size_t* bytes, const void* x, void* y, void* count, int64_t n, cudaStream_t stream) {                    \
        return cub::DeviceSelect::Flagged(                                                                                      \
            scratch, *bytes, thrust::counting_iterator<int64_t>(0), (const T*)x, (int64_t*)y, (int64_t*)count, n, stream);      \
    }

PEERS(float32, float)
PEERS(uint8, uint8_t)
PEERS(int64, int64_t)
