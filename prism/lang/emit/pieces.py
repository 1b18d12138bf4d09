"""Helper texts in C++: each is emitted once, where something calls it."""

from __future__ import annotations

TENSOR_MAP = """\
struct __align__(64) px_tensor_map { unsigned long long word[16]; };
"""

BYTE = """\
template <typename T> static __device__ __forceinline__ T* px_byte(T* tile, int offset) {
    return (T*)((unsigned char*)tile + offset);
}
"""

OF_BLOCK = """\
template <unsigned int BLOCKS = 0, typename T>
static __device__ __forceinline__ T* px_of_block(T* mine, unsigned int block) {
    if (BLOCKS != 0) {
        unsigned int rank;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        block += rank / BLOCKS * BLOCKS;
    }
    T* found;
    asm("mapa.u64 %0, %1, %2;" : "=l"(found) : "l"(mine), "r"(block));
    return found;
}
"""

PLACE = """\
static __device__ __forceinline__ int px_row(unsigned int thread, int i) {
    return (int)(thread / 32u * 16u + thread % 32u / 4u) + i / 2 % 2 * 8;
}
static __device__ __forceinline__ int px_column(unsigned int thread, int i) {
    return i / 4 * 8 + (int)(thread % 4u) * 2 + i % 2;
}
"""

_ADDRESS = '"r"((unsigned int)__cvta_generic_to_shared(barrier))'

INIT = f"""\
static __device__ __forceinline__ void px_init(unsigned long long* barrier, unsigned int count) {{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: {_ADDRESS}, "r"(count) : "memory");
}}
"""

INIT_DONE = """\
static __device__ __forceinline__ void px_init_done() {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
"""

WAIT = f"""\
static __device__ __forceinline__ void px_wait(unsigned long long* barrier, unsigned int phase) {{
#if __CUDA_ARCH__ >= 900
#define PX_TEST "mbarrier.try_wait.parity.shared.b64"
#else
#define PX_TEST "mbarrier.test_wait.parity.shared.b64"
#endif
    asm volatile("{{\\n.reg .pred done;\\nagain:\\n" PX_TEST " done, [%0], %1;\\n@!done bra again;\\n}}"
                 :: {_ADDRESS}, "r"(phase) : "memory");
}}
"""

ARRIVE = f"""\
static __device__ __forceinline__ void px_arrive(unsigned long long* barrier) {{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: {_ADDRESS} : "memory");
}}
"""

ARRIVE_WARP = """\
static __device__ __forceinline__ void px_arrive_warp(unsigned long long* barrier) {
    __syncwarp();
    if (threadIdx.x % 32u == 0u) px_arrive(barrier);
}
"""

ARRIVE_COPIES = f"""\
static __device__ __forceinline__ void px_arrive_copies(unsigned long long* barrier) {{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: {_ADDRESS} : "memory");
}}
"""

EXPECT = f"""\
static __device__ __forceinline__ void px_expect(unsigned long long* barrier, unsigned int bytes) {{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" :: {_ADDRESS}, "r"(bytes) : "memory");
}}
"""

ARRIVE_EXPECT = f"""\
static __device__ __forceinline__ void px_arrive_expect(unsigned long long* barrier, unsigned int bytes) {{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: {_ADDRESS}, "r"(bytes) : "memory");
}}
"""

PROXY_FENCE = """\
static __device__ __forceinline__ void px_proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
"""

CLUSTER = """\
static __device__ __forceinline__ void px_sync_cluster() {
    asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory");
}
"""

WGMMA_FENCE = """\
static __device__ __forceinline__ void px_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
"""

COMMITS = {
    "cp_async": """\
static __device__ __forceinline__ void px_commit_cp_async() { asm volatile("cp.async.commit_group;" ::: "memory"); }
""",
    "bulk": """\
static __device__ __forceinline__ void px_commit_bulk() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
""",
    "wgmma": """\
static __device__ __forceinline__ void px_commit_wgmma() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
""",
}

_PENDING = """\
template <int N> static __device__ __forceinline__ void px_{}() {{ asm volatile("{} %0;" :: "n"(N) : "memory"); }}
"""
WAITS = {
    "cp_async": _PENDING.format("pending_cp_async", "cp.async.wait_group"),
    "bulk": _PENDING.format("pending_bulk", "cp.async.bulk.wait_group"),
    "bulk_read": _PENDING.format("pending_bulk_read", "cp.async.bulk.wait_group.read"),
    "wgmma": _PENDING.format("pending_wgmma", "wgmma.wait_group.sync.aligned"),
}

# No instruction: what the compiler knows of an accumulator ends here, so that it moves no use of it across.
HOLD = {
    "float": """\
template <int N> static __device__ __forceinline__ void px_hold(float (&accumulator)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("" : "+f"(accumulator[i]) :: "memory");
}
""",
    "int": """\
template <int N> static __device__ __forceinline__ void px_hold(int (&accumulator)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("" : "+r"(accumulator[i]) :: "memory");
}
""",
}
