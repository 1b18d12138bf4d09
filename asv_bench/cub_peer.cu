// CUB's inclusive sum and its sum behind C entry points, so that one Python process can time it beside others. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>

template <class T> static size_t bytes(int64_t n) {
    size_t found = 0;
    cub::DeviceScan::InclusiveSum(nullptr, found, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), n);
    return found;
}

template <class T> static int sum(void* scratch, size_t found, const void* x, void* y, int64_t n, void* stream) {
    return cub::DeviceScan::InclusiveSum(
        scratch, found, static_cast<const T*>(x), static_cast<T*>(y), n, static_cast<cudaStream_t>(stream));
}

template <class T> static size_t reduce_bytes(int64_t n) {
    size_t found = 0;
    cub::DeviceReduce::Sum(nullptr, found, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), n);
    return found;
}

template <class T> static int reduce(void* scratch, size_t found, const void* x, void* y, int64_t n, void* stream) {
    return cub::DeviceReduce::Sum(
        scratch, found, static_cast<const T*>(x), static_cast<T*>(y), n, static_cast<cudaStream_t>(stream));
}

#define ENTRY(NAME, T)                                                                                               \
    extern "C" size_t cub_bytes_##NAME(int64_t n) { return bytes<T>(n); }                                            \
    extern "C" int cub_scan_##NAME(void* scratch, size_t found, const void* x, void* y, int64_t n, void* stream) {   \
        return sum<T>(scratch, found, x, y, n, stream);                                                              \
    }                                                                                                                \
    extern "C" size_t cub_reduce_bytes_##NAME(int64_t n) { return reduce_bytes<T>(n); }                              \
    extern "C" int cub_reduce_##NAME(void* scratch, size_t found, const void* x, void* y, int64_t n, void* stream) { \
        return reduce<T>(scratch, found, x, y, n, stream);                                                           \
    }

ENTRY(int8, int8_t)
ENTRY(uint8, uint8_t)
ENTRY(int16, int16_t)
ENTRY(int32, int32_t)
ENTRY(int64, int64_t)
ENTRY(float32, float)
ENTRY(float64, double)
