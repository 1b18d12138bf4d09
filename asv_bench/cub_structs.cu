// CUB's inclusive scans of structs, for asv_bench/scan_structs.py: the composition of affine maps, and sums of complex numbers.
#include <cub/cub.cuh>

template <typename T> struct alignas(2 * sizeof(T)) Pair { T a, b; };
struct Compose {
    template <typename T> __device__ Pair<T> operator()(Pair<T> f, Pair<T> g) const { return {f.a * g.a, f.b * g.a + g.b}; }
};
struct Add {
    template <typename T> __device__ Pair<T> operator()(Pair<T> f, Pair<T> g) const { return {f.a + g.a, f.b + g.b}; }
};

#define PEER(NAME, T, OP)                                                                                                   \
    extern "C" size_t cub_bytes_##NAME(long long n) {                                                                       \
        size_t bytes = 0;                                                                                                   \
        cub::DeviceScan::InclusiveScan(nullptr, bytes, (const Pair<T>*)nullptr, (Pair<T>*)nullptr, OP{}, n);                \
        return bytes;                                                                                                       \
    }                                                                                                                       \
    extern "C" int cub_scan_##NAME(void* scratch, size_t bytes, const void* x, void* y, long long n, cudaStream_t stream) { \
        return cub::DeviceScan::InclusiveScan(scratch, bytes, (const Pair<T>*)x, (Pair<T>*)y, OP{}, n, stream);             \
    }

PEER(affine_float32, float, Compose)
PEER(affine_float64, double, Compose)
PEER(sum_complex64, float, Add)
PEER(sum_complex128, double, Add)
