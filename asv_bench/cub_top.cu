// CUB's first elements of an array and of rows, for asv_bench/topk.py: of CUB 3.5 and later. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>

#if __has_include(<cub/device/device_batched_topk.cuh>)
#include <cub/device/device_batched_topk.cuh>
#include <cub/device/device_topk.cuh>
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>
#include <cuda/__execution/tie_break.h>
#include <cuda/argument>
#include <cuda/iterator>
#include <cuda/stream>

// The `k` greatest of `n` elements of `x`, in no order, and where they stand.
extern "C" int cub_top_float32(
    void* scratch, size_t* bytes, const void* x, void* y, void* places, int64_t n, int64_t k, cudaStream_t stream) {
    namespace execution = cuda::std::execution;
    auto how = execution::env{
        cuda::stream_ref{stream},
        cuda::execution::require(
            cuda::execution::determinism::not_guaranteed, cuda::execution::output_ordering::unsorted)};
    return cub::DeviceTopK::MaxPairs(
        scratch, *bytes, (const float*)x, (float*)y, cuda::counting_iterator<int>(0), (int*)places, (int)n, (int)k, how);
}

// The same of each of `rows` rows, which are bounded at compile time, as is `k`.
template <int64_t LONGEST>
static int of_rows(
    void* scratch, size_t* bytes, const void* x, void* y, void* places, int64_t rows, int64_t n, int64_t k, cudaStream_t stream) {
    namespace execution = cuda::std::execution;
    auto given = cuda::make_strided_iterator(cuda::make_counting_iterator((const float*)x), n);
    auto numbers = cuda::make_constant_iterator(cuda::make_counting_iterator<int>(0));
    auto found = cuda::make_strided_iterator(cuda::make_counting_iterator((float*)y), k);
    auto spots = cuda::make_strided_iterator(cuda::make_counting_iterator((int*)places), k);
    auto lengths = cuda::args::immediate{n, cuda::args::bounds<int64_t{1}, LONGEST>()};
    auto firsts = cuda::args::immediate{k, cuda::args::bounds<int64_t{1}, int64_t{1024}>()};
    auto how = execution::env{
        cuda::stream_ref{stream},
        cuda::execution::require(
            cuda::execution::determinism::not_guaranteed, cuda::execution::tie_break::unspecified,
            cuda::execution::output_ordering::unsorted)};
    return cub::DeviceBatchedTopK::MaxPairs(
        scratch, *bytes, given, found, numbers, spots, lengths, firsts, cuda::args::immediate{rows}, how);
}

extern "C" int cub_top_rows_float32(
    void* scratch, size_t* bytes, const void* x, void* y, void* places, int64_t rows, int64_t n, int64_t k, cudaStream_t stream) {
    return (n <= 1024 ? of_rows<1024> : of_rows<8192>)(scratch, bytes, x, y, places, rows, n, k, stream);
}
#endif
