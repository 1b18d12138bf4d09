// CUB's merges, merge sorts and sorts of segments, for asv_bench/merge.py and sort_rows.py. Built by measure.py.
#include <cstdint>
#include <cub/cub.cuh>

struct Less {
    template <typename T>
    __device__ bool operator()(const T& a, const T& b) const {
        return a < b;
    }
};

// Both halves of `x` are sorted, and stand in `values` with theirs.
#define MERGES(NAME, T)                                                                                                        \
    extern "C" int cub_merge_##NAME(void* scratch, size_t* bytes, const void* x, void* y, int64_t n, cudaStream_t stream) {     \
        const T* keys = (const T*)x;                                                                                           \
        return cub::DeviceMerge::MergeKeys(                                                                                    \
            scratch, *bytes, keys, n / 2, keys + n / 2, n - n / 2, (T*)y, Less{}, stream);                                     \
    }                                                                                                                          \
    extern "C" int cub_merge_pairs_##NAME(                                                                                     \
        void* scratch, size_t* bytes, const void* x, void* y, const void* values, void* moved, int64_t n,                      \
        cudaStream_t stream) {                                                                                                 \
        const T* keys = (const T*)x;                                                                                           \
        const uint32_t* beside = (const uint32_t*)values;                                                                      \
        return cub::DeviceMerge::MergePairs(                                                                                   \
            scratch, *bytes, keys, beside, n / 2, keys + n / 2, beside + n / 2, n - n / 2, (T*)y, (uint32_t*)moved, Less{},    \
            stream);                                                                                                           \
    }                                                                                                                          \
    extern "C" int cub_merge_sort_##NAME(void* scratch, size_t* bytes, const void* x, void* y, int64_t n, cudaStream_t stream) { \
        return cub::DeviceMergeSort::SortKeysCopy(scratch, *bytes, (const T*)x, (T*)y, n, Less{}, stream);                     \
    }

// Segment `s` is from `offsets[s]` to `offsets[s + 1]`.
#define SEGMENTS(NAME, T)                                                                                                      \
    extern "C" int cub_sort_segments_##NAME(                                                                                   \
        void* scratch, size_t* bytes, const void* x, void* y, const void* offsets, int64_t segments, int64_t n,                \
        cudaStream_t stream) {                                                                                                 \
        const int64_t* begin = (const int64_t*)offsets;                                                                        \
        return cub::DeviceSegmentedSort::SortKeys(                                                                             \
            scratch, *bytes, (const T*)x, (T*)y, n, segments, begin, begin + 1, stream);                                       \
    }

MERGES(uint32, uint32_t)
MERGES(uint64, uint64_t)
SEGMENTS(uint32, uint32_t)
SEGMENTS(float32, float)
