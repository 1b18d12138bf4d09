"""`st_async`: a store into the shared memory of another block of the cluster, which waits for it at its ring's mbarrier."""

from __future__ import annotations

from typing import Any

from prism.lang.intrinsics.asynchronous import SHARED, Transfer
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import scalar_of, to_bits
from prism.lang.types import INT32


def _cuda(binding: Binding, destination: str, value: str, shift: str = "1", *, barrier: str = "") -> str:
    bits = to_bits(scalar_of(binding), value)
    return f"px_st_async_{scalar_of(binding).bits}({destination}, {bits}, {barrier}, {shift})"


def _preamble(binding: Binding) -> str:
    bits = scalar_of(binding).bits
    word, letter = ("unsigned int", "r") if bits == 32 else ("unsigned long long", "l")
    return f"""\
{SHARED}
static __device__ __forceinline__ void px_st_async_{bits}(void* to, {word} value, void* barrier, int shift) {{
    int rank, size;
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %cluster_nctarank;" : "=r"(size));
    asm volatile("{{\\n\\t.reg .b32 there, bar;\\n\\tmapa.shared::cluster.u32 there, %0, %3;\\n\\t"
                 "mapa.shared::cluster.u32 bar, %2, %3;\\n\\t"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.b{bits} [there], %1, [bar];\\n\\t}}"
                 :: "r"(px_smem(to)), "{letter}"(value), "r"(px_smem(barrier)), "r"((shift % size + size + rank) % size)
                 : "memory");
}}
"""


def _meaning(binding: Binding, transfer: Transfer, destination: Any, value: Any, shift: Any = 1) -> None:
    transfer.send(destination, value, shift)


st_async = Intrinsic(
    name="st_async",
    doc=(
        "st_async(s[i], v, shift=1): store v at the place of s[i], of this thread's part of a ring's copy, in the block that is "
        "`shift` further on in the cluster, round its ends; that block has it where it has waited for this visit of the ring. "
        "`shift` is the same for a thread of each block of the cluster."
    ),
    parameters=(
        Parameter("destination", "element", effect="write"),
        Parameter("value"),
        Parameter("shift", "value", INT32, optional=True),
    ),
    cuda=_cuda,
    preamble=_preamble,
    meaning=_meaning,
    allows=lambda scalar: scalar.bytes in (4, 8),
    allows_text="4 or 8 bytes",
    min_arch="sm_90",
    asynchronous="remote",
    source="PTX ISA 9.7.9.13 st.async",
)

REMOTE = (st_async,)
