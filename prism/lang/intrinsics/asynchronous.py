"""What asynchronous accesses are waited for with, in C++: mbarriers, groups, fences. The plan says where; the emitter asks here.

Each function returns one statement (`map_text` and `rank_text`: an expression). Addresses are C++ pointers to shared memory.
`helpers(*texts)` gives the texts of all `px_` functions that some texts call, so that a program has each of them once.

`Transfer` is what the reference machine gives to the meaning of an asynchronous copy.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, Protocol


class Transfer(Protocol):
    """What the reference machine gives an asynchronous copy's meaning, for the threads that run it now: the active ones.

    Nothing is copied at once: the machine delivers when its schedule says so, at the latest when somebody waits for it. A
    reference is an element, tile or tensor operand: for each active thread, where its index expressions point; nothing here
    looks inside. Numbers are one int, or one entry an active thread.
    """

    def align(self, reference: Any, bytes: int) -> None:
        """Report an address that is no multiple of `bytes`."""
        ...

    def require(self, holds: Any, text: str) -> None:
        """Report `text` for the first thread where `holds` is False."""
        ...

    def copy(self, destination: Any, source: Any, elements: Any, valid: Any = None) -> None:
        """Copy elements that follow one another, each thread `elements` of them; zeros after the first `valid` of its source.

        Of the source only those that are valid are read.
        """
        ...

    def reduce(self, destination: Any, source: Any, elements: Any, step: Callable[[Any, Any], Any]) -> None:
        """Combine elements that follow one another: `step` of what is there and what comes, each in one atomic step."""
        ...

    def reduce_tile(self, tensor: Any, tile: Any, step: Callable[[Any, Any], Any]) -> None:
        """Combine a box of the tensor with the tile; what is outside the tensor is left alone."""
        ...

    def load_tile(self, tile: Any, tensor: Any, multicast: int = 0, relative: bool = False) -> None:
        """Copy a box of the tensor map into shared memory; what is outside the tensor gives zeros, which count as bytes too.

        The box is as the map's type says; `tile` is where its first element goes, and rows of the tile follow one another there.
        Bit r of `multicast`: the same place of block r of the cluster gets it too (0: this block, alone); where `relative`, of
        block r ^ the own one's number.
        """
        ...

    def send(self, destination: Any, value: Any, shift: Any) -> None:
        """Store each thread's value at its destination's place in the block that is `shift` further on in the cluster."""
        ...

    def store_tile(self, tensor: Any, tile: Any) -> None:
        """Copy the other way; what is outside the tensor is not written."""
        ...


# -- helpers ----------------------------------------------------------------------------------------------------------

_HEAD = "static __device__ __forceinline__"

SHARED = f"""\
{_HEAD} unsigned int px_smem(const void* p) {{ return (unsigned int)__cvta_generic_to_shared(p); }}
"""


def _on_barrier(name: str, instruction: str, *more: str) -> str:
    """Return a helper that applies one instruction to an mbarrier, and to numbers."""
    formals = ", ".join(["void* barrier", *(f"unsigned int {n}" for n in more)])
    operands = ", ".join(['"r"(px_smem(barrier))', *(f'"r"({n})' for n in more)])
    end = "" if instruction.endswith("}") else ";"
    return f'{_HEAD} void {name}({formals}) {{\n    asm volatile("{instruction}{end}" :: {operands} : "memory");\n}}\n'


def _wait(name: str, order: str) -> str:
    return f"""\
{_HEAD} void {name}(void* barrier, unsigned int parity) {{
    asm volatile(
        "{{\\n\\t.reg .pred done;\\n"
        "again_%=:\\n\\t"
        "mbarrier.try_wait.parity{order}.shared::cta.b64 done, [%0], %1;\\n\\t"
        "@!done bra again_%=;\\n\\t}}"
        :: "r"(px_smem(barrier)), "r"(parity) : "memory");
}}
"""


def _keep(formal: str, count: str, operand: str) -> str:
    return f"""\
template <int N> {_HEAD} void px_keep({formal}) {{
#pragma unroll
    for (int i = 0; i < {count}; ++i) asm volatile("" : {operand} :: "memory");
}}
"""


# An arrival in another block says that tensor copies may go there: the wgmmas that read what they overwrite have been waited for.
# `.release.cluster` would also publish plain writes to the other block, by a membar of the whole GPU: 1 us an arrival, measured.
# Where another block's threads store there themselves (`st_async`), it is needed: these have read what is overwritten.
def _remote(order: str) -> str:
    return (
        "{\\n\\t.reg .b32 there;\\n\\tmapa.shared::cluster.u32 there, %0, %1;\\n\\t"
        f"mbarrier.arrive{order}.shared::cluster.b64 _, [there];\\n\\t}}"
    )


# A fragment of 8-bit elements. An accumulator's thread has pairs of neighbours of each 8 columns, and the operand's four of each
# 16: the threads of a quad exchange half of them, once after they were written, and `words` has what the wgmma reads meanwhile.
HELD = f"""\
template <typename T, int N> struct px_held {{
    T item[N];
    unsigned int words[N / 4];
    bool laid = false;
    struct place {{
        px_held& of;
        const int i;
        __device__ __forceinline__ void operator=(T x) {{ of.item[i] = x; of.laid = false; }}
        template <typename U> __device__ __forceinline__ explicit operator U() const {{ return (U)of.item[i]; }}
        __device__ __forceinline__ operator T() const {{ return of.item[i]; }}
    }};
    __device__ __forceinline__ place operator[](int i) {{ return {{*this, i}}; }}
}};
template <typename T, int N> {_HEAD} void px_keep_words(px_held<T, N>& d) {{
#pragma unroll
    for (int i = 0; i < N / 4; ++i) asm volatile("" : "+r"(d.words[i]) :: "memory");
}}
template <typename T, int N> {_HEAD} void px_lay(px_held<T, N>& d) {{
    if (d.laid) return;
    const unsigned int quad = threadIdx.x % 4u;
    const bool outer = quad == 0u || quad == 3u;
    const unsigned int (&as_written)[N / 4] = reinterpret_cast<const unsigned int (&)[N / 4]>(d.item);
#pragma unroll
    for (int i = 0; i + 1 < N / 4; i += 2) {{
        const unsigned int left = as_written[i], right = as_written[i + 1];
        const unsigned int one = __shfl_sync(0xffffffffu, outer ? left : right, 0x2130u >> 4u * quad & 3u, 4);
        const unsigned int two = __shfl_sync(0xffffffffu, outer ? right : left, 0x3021u >> 4u * quad & 3u, 4);
        d.words[i] = __byte_perm(one, two, outer ? 0x5410u : 0x1054u);
        d.words[i + 1] = __byte_perm(one, two, outer ? 0x7632u : 0x3276u);
    }}
    d.laid = true;
    px_keep_words(d);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}}
"""
HELPERS = {
    "px_mbarrier_init": _on_barrier("px_mbarrier_init", "mbarrier.init.shared::cta.b64 [%0], %1", "count"),
    "px_mbarrier_arrive": _on_barrier("px_mbarrier_arrive", "mbarrier.arrive.shared::cta.b64 _, [%0]"),
    "px_mbarrier_expect": _on_barrier(
        "px_mbarrier_expect", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1", "bytes"
    ),
    "px_mbarrier_arrive_copies": _on_barrier(
        "px_mbarrier_arrive_copies", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0]"
    ),
    "px_mbarrier_arrive_remote": _on_barrier("px_mbarrier_arrive_remote", _remote(""), "rank"),
    "px_mbarrier_release_remote": _on_barrier("px_mbarrier_release_remote", _remote(".release.cluster"), "rank"),
    "px_mbarrier_wait": _wait("px_mbarrier_wait", ""),
    "px_mbarrier_wait_cluster": _wait("px_mbarrier_wait_cluster", ""),
    "px_mbarrier_acquire_cluster": _wait("px_mbarrier_acquire_cluster", ".acquire.cluster"),
    "px_cluster_barrier": (
        f"{_HEAD} void px_cluster_barrier() {{\n    __syncwarp();\n"
        '    asm volatile("barrier.cluster.arrive.release.aligned;\\n\\t"\n'
        '                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");\n}\n'
    ),
    # One warp publishes what the block has done: each such fence waits for all that is under way. docs/how/barriers.md argues it.
    "px_cluster_meet": (
        f"{_HEAD} void px_cluster_meet() {{\n    __syncwarp();\n"
        '    asm volatile("bar.sync 0;" ::: "memory");\n'  # warps of several roles meet it, each in its own text
        '    if (threadIdx.x < 32u) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");\n'
        '    else asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");\n'
        '    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");\n}\n'
    ),
    "px_cluster_begin": (  # nobody has written anything yet that others wait for
        f"{_HEAD} void px_cluster_begin() {{\n    __syncwarp();\n"
        '    asm volatile("barrier.cluster.arrive.relaxed.aligned;\\n\\t"\n'
        '                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");\n}\n'
    ),
    "px_cluster_arrive": (
        f"{_HEAD} void px_cluster_arrive() {{\n    __syncwarp();\n"
        '    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");\n}\n'
    ),
    "px_cluster_wait": (
        f"{_HEAD} void px_cluster_wait() {{\n    __syncwarp();\n"
        '    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");\n}\n'
    ),
    "px_cluster_rank": (
        f"{_HEAD} int px_cluster_rank() {{\n    int rank;\n"
        '    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));\n    return rank;\n}\n'
    ),
    "px_map": (
        f"template <typename T> {_HEAD} T* px_map(T* p, int rank) {{\n    T* there;\n"
        '    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));\n    return there;\n}\n'
    ),
    "px_keep": _keep("float (&d)[N]", "N", '"+f"(d[i])') + _keep("int (&d)[N]", "N", '"+r"(d[i])'),
    "px_held": HELD,
    "px_keep_words": (
        f"template <typename T, int N> {_HEAD} void px_keep_words(T (&d)[N]) {{\n"
        "    unsigned int (&words)[N * sizeof(T) / 4] = reinterpret_cast<unsigned int (&)[N * sizeof(T) / 4]>(d);\n"
        "#pragma unroll\n"
        '    for (int i = 0; i < N * sizeof(T) / 4; ++i) asm volatile("" : "+r"(words[i]) :: "memory");\n}\n'
    ),
}
_KEEP_HALVES = _keep("px_half (&d)[N]", "N / 2", '"+r"(reinterpret_cast<unsigned int (&)[N / 2]>(d)[i])')


@functools.lru_cache(maxsize=4096)
def words(text: str) -> frozenset[str]:
    """Return the compiler's own names that a text mentions."""
    return frozenset(re.findall(r"\bpx_\w+", text))


def helpers(*texts: str) -> list[str]:
    """Return the helpers that some texts call, in the order in which they must stand."""
    said = frozenset[str]().union(*map(words, texts))
    found = [piece for name, piece in HELPERS.items() if name in said]
    if "px_keep" in said and "px_half" in said:
        found.append(_KEEP_HALVES)
    shared = [SHARED] if "px_smem" in said or any("px_smem" in piece for piece in found) else []
    return [piece.rstrip("\n") for piece in (*shared, *found)]


# -- mbarriers --------------------------------------------------------------------------------------------------------


def mbarrier_init(address: str, count: int | str) -> str:
    """Initialise an mbarrier whose phases take `count` arrivals."""
    return f"px_mbarrier_init({address}, {count});"


def mbarrier_init_fence() -> str:
    """Make initialised mbarriers visible to the copy engine and to the cluster; a block or cluster barrier must follow."""
    return 'asm volatile("fence.mbarrier_init.release.cluster;\\n\\tfence.proxy.async.shared::cta;" ::: "memory");'


def mbarrier_arrive(address: str) -> str:
    """Arrive, and release what this thread did before."""
    return f"px_mbarrier_arrive({address});"


def mbarrier_arrive_copies(address: str) -> str:
    """Arrive when this thread's `cp.async`s so far have ended. The arrival is one of the barrier's count."""
    return f"px_mbarrier_arrive_copies({address});"


def mbarrier_expect(address: str, bytes: int | str) -> str:
    """Announce bytes of copies that will complete on the mbarrier in this phase. It is no arrival."""
    return f"px_mbarrier_expect({address}, {bytes});"


def mbarrier_wait(address: str, parity: str, cluster: bool = False, stores: bool = False) -> str:
    """Wait, suspended, until the phase of this parity has been completed. `cluster`: other blocks arrive there, or copy here.

    `stores`: their threads store here, or read what is overwritten.
    """
    if stores:
        return f"px_mbarrier_acquire_cluster({address}, {parity});"
    return f"px_mbarrier_wait{'_cluster' if cluster else ''}({address}, {parity});"


# -- groups and fences ------------------------------------------------------------------------------------------------


def _statement(instruction: str) -> str:
    return f'asm volatile("{instruction};" ::: "memory");'


def cp_async_commit() -> str:
    """Make a group of the thread's `cp.async`s since the last."""
    return _statement("cp.async.commit_group")


def cp_async_wait(pending: int) -> str:
    """Wait until at most `pending` of the thread's newest groups of `cp.async` are under way."""
    return _statement(f"cp.async.wait_group {pending}")


def bulk_commit() -> str:
    """Make a group of the thread's bulk and tensor stores since the last."""
    return _statement("cp.async.bulk.commit_group")


def bulk_wait(pending: int, read: bool = False) -> str:
    """Wait until at most `pending` of the thread's newest groups of stores are under way; `read`: still read their source."""
    return _statement(f"cp.async.bulk.wait_group{'.read' if read else ''} {pending}")


def wgmma_fence() -> str:
    """Order the warpgroup's accesses to registers before the wgmmas that come after."""
    return _statement("wgmma.fence.sync.aligned")


def wgmma_commit() -> str:
    """Make a group of the warpgroup's wgmmas since the last."""
    return _statement("wgmma.commit_group.sync.aligned")


def wgmma_wait(pending: int) -> str:
    """Wait until at most `pending` of the warpgroup's newest groups of wgmmas are under way."""
    return _statement(f"wgmma.wait_group.sync.aligned {pending}")


def keep(fragment: str, words: bool = False) -> str:
    """Tie a fragment's registers to this place: stands before the fence of a batch of wgmmas, and after the wait for it.

    `words`: it is of elements that no accumulator has, several in a register.

    Without it the compiler moves plain accesses of accumulators across, and the assembler then makes the wgmmas wait one by one.
    """
    return f"px_keep{'_words' if words else ''}({fragment});"


SPACES = {"shared": ".shared::cta", "cluster": ".shared::cluster", "global": ".global", "all": ""}
"""What a proxy fence is for: the block's own shared memory, that of its cluster, global memory, all."""


def proxy_fence(space: str = "shared") -> str:
    """Order the thread's plain accesses before what the copy engine and wgmma do later. `space`: one of SPACES."""
    return _statement(f"fence.proxy.async{SPACES[space]}")


# -- clusters ---------------------------------------------------------------------------------------------------------


def cluster_barrier() -> str:
    """Meet all threads of the cluster, and order what they did before."""
    return "px_cluster_barrier();"


def cluster_meet() -> str:
    """Meet all threads of the cluster, where all of each block come, and order what they did before."""
    return "px_cluster_meet();"


def cluster_begin() -> str:
    """Meet all threads of the cluster, and order nothing."""
    return "px_cluster_begin();"


def cluster_arrive() -> str:
    """Tell the cluster that this thread has begun, and order nothing; `cluster_wait` must follow."""
    return "px_cluster_arrive();"


def cluster_wait() -> str:
    """Wait until all threads of the cluster have arrived."""
    return "px_cluster_wait();"


def map_text(pointer: str, rank: str) -> str:
    """Return the pointer to the same place in the shared memory of the cluster's block `rank`."""
    return f"px_map({pointer}, {rank})"


def rank_text() -> str:
    """Return this block's rank in its cluster."""
    return "px_cluster_rank()"
