// CUB's histograms, differences and a transform, and Thrust's binary searches, for asv_bench/histogram.py and searching.py. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>
#include <thrust/binary_search.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>

template <typename T>
struct Axpy {
    __host__ __device__ T operator()(T x, T y) const { return 3 * x + y; }
};

#define PEERS(NAME, T, LEVEL)                                                                                                   \
    extern "C" int cub_even_##NAME(                                                                                             \
        void* scratch, size_t* bytes, const void* x, void* counts, int64_t bins, int64_t n, cudaStream_t stream) {              \
        return cub::DeviceHistogram::HistogramEven(                                                                             \
            scratch, *bytes, (const T*)x, (int32_t*)counts, (int)bins + 1, (LEVEL)0, (LEVEL)256, n, stream);                    \
    }                                                                                                                           \
    extern "C" int cub_bins_##NAME(                                                                                             \
        void* scratch, size_t* bytes, const void* x, void* counts, int64_t bins, int64_t n, cudaStream_t stream) {              \
        return cub::DeviceHistogram::HistogramEven(                                                                             \
            scratch, *bytes, (const T*)x, (int32_t*)counts, (int)bins + 1, (LEVEL)0, (LEVEL)bins, n, stream);                   \
    }                                                                                                                           \
    extern "C" int cub_edges_##NAME(                                                                                            \
        void* scratch, size_t* bytes, const void* x, const void* edges, void* counts, int64_t bins, int64_t n,                  \
        cudaStream_t stream) {                                                                                                  \
        return cub::DeviceHistogram::HistogramRange(                                                                            \
            scratch, *bytes, (const T*)x, (int32_t*)counts, (int)bins + 1, (const double*)edges, n, stream);                    \
    }                                                                                                                           \
    extern "C" int cub_diff_##NAME(                                                                                             \
        void* scratch, size_t* bytes, const void* x, void* y, int64_t n, cudaStream_t stream) {                                 \
        return cub::DeviceAdjacentDifference::SubtractLeftCopy(scratch, *bytes, (const T*)x, (T*)y, n, cuda::std::minus<>{}, stream); \
    }                                                                                                                           \
    extern "C" int cub_axpy_##NAME(                                                                                             \
        void* scratch, size_t* bytes, const void* x, const void* y, void* z, int64_t n, cudaStream_t stream) {                  \
        if (!scratch) return *bytes = 1, 0;                                                                                     \
        return cub::DeviceTransform::Transform(                                                                                 \
            cuda::std::make_tuple((const T*)x, (const T*)y), (T*)z, n, Axpy<T>{}, stream);                                      \
    }                                                                                                                           \
    extern "C" int cub_search_##NAME(                                                                                           \
        void* scratch, size_t* bytes, const void* table, const void* values, void* y, int64_t many, int64_t n,                  \
        cudaStream_t stream) {                                                                                                  \
        if (!scratch) return *bytes = 1, 0;                                                                                     \
        const T *first = (const T*)table, *sought = (const T*)values;                                                           \
        thrust::lower_bound(                                                                                                    \
            thrust::cuda::par_nosync.on(stream), thrust::device_pointer_cast(first), thrust::device_pointer_cast(first + many), \
            thrust::device_pointer_cast(sought), thrust::device_pointer_cast(sought + n),                                       \
            thrust::device_pointer_cast((int64_t*)y));                                                                          \
        return cudaPeekAtLastError();                                                                                           \
    }

PEERS(float32, float, float)
PEERS(float64, double, double)
PEERS(uint8, uint8_t, int32_t)
PEERS(int8, int8_t, int32_t)
PEERS(int32, int32_t, int32_t)
PEERS(int64, int64_t, int64_t)
