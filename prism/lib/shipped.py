"""Which kernels ship: those that the host functions take by default, for arrays of all sizes in powers of two.

The functions' own plans are asked, for GPUs of each architecture: nothing here knows what a kernel's template is. What else is
asked for is compiled when it is first used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from prism.kernels import sgemm
from prism.kernels.hgemm import TILES, choose, identity
from prism.kernels.scan import BITS, KEYS, mark
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.split import PLANES
from prism.lang.types import SCALARS
from prism.lib import (
    matmuls,
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
from prism.lib.axes import c_strides, collapse
from prism.lib.matmul_layouts import NO_BIAS
from prism.lib.reduce_plans import Search, plan_reduction, plan_search
from prism.lib.scan_plans import Shape, Task, Way
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
    "int8": "int64",
    "int16": "int64",
    "int32": "int64",
    "uint8": "uint64",
    "uint16": "uint64",
    "uint32": "uint64",
}
_COMMON = ("int32", "int64", "float32", "float64")
_ALONG_AXES = ("sum", "max", "min")
_SEARCHED = ("int32", "float32")
_LOG = 28  # sizes up to 2**28
_HUGE = 30  # for which other kernels are taken
_PROPORTIONS = (20, 26)  # the logarithms of the elements of matrices of all proportions
_AXES = (_LOG // 2 - 1, _LOG - 2)  # the logarithms of the sizes of matrices whose axes are reduced


@dataclass(slots=True)
class _Gpu:
    """A GPU, as far as plans depend on it: so many multiprocessors."""

    multiprocessors: int
    host: bool = False

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks run at once; which kernel is taken does not depend on it."""
        return 2 * self.multiprocessors


def instances(arch: str) -> tuple[Instance, ...]:
    """Return the kernels that ship for an architecture, each once.

    These are, for all dtypes: long scans with each operator that has a name, inclusive and exclusive, aligned and not; sums of
    every size, also of promoted integers, and along each axis; reductions of long arrays; and for the dtypes that are most used:
    sums of arrays of every size; reductions along axes, and positions; segments and runs of equal keys; products of matrices, of
    every layout.
    """
    found: dict[str, Instance] = {}
    for processors in _PROCESSORS.get(arch, (132,)):
        ways = itertools.chain(_long(), _sums(processors), _segments(), _by_key())
        launched = (instance(way.kernel, tuple(way.template.items())) for way in ways)
        for one in itertools.chain(
            launched, _marks(), _reductions(_Gpu(processors)), _float32_products(), _products(arch, processors)
        ):
            assert one.request is not None, f"`{one.kernel.__name__}` is not all of the package"
            found.setdefault(one.request, one)
    return tuple(found.values())


# -- Scans ----------------------------------------------------------------------------------------------------------------


def _long() -> Iterator[Way]:
    for operator, dtype in itertools.product(operators.BY_NAME.values(), scans.NATIVE):
        if operator.integral and dtype.startswith("float"):
            continue
        for exclusive, aligned in itertools.product((False, True), (True, False)):
            yield scan_plans.many_tiles(Task(operator, dtype, dtype, exclusive), Shape(1, 1 << _LOG, 1, aligned))


def _sums(processors: int) -> Iterator[Way]:
    kinds = [(dtype, dtype) for dtype in (*scans.NATIVE, *scan_plans.SHORT)]
    for given, result in (*kinds, *_PROMOTED.items(), ("bool", "int64")):
        task = Task(operators.add, given, result)
        for log in (*range(_LOG + 1), _HUGE):
            yield scan_plans.on_device(task, Shape(1, 1 << log, 1, True), processors)
        for first in range(_LOG - 1):
            yield scan_plans.on_device(task, Shape(1, 1 << first, 1 << (_LOG - 2 - first), True), processors)
        yield scan_plans.on_device(task, Shape(1 << 13, 1 << 13, 1, True), processors)


# -- Segments and keys ----------------------------------------------------------------------------------------------------


def _marks() -> Iterator[Instance]:
    for offsets in ("int32", "int64"):
        yield instance(mark, (("TI", offsets), ("THREADS", segments.THREADS)))


def _segments() -> Iterator[Way]:
    for dtype in _COMMON:
        task = Task(operators.add, dtype, dtype)
        yield scan_plans.segments(task, Shape(1, 1 << 20, 1, True), BITS, 0, "uint32")
        for each, offsets in itertools.product(
            (1, segments.NARROW, segments.MEDIUM, segments.MEDIUM + 1), ("int32", "int64")
        ):
            kernel, template, blocks = segments.way_of(
                Task(operators.add, dtype, dtype, exclusive=True), 100 * each, 100
            )
            yield Way(kernel, {**template, "O": offsets}, segments.THREADS, blocks, ())


def _by_key() -> Iterator[Way]:
    for dtype, key in itertools.product(_COMMON, ("int32", "int64")):
        task = Task(operators.add, dtype, dtype)
        yield scan_plans.segments(task, Shape(1, 1 << 20, 1, True), KEYS, 0, key, keys_aligned=True)
        yield scan_plans.runs(task, 1 << 20, True, key, keys_aligned=True)


# -- Reductions -----------------------------------------------------------------------------------------------------------


def _reductions(gpu: _Gpu) -> Iterator[Instance]:
    for named in reductions.NAMED:
        yield from reduce_calls.instances(named)
    total = next(named for named in reductions.NAMED if named.name == "sum")
    for dtype, log in itertools.product(_COMMON, range(_LOG + 1)):
        stage = collapse((1 << log,), (1,), (0,))
        assert stage is not None
        work = reduce_calls.work_of(total, np.dtype(dtype))
        yield from (step.instance for step in plan_reduction(work, [stage], 0, gpu).steps)
    for (dtype, shape, names), axis in itertools.product(_matrices(), (0, 1)):
        stage = collapse(shape, c_strides(shape), (axis,))
        assert stage is not None
        for named in (n for n in reductions.NAMED if n.name in names):
            work = reduce_calls.work_of(named, np.dtype(dtype))
            yield from (step.instance for step in plan_reduction(work, [stage], 0, gpu).steps)
        for largest in (True, False) if dtype in _SEARCHED and names == _ALONG_AXES else ():
            search = Search(largest, dtype, dtype, 0)
            yield from (step.instance for step in plan_search(search, stage, 0, gpu).steps)


def _matrices() -> Iterator[tuple[str, tuple[int, int], tuple[str, ...]]]:
    """Large ones of the common dtypes, and for what is used most those of all proportions: their dtypes, shapes, functions."""
    small, large = _AXES
    for dtype, first in itertools.product(_COMMON, range(small, large)):
        yield dtype, (1 << first, 1 << (large - first)), _ALONG_AXES
    for elements in _PROPORTIONS:
        for first in range(elements + 1):
            yield "float32", (1 << first, 1 << (elements - first)), ("sum", "max")


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
    for dtype in matmuls.INPUTS:
        for cut in (cut for cut in TILES if cut.fits(SCALARS[dtype].bytes)):  # all are chosen for some shape
            for transposed in itertools.product((False, True), repeat=2):
                yield matmuls.instance_for(dtype, dtype, transposed, False, False, NO_BIAS, identity, cut)


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
    cuts = {choose(*shape, processors, SCALARS["float32"].bytes) for shape in itertools.product(sizes, sizes, depths)}
    for cut, beta in itertools.product(sorted(cuts, key=lambda cut: cut.name), flags):
        yield sgemm_bf16x6.multiplier(beta, cut)


def _async_rings() -> Iterator[Instance]:
    """What is not of whole pieces of 16 bytes is compiled when it is asked for."""
    for cut, along_a, along_b in itertools.product(rings.ASYNC_TILES, *[(False, True)] * 2):
        operands = sgemm.Layout(along_a, True), sgemm.Layout(along_b, True)
        yield sgemm_ring.async_for(cut, *operands, True, False)
    for cut in rings.ASYNC_TILES:
        yield sgemm_ring.adder(cut, True, False)
