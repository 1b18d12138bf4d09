"""Hints for tensor copies: a map's description brought near, a tile asked for ahead."""

from __future__ import annotations

from prism.lang.intrinsics.copies import HEAD, coordinates
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.types import tiles
from prism.lang.types.perspective import GRID

_PREFETCH_MAP = f"""\
{HEAD} void px_prefetch_map(const void* map) {{
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}}
"""
prefetch_map = Intrinsic(
    name="prefetch_map",
    doc="prefetch_map(map): bring a tensor map's description near, before the first copy needs it. A hint.",
    parameters=(Parameter("map", "map", unit=GRID),),
    cuda=lambda binding, map: f"px_prefetch_map({map})",
    preamble=lambda binding: _PREFETCH_MAP,
    meaning=lambda binding, *_: None,
    min_arch="sm_90",
    source="PTX ISA, prefetch.tensormap",
)


def _tma_prefetch_cuda(binding: Binding, map: str, *indices: str) -> str:
    tensor = binding.maps["tensor"]
    count, columns = tiles.slabs(tensor)
    return f"px_tma_prefetch_{len(tensor.box)}d<{count}, {columns}>({', '.join([map, *indices])})"


def _tma_prefetch_preamble(binding: Binding) -> str:
    rank = len(binding.maps["tensor"].box)
    formals, given, actual = coordinates(rank, 1)
    return f"""\
template <int COUNT, int COLUMNS>
{HEAD} void px_tma_prefetch_{rank}d(const void* map, {formals}) {{
#pragma unroll
    for (int s = 0; s < COUNT; ++s)
        asm volatile("cp.async.bulk.prefetch.tensor.{rank}d.L2.global [%0, {given}];" :: "l"(map), {actual} : "memory");
}}
"""


tma_prefetch = Intrinsic(
    name="tma_prefetch",
    doc=(
        "tma_prefetch(map[i, j]): ask for the tile of the tensor that begins at [i, j] to be brought into the L2, and go on at "
        "once. A hint: it gives no value, and orders no other access. It may come before the kernel's wait for the one before, "
        "where its indices are not read from memory. Copies of the same block that are asked for after it wait behind it."
    ),
    parameters=(Parameter("tensor", "tensor"),),
    cuda=_tma_prefetch_cuda,
    preamble=_tma_prefetch_preamble,
    meaning=lambda binding, *_: None,
    problem=lambda binding: tiles.map_problem(binding.maps["tensor"]),
    min_arch="sm_90",
    source="PTX ISA 9.7.9.25.5.5 cp.async.bulk.prefetch.tensor",
)


PREFETCHES = (prefetch_map, tma_prefetch)
