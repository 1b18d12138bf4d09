"""Which kernels ship: those that the host functions take by default, for arrays of all sizes in powers of two.

The functions' own plans are asked, for GPUs of each architecture: nothing here knows what a kernel's template is. What else is
asked for is compiled when it is first used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from prism.kernels import sgemm
from prism.kernels.hgemm import NN, SHARING, choose, cuts, identity
from prism.kernels.scan import BITS, KEYS, mark
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.split import PLANES
from prism.lib import (
    hgemm_plans,
    operators,
    reduce_calls,
    reductions,
    scan_plans,
    scans,
    segments,
    sgemm_bf16x6,
    sgemm_ring,
    sgemms,
)
from prism.lib.hgemm_plans import NO_BIAS
from prism.lib.hgemms import INPUTS
from prism.lib.reduce_axis_plans import all_along, all_searches
from prism.lib.reduce_plans import all_whole, seeker
from prism.lib.scan_plans import Shape, Task, Way
from prism.runtime import artifacts
from prism.runtime.arrays import BFLOAT16
from prism.runtime.instance import Instance, instance

ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120")
"""Not sm_90: every GPU of compute capability 9.0 runs code for sm_90a. `prism build --arch sm_90` compiles for it anyway."""

# Multiprocessors of the GPUs that plans are made for: A100; A10, RTX 3090, A40; L4, RTX 4090, L40; H100 (PCIe, SXM) and H200;
# B200; RTX 5090, RTX PRO 6000. A GPU of other numbers takes mostly the same kernels.
_PROCESSORS = {
    "sm_80": (108,), "sm_86": (72, 82, 84), "sm_89": (58, 128, 142), "sm_90": (114, 132), "sm_90a": (114, 132),
    "sm_100": (148,), "sm_120": (170, 188),
}  # fmt: skip

_PROMOTED = {
    "bool": "int64",
    "int8": "int64",
    "int16": "int64",
    "int32": "int64",
    "uint8": "uint64",
    "uint16": "uint64",
    "uint32": "uint64",
}
_COMMON = ("int32", "int64", "float32", "float64")
_LOG = 28  # sizes up to 2**28


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
    """Return the kernels that ship for an architecture, each once.

    These are, for all dtypes: reductions and scans of whole arrays, by every operator that has a name; along axes, what the
    functions with NumPy's names do, but other cumulative functions than sums along the last axis alone. For the dtypes that are
    most used: segments and runs of equal keys; products of matrices, of every layout.
    """
    anywhere = itertools.chain(
        _launched(_segments()), _launched(_by_key()), _columns(), _marks(), _along_axes(), _float32_products()
    )
    cut = (
        itertools.chain(_launched(_scans(processors)), _whole(_Gpu(arch, processors)), _products(arch, processors))
        for processors in _PROCESSORS.get(arch, (132,))
    )
    found: dict[str, Instance] = {}
    for one in itertools.chain(anywhere, *cut):
        assert one.request is not None, f"`{one.kernel.__name__}` is not all of the package"
        found.setdefault(one.request, one)
    return tuple(found.values())


def _launched(ways: Iterator[Way]) -> Iterator[Instance]:
    return (instance(way.kernel, tuple(way.template.items())) for way in ways)


# By kernel, the bytes of registers that a thread spills at most for sm_90a. Shared strips of 16 columns, by vectors of 4: 24 of
# float32, 8 of float16. Fewer items spill none, and are slower: (4194304, 16) of float32 takes 150.9 us for 147.3, of
# float16 138.2 for 127.8. Scans of bytes by `&`: two registers, where a tile is not whole.
SPILLS = {"scan_columns_shared": 24, "scan_packed": 16}


def spilling(arch: str, folder: Path = artifacts.FOLDER) -> list[str]:
    """Return the kernels of a folder of artifacts that spill more registers than is known of them, and how many bytes."""
    found = (
        (facts["entry"]["name"].removeprefix("prism_"), facts["spills"])
        for facts in artifacts.read_manifest(arch, folder)
    )
    return [f"{name}: {spills} bytes" for name, spills in found if spills > SPILLS.get(name, 0)]


# -- Scans ----------------------------------------------------------------------------------------------------------------


def _tasks() -> Iterator[Task]:
    """What the cumulative functions compute, and `scan`, of every dtype."""
    for operator, dtype in itertools.product((operators.add, operators.multiply), scans.SUPPORTED):
        yield Task(operator, dtype, _PROMOTED.get(dtype, dtype))
    for operator in operators.BY_NAME.values():
        for dtype in scans.SUPPORTED:
            if not (operator.integral and "float" in dtype):
                yield Task(operator, dtype, dtype)
    yield from (Task(operator, "bool", "int64") for operator in (operators.add, operators.multiply))
    yield from (Task(operator, "bool", "bool") for operator in (operators.maximum, operators.minimum))


def _scans(processors: int) -> Iterator[Way]:
    for task in _tasks():
        for log in range(8, _LOG + 1):
            yield scan_plans.on_device(task, Shape(1, 1 << log, 1, True), processors)
        if _cumulative(task):
            yield scan_plans.on_device(task, Shape(1 << 13, 1 << 13, 1, True), processors)
        if task.operator is operators.add:
            yield scan_plans.many_tiles(replace(task, exclusive=True), Shape(1, 1 << _LOG, 1, True))


def _cumulative(task: Task) -> bool:
    """Whether `cumsum`, `cumprod`, `cummax` or `cummin` computes this by default."""
    if task.operator in (operators.add, operators.multiply):
        return task.result == _PROMOTED.get(task.given, task.given)
    return task.operator in (operators.maximum, operators.minimum)


def _columns() -> Iterator[Instance]:
    for task in _tasks():
        if _cumulative(task) and task.operator is operators.add:
            for kernel, template in scan_plans.all_columns(task):
                yield instance(kernel, tuple(template.items()))


# -- Segments and keys ----------------------------------------------------------------------------------------------------


def _marks() -> Iterator[Instance]:
    for offsets in ("int32", "int64"):
        yield instance(mark, (("TI", offsets), ("THREADS", segments.THREADS)))


def _segments() -> Iterator[Way]:
    for dtype in _COMMON:
        task = Task(operators.add, dtype, dtype)
        yield scan_plans.segments(task, Shape(1, 1 << 20, 1, True), BITS, 0, "uint32")
        task, many = replace(task, exclusive=True), 1 << 16  # segments; of few, a block takes each, as of long ones
        lengths = (1, segments.NARROW, segments.MEDIUM, segments.MEDIUM + 1)
        for each, offsets in itertools.product(lengths, ("int32", "int64")):
            kernel, template, blocks = segments.way_of(task, many * each, many, 1)
            yield Way(kernel, {**template, "O": offsets}, segments.THREADS, blocks, {})


def _by_key() -> Iterator[Way]:
    for dtype, key in itertools.product(_COMMON, ("int32", "int64")):
        task = Task(operators.add, dtype, dtype)
        yield scan_plans.segments(task, Shape(1, 1 << 20, 1, True), KEYS, 0, key, keys_aligned=True)
        yield scan_plans.runs(task, 1 << 20, True, key, keys_aligned=True)


# -- Reductions -----------------------------------------------------------------------------------------------------------


_REDUCED = (*(np.dtype(name) for name in (*scans.NATIVE, "float16", "bool")), BFLOAT16)


def _whole(gpu: _Gpu) -> Iterator[Instance]:
    for what, dtype in itertools.product((*reductions.NAMED, *reductions.OPERATORS), _REDUCED):
        if (work := reduce_calls.work_of(what, dtype)) is not None:
            yield from all_whole(work, gpu)


def _along_axes() -> Iterator[Instance]:
    for what, dtype in itertools.product(reductions.NAMED, _REDUCED):
        if (work := reduce_calls.work_of(what, dtype)) is not None:
            yield from all_along(work)
    for largest, dtype in itertools.product((True, False), _REDUCED):
        yield from all_searches(search := reduce_calls.search_of(largest, dtype))
        yield seeker(search)


# -- Products -------------------------------------------------------------------------------------------------------------


def _float32_products() -> Iterator[Instance]:
    flags = itertools.product(sgemm.TILES, *[(False, True)] * 3)
    for cut, along_a, along_b, wide in flags:  # every layout of the operands, of whole words and not
        yield sgemms.instance_for(
            cut, sgemm.Layout(along_a, wide), sgemm.Layout(along_b, wide), sgemm.Layout(False, wide)
        )


def _products(arch: str, processors: int) -> Iterator[Instance]:
    if arch != sgemm_ring.ARCH:
        yield from _async_rings()
        return
    yield from _rings()
    yield from _by_tensor_cores(processors)
    for dtype in INPUTS:
        for transposed in itertools.product((False, True), repeat=2):
            for cut in (*cuts(transposed), *SHARING, *cuts(transposed, parted=True)):  # all are chosen for some shape
                trans = cut.transposes_out(transposed)
                layout = transposed[::-1] if trans else transposed
                yield hgemm_plans.instance_for(dtype, dtype, layout, False, False, NO_BIAS, identity, cut, 0, "", trans)
    # Of 8-bit floats, as most are given.
    inside = False, False
    for result, cut in itertools.product(("float32", "bfloat16"), (*cuts(inside), *cuts(inside, parted=True))):
        trans, facts = cut.transposes_out(inside), ("float8_e4m3fn", result, inside)
        yield hgemm_plans.instance_for(*facts, False, False, NO_BIAS, identity, cut, 0, "", trans)


def _rings() -> Iterator[Instance]:
    for cut, wide in itertools.product(rings.TILES, (False, True)):
        for ways in rings.WAYS:
            yield sgemm_ring.instance_for(cut, *ways, wide, False)
        yield sgemm_ring.adder(cut, wide, False)
    for transposed in (False, True):
        yield sgemm_ring.packer(transposed)


def _by_tensor_cores(processors: int) -> Iterator[Instance]:
    flags, sizes = (False, True), [1 << log for log in range(6, 15)]
    for left, down in itertools.product(flags, flags):
        yield sgemm_bf16x6.splitter(left, down)
    yield sgemm_bf16x6.settler(False)
    depths = [PLANES * k for k in (512, sgemm_bf16x6.CHUNK)]
    cuts = {choose(*shape, processors, layout=NN) for shape in itertools.product(sizes, sizes, depths)}
    for cut, beta in itertools.product(sorted(cuts, key=lambda cut: cut.name), flags):
        yield sgemm_bf16x6.multiplier(beta, cut)


def _async_rings() -> Iterator[Instance]:
    """What is not of whole pieces of 16 bytes is compiled when it is asked for."""
    for cut, along_a, along_b in itertools.product(rings.ASYNC_TILES, *[(False, True)] * 2):
        operands = sgemm.Layout(along_a, True), sgemm.Layout(along_b, True)
        yield sgemm_ring.instance_for(cut, *operands, True, False)
    for cut in rings.ASYNC_TILES:
        yield sgemm_ring.adder(cut, True, False)
