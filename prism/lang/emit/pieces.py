"""Helper texts in C++ of the emitter's own: each is emitted once, where something calls it. asynchronous.py has the others."""

from __future__ import annotations

from prism.lang.intrinsics import asynchronous
from prism.lang.types.tiles import SWIZZLE

_HEAD = "static __device__ __forceinline__"

TENSOR_MAP = """\
struct __align__(64) px_tensor_map { unsigned long long word[16]; };
"""


def _in_blocks(name: str, arrive: str, *, relative: bool = False) -> dict[str, str]:
    """Return the helpers that arrive in several blocks of the cluster: each thread, or some for their warp.

    `relative`: bit b of the mask is block r ^ b, to block r.
    """
    own = '    unsigned int rank;\n    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));\n' if relative else ""
    at = "block ^ rank" if relative else "block"
    return {
        name: f"""\
template <unsigned int BLOCKS> {_HEAD} void {name}(void* barrier) {{
{own}#pragma unroll
    for (int block = 0; block < 16; ++block)
        if (BLOCKS >> block & 1u) {arrive}(barrier, {at});
}}
""",
        f"{name}_warp": f"""\
template <unsigned int BLOCKS> {_HEAD} void {name}_warp(void* barrier) {{
    __syncwarp();
{own}    const unsigned int block = threadIdx.x % 32u;
    if (block < 16u && (BLOCKS >> block & 1u)) {arrive}(barrier, {at});
}}
""",
    }


def _pack(kind: str, operand: bool = False) -> str:
    """Return the helper that converts two numbers, for elements i and i + 1 of a fragment; `operand`: it is declared as one."""
    name, formal = (
        (f"px_pack_{kind}_operand", f"px_{kind} (&d)[N]")
        if operand
        else (f"px_pack_{kind}", f"px_held<px_{kind}, N>& d")
    )
    item, changed = ("d", "") if operand else ("d.item", "    d.laid = false;\n")
    return f"""\
template <int N> {_HEAD} void {name}({formal}, int i, float x, float y) {{
#if __CUDA_ARCH__ >= 890
    unsigned short both;
    asm("cvt.rn.satfinite.{kind}x2.f32 %0, %1, %2;" : "=h"(both) : "f"(y), "f"(x));
    reinterpret_cast<unsigned short&>({item}[i]) = both;
{changed}#else
    d[i] = px_{kind}(x), d[i + 1] = px_{kind}(y);
#endif
}}
"""


_HELPERS = {
    "px_follow": f"""\
{_HEAD} void px_follow() {{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}}
""",
    "px_swizzle": SWIZZLE,
    "px_byte": f"""\
template <typename T> {_HEAD} T* px_byte(T* tile, int offset) {{ return (T*)((unsigned char*)tile + offset); }}
""",
    "px_row": f"""\
template <int STRIP = 1024> {_HEAD} int px_row(unsigned int thread, int i) {{
    return i / STRIP * 64 + (int)(thread / 32u * 16u + thread % 32u / 4u) + i / 2 % 2 * 8;
}}
""",
    "px_column": f"""\
template <int STRIP = 1024> {_HEAD} int px_column(unsigned int thread, int i) {{
    return i % STRIP / 4 * 8 + (int)(thread % 4u) * 2 + i % 2;
}}
""",
    "px_operand_row": f"""\
template <int STRIP = 1024> {_HEAD} int px_operand_row(unsigned int thread, int i) {{
    return i / STRIP * 64 + (int)(thread / 32u * 16u + thread % 32u / 4u) + i / 4 % 2 * 8;
}}
""",
    "px_operand_column": f"""\
template <int STRIP = 1024> {_HEAD} int px_operand_column(unsigned int thread, int i) {{
    return i % STRIP / 8 * 16 + (int)(thread % 4u) * 4 + i % 4;
}}
""",
    "px_grid_barrier": f"""\
{_HEAD} void px_grid_barrier(unsigned int* word) {{
    asm volatile("bar.sync 0;" ::: "memory");
    if (threadIdx.x == 0u) {{
        // All blocks together add 2^31: the word's top bit turns when the last one comes, and the rest is 0 again.
        const unsigned int mine = blockIdx.x == 0u ? 0x80000000u - (gridDim.x - 1u) : 1u;
        unsigned int before, now;
        asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;" : "=r"(before) : "l"(word), "r"(mine) : "memory");
        do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
        while (((before ^ now) & 0x80000000u) == 0u);
    }}
    asm volatile("bar.sync 0;" ::: "memory");
}}
""",
    "px_arrive_expect": f"""\
{_HEAD} void px_arrive_expect(void* barrier, unsigned int bytes) {{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(px_smem(barrier)), "r"(bytes) : "memory");
}}
""",
    "px_arrive_warp": f"""\
{_HEAD} void px_arrive_warp(void* barrier) {{
    __syncwarp();
    if (threadIdx.x % 32u == 0u) px_mbarrier_arrive(barrier);
}}
""",
    "px_pack_e4m3": _pack("e4m3"),
    "px_pack_e5m2": _pack("e5m2"),
    "px_pack_e4m3_operand": _pack("e4m3", operand=True),
    "px_pack_e5m2_operand": _pack("e5m2", operand=True),
    **_in_blocks("px_arrive_blocks", "px_mbarrier_arrive_remote"),
    **_in_blocks("px_release_blocks", "px_mbarrier_release_remote"),
    **_in_blocks("px_arrive_relative", "px_mbarrier_arrive_remote", relative=True),
}


def helpers(*texts: str) -> list[str]:
    """Return the helpers that some texts call, in the order in which they must stand."""
    said = frozenset[str]().union(*map(asynchronous.words, texts))
    mine = [piece.rstrip("\n") for name, piece in _HELPERS.items() if name in said]
    return [*asynchronous.helpers(*texts, *mine), *mine]
