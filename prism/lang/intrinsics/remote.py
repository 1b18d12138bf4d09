"""`st_async`: a store into the shared memory of another block of the cluster, which waits for it at its ring's mbarrier."""

from __future__ import annotations

from typing import Any

from prism.lang.intrinsics.asynchronous import SHARED, Transfer
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import scalar_of, to_bits
from prism.lang.types import INT32


def _cuda(binding: Binding, destination: str, value: str, *, barrier: str = "") -> str:
    bits = to_bits(scalar_of(binding), value)
    return f"px_st_async_{scalar_of(binding).bits}<{shift_of(binding)}>({destination}, {bits}, {barrier})"


def _preamble(binding: Binding) -> str:
    bits = scalar_of(binding).bits
    word, letter = ("unsigned int", "r") if bits == 32 else ("unsigned long long", "l")
    return f"""\
{SHARED}
template <int SHIFT> static __device__ __forceinline__ void px_st_async_{bits}(void* to, {word} value, void* barrier) {{
    unsigned int rank, size;
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %cluster_nctarank;" : "=r"(size));
    asm volatile("{{\\n\\t.reg .b32 there, bar;\\n\\tmapa.shared::cluster.u32 there, %0, %3;\\n\\t"
                 "mapa.shared::cluster.u32 bar, %2, %3;\\n\\t"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.b{bits} [there], %1, [bar];\\n\\t}}"
                 :: "r"(px_smem(to)), "{letter}"(value), "r"(px_smem(barrier)), "r"((rank + SHIFT) % size) : "memory");
}}
"""


def shift_of(binding: Binding) -> int:
    """Return how far on in the cluster a store's block is."""
    return int(binding.statics.get("shift") or 0)


def _meaning(binding: Binding, transfer: Transfer, destination: Any, value: Any) -> None:
    transfer.send(destination, value, shift_of(binding))


st_async = Intrinsic(
    name="st_async",
    doc=(
        "st_async(s[i], v, shift=1): store v at the place of s[i], of this thread's part of a ring's copy, in the block that is "
        "`shift` further on in the cluster, round its end; that block has it where it has waited for this visit of the ring."
    ),
    parameters=(
        Parameter("destination", "element", effect="write"),
        Parameter("value"),
        Parameter("shift", "static", INT32, default=1, optional=True),
    ),
    result=None,
    cuda=_cuda,
    preamble=_preamble,
    meaning=_meaning,
    allows=lambda scalar: scalar.bytes in (4, 8),
    allows_text="4 or 8 bytes",
    problem=lambda binding: "" if shift_of(binding) > 0 else "`shift` is a positive number of blocks",
    min_arch="sm_90",
    asynchronous="remote",
    source="PTX ISA 9.7.9.13 st.async",
)

REMOTE = (st_async,)

__all__ = ["REMOTE", "shift_of", "st_async"]
