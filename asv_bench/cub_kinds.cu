// CUB's inclusive scans of other types and with other operators, for asv_bench/scan_kinds.py. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// CUB adds bytes and words of 16 bits up in int, if told to add them up; this returns their own type, as Prism's sums do.
struct Own {
    template <class T> __device__ T operator()(T a, T b) const { return static_cast<T>(a + b); }
};
struct Largest {
    template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
struct Product {
    template <class T> __device__ T operator()(T a, T b) const { return static_cast<T>(a * b); }
};

#define PEER(NAME, T, OP)                                                                                                  \
    extern "C" size_t cub_bytes_##NAME(int64_t n) {                                                                        \
        size_t bytes = 0;                                                                                                  \
        cub::DeviceScan::InclusiveScan(nullptr, bytes, (const T*)nullptr, (T*)nullptr, OP{}, n);                           \
        return bytes;                                                                                                      \
    }                                                                                                                      \
    extern "C" int cub_scan_##NAME(void* scratch, size_t bytes, const void* x, void* y, int64_t n, cudaStream_t stream) {  \
        return cub::DeviceScan::InclusiveScan(scratch, bytes, (const T*)x, (T*)y, OP{}, n, stream);                        \
    }

PEER(int32, int32_t, cuda::std::plus<>)
PEER(int64, int64_t, cuda::std::plus<>)
PEER(uint8, uint8_t, cuda::std::plus<>)
PEER(own_uint8, uint8_t, Own)
PEER(own_int16, int16_t, Own)
PEER(int16, int16_t, cuda::std::plus<>)
PEER(float16, __half, cuda::std::plus<>)
PEER(bfloat16, __nv_bfloat16, cuda::std::plus<>)
PEER(uint64, uint64_t, cuda::std::plus<>)
PEER(float64, double, cuda::std::plus<>)
PEER(max_int32, int32_t, Largest)
PEER(max_float32, float, Largest)
PEER(max_uint8, uint8_t, Largest)
PEER(product_int32, int32_t, Product)
PEER(product_float32, float, Product)
PEER(product_float64, double, Product)
