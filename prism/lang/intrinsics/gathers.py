"""`all_gather`: what each warp of a cluster gives reaches every warp, with no barrier of the cluster.

A block has room for two gathers, and an mbarrier for each; for one, where a kernel comes to one alone. Lane d of each warp stores
its values into the memory of block d, by `st.async`, which counts the bytes at that block's mbarrier; then the warp waits until
its own block has all bytes. Two rooms are enough: a warp sends to the third gather after it has waited for the second one, and
all warps send to that after they have read the first one. A block can leave when its warps have waited for the last gather:
nothing is under way to it then.

The wait acquires for the block: what has come lies in its shared memory, which no cache holds. To acquire for the cluster drops
all that the L1 has, as its barrier does, and the multiprocessor's other blocks need that.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from prism.lang.intrinsics.asynchronous import SHARED
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import Memory, Values, scalar_of
from prism.lang.types.perspective import WARP, WARP1

MBARRIERS = 16
"""Bytes of the two mbarriers of a kernel's gathers; the rooms stand behind them."""
AT, ROOM, LATE = "px_gather_at", "px_gather_room", "px_gather_late"
"""What the emitter says of a kernel's gathers: where they stand, a room's bytes, whether the first one waits for all blocks."""
ROUND = "px_round"
"""A thread's number of the next gather."""


def warps_of(binding: Binding) -> int:
    """Return of how many warps a gather has room for what they give."""
    return binding.lengths["found"] // binding.lengths["values"] * WARP


def room_of(binding: Binding, warps: int) -> int:
    """Return the bytes of what so many warps give, up to a multiple of 16."""
    return -(-warps * binding.lengths["values"] * scalar_of(binding).bytes // 16) * 16


_TEXT = """\
static __device__ __forceinline__ unsigned int px_rank_map(unsigned int at, unsigned int rank) {
    unsigned int there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
    return there;
}

static __device__ __forceinline__ void px_send(unsigned int to, unsigned int word, unsigned int barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 :: "r"(to), "r"(word), "r"(barrier) : "memory");
}
static __device__ __forceinline__ void px_send(unsigned int to, unsigned long long word, unsigned int barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
                 :: "r"(to), "l"(word), "r"(barrier) : "memory");
}
static __device__ __forceinline__ void px_send(unsigned int to, uint4 word, unsigned int barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 :: "r"(to), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w), "r"(barrier) : "memory");
}

template <int BYTES> struct px_gather_word { typedef unsigned int type; };
template <> struct px_gather_word<8> { typedef unsigned long long type; };
template <> struct px_gather_word<16> { typedef uint4 type; };

template <int K, unsigned int ROOM, bool LATE, typename T, int N, typename F>
static __device__ __forceinline__ void px_all_gather(
    const T (&values)[N], F& found, unsigned char* at, unsigned int& round) {
    typedef typename px_gather_word<sizeof(T) % 16 == 0 ? 16 : sizeof(T) % 8 == 0 ? 8 : 4>::type word;
    if (LATE && round == 0u) px_cluster_wait();
    unsigned int rank, size;
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %cluster_nctarank;" : "=r"(size));
    const unsigned int here = blockDim.x / 32u, lane = threadIdx.x % 32u, many = here * size, room = round & 1u;
    unsigned char* const parts = at + 16u + room * ROOM;  // of values[q] of all warps, one behind the other
    const unsigned int barrier = px_smem(at) + 8u * room;
    if (threadIdx.x == 0u)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(barrier), "r"(many * (unsigned int)(N * sizeof(T))) : "memory");
    __syncwarp();
    if (lane < size) {
        const unsigned int there = px_rank_map(barrier, lane);
        const unsigned int to = px_rank_map(px_smem(parts), lane) + (rank * here + threadIdx.x / 32u) * sizeof(T);
#pragma unroll
        for (int q = 0; q < N; ++q) {
            word words[sizeof(T) / sizeof(word)];
            memcpy(words, &values[q], sizeof(T));
#pragma unroll
            for (int i = 0; i < sizeof(T) / sizeof(word); ++i)
                px_send(to + (unsigned int)(q * many * sizeof(T) + i * sizeof(word)), words[i], there);
        }
    }
    asm volatile(
        "{\\n\\t.reg .pred done;\\n"
        "again_%=:\\n\\t"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\\n\\t"
        "@!done bra again_%=;\\n\\t}"
        :: "r"(barrier), "r"(round >> 1 & 1u) : "memory");
    T* const into = reinterpret_cast<T*>(&found);
    const T* const came = reinterpret_cast<const T*>(parts);
#pragma unroll
    for (int q = 0; q < N; ++q)
#pragma unroll
        for (int k = 0; k < K; ++k)
            if (lane + 32u * k < many) into[q * K + k] = came[q * many + 32 * k + lane];
    ++round;
}
"""


def _cuda(binding: Binding, values: str, found: str) -> str:
    return f"px_all_gather<{warps_of(binding) // WARP}, {ROOM}, {LATE}>({values}, {found}, px_shared + {AT}, {ROUND})"


def _problem(binding: Binding) -> str:
    given, room = binding.lengths["values"], binding.lengths["found"]
    return "" if room % given == 0 else f"`found` has {room} elements, no multiple of the {given} of `values`"


def _meaning(binding: Binding, memory: Memory, values: Values, found: Values) -> Generator[None, None, None]:
    number = memory.give(values)
    while (given := memory.collect(number)) is None:
        yield
    warps, rows = warps_of(binding), found.reshape(len(found), values.shape[1], -1)
    lanes = np.arange(len(found)) % WARP
    for k in range(warps // WARP):
        there = lanes + WARP * k < len(given)
        rows[there, :, k] = given[lanes[there] + WARP * k]
    found[...] = rows.reshape(found.shape)


all_gather = Intrinsic(
    name="all_gather",
    doc=(
        "all_gather(values, found): give what the warps of a cluster have in values to all of them. found[q, k] of lane l, of a "
        "found with K times as many elements, becomes values[q] of the cluster's warp 32 * k + l; where there is none it stays. "
        "Lane d's values go to block d. All threads of the cluster come; a block's warps go on when theirs are there, and do not "
        "meet. It orders no other access."
    ),
    parameters=(Parameter("values", "array"), Parameter("found", "array", effect="update")),
    cuda=_cuda,
    preamble=lambda binding: f"{SHARED}\n{_TEXT}",
    meaning=_meaning,
    requires=WARP1,
    allows=lambda scalar: scalar.bytes % 4 == 0,
    allows_text="any scalar, or a struct, of a multiple of 4 bytes",
    min_arch="sm_90",
    orders=True,
    blocking=True,
    structs=True,
    clusters=True,
    problem=_problem,
    source="PTX ISA 9.7.9.13 st.async, 9.7.13.15 mbarrier.try_wait",
)

GATHERS = (all_gather,)
