"""Which kernels ship: those that the host functions take by default, for arrays of all sizes in powers of two.

Each algorithm is asked, for GPUs of each architecture: the module `ships` of its folder asks its plans. What else is asked for is
compiled when it is first used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prism.lib import algorithms
from prism.runtime import artifacts
from prism.runtime.instance import Instance

ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120")
"""Not sm_90: every GPU of compute capability 9.0 runs code for sm_90a. `prism build --arch sm_90` compiles for it anyway."""

# Multiprocessors of the GPUs that plans are made for: A100; A10, RTX 3090, A40; L4, RTX 4090, L40; H100 (SXM) and H200; B200;
# RTX 5090, RTX PRO 6000. A GPU of other numbers, as the H100 for PCIe, takes mostly the same kernels.
_PROCESSORS = {
    "sm_80": (108,), "sm_86": (72, 82, 84), "sm_89": (58, 128, 142), "sm_90": (132,), "sm_90a": (132,),
    "sm_100": (148,), "sm_120": (170, 188),
}  # fmt: skip


_CHOSEN = ("hgemm", "sgemm")
"""Algorithms whose kernels are those that many calls choose."""


@dataclass(slots=True)
class _Gpu:
    """A GPU, as far as plans depend on it: an architecture, and so many multiprocessors."""

    arch: str
    multiprocessors: int
    host: bool = False

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks run at once; which kernel is taken does not depend on it."""
        return 2 * self.multiprocessors


def instances(arch: str) -> tuple[Instance, ...]:
    """Return the kernels that ship for an architecture, each once."""
    return tuple(each(arch))


def each(arch: str) -> Iterator[Instance]:
    """Yield them as they are found: products are listed last, for theirs are chosen by models, which takes seconds."""
    found = set[str]()
    for one in _all(arch):
        assert one.request is not None, f"`{one.kernel.__name__}` is not all of the package"
        if one.request not in found:
            found.add(one.request)
            yield one


def _all(arch: str) -> Iterator[Instance]:
    gpus = [_Gpu(arch, processors) for processors in _PROCESSORS.get(arch, (132,))]
    for _, ships in sorted(algorithms.parts("ships"), key=lambda part: part[0] in _CHOSEN):
        for gpu in gpus:
            yield from ships.instances(gpu)


# By kernel, the bytes of registers that a thread spills at most for sm_90a. Shared strips of 16 columns, by vectors of 4: 48 of
# uint32, 8 of float32, 16 of float16, by NVRTC 13.5. Fewer items spill none, and are slower: (4194304, 16) of float32 takes
# 150.9 us for 147.3, of float16 138.2 for 127.8. Whole rows of elements that are converted: 76, by tiles of any size. Scans of
# bytes by `&`: two registers, where a tile is not whole. Selections of long arrays of one or two bytes: smaller tiles are slower
# (tests/kernels/test_select.py). Rows of a block with 32 elements a thread: 16 are slower. Three ways of sorting in one kernel,
# for lists of segments. Tiles that are sorted by merging, of 33 elements a thread: once, where they are loaded. The others spill
# two to eight registers, and were measured so (softmax: float32 rows of four blocks): forms that spill none were not.
SPILLS = {
    "scan_columns_shared": 48, "scan_whole_rows": 76, "scan_packed": 16, "select": 104, "sort_rows_by_block": 44,
    "sort_listed_by_lanes": 48, "bracket_rows": 32, "sort_long_rows": 32, "sample": 20, "scan_segments": 20, "lookup": 8,
    "top_rows": 12, "sort_tiles": 152, "softmax_rows": 16, "sort_digit": 24, "sort_wide": 16,
}  # fmt: skip


def spilling(arch: str, folder: Path = artifacts.FOLDER) -> list[str]:
    """Return the kernels of a folder of artifacts that spill more registers than is known of them, and how many bytes."""
    found = (
        (facts["entry"]["name"].removeprefix("prism_"), facts["spills"])
        for facts in artifacts.read_manifest(arch, folder)
    )
    return [f"{name}: {spills} bytes" for name, spills in found if spills > SPILLS.get(name, 0)]
