"""Which kernels of float32 products ship: for Hopper, what usual products take; for others, tiles of every layout.

Of large tiles those of whole words. Others, and those of `bf16x6`, are compiled when they are asked for: that takes half a
second, once.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from prism.host.plan import Machine, Scratch, Step
from prism.kernels import sgemm
from prism.kernels.sgemm import ring_configurations as rings
from prism.lib.algorithms.sgemm import api as sgemms
from prism.lib.algorithms.sgemm import ring as sgemm_ring
from prism.lib.algorithms.sgemm.matrices import Matrix, Product
from prism.runtime.instance import Instance

_FLAGS = (False, True)
_ROWS = [1 << log for log in range(15)]
_LAYERS = (
    (6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (8192, 8192), (1280, 8192), (3584, 3584), (3584, 18944),
    (768, 768), (3072, 768), (768, 3072), (1024, 1024),
)  # fmt: skip
"""n x k of layers."""
_SIDES = (64, 100, 128, 256, 500, 512, 768, 1000, 1024, 1536, 2048, 3072, 4096, 8192)
USUAL = (*((m, n, k) for m in _ROWS for n, k in _LAYERS), *((side, side, side) for side in _SIDES))
"""Shapes by which it is decided: m x n x k."""
_LAYOUTS = ((False, False), (False, True), (True, False))
"""Whether A, and B, is transposed: hardly ever both are."""
_FEWEST = 3  # of these products take what ships
_UNEVEN = [(1 << log) + more for log in range(3, 13) for more in (1, 2)]
"""Numbers of rows of a transposed A that begin at no multiples of 16 bytes, and at those of 8: it is copied otherwise."""


@dataclass(frozen=True, slots=True)
class _Hopper:
    """Most Hopper GPUs. Plans of products ask for no more."""

    arch: str = sgemm_ring.ARCH
    multiprocessors: int = 132
    host: bool = False

    def wave(self, instance: Instance, threads: int) -> int:
        """Return how many blocks run at once; which kernel is taken does not depend on it."""
        return 2 * self.multiprocessors


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    if gpu.arch == sgemm_ring.ARCH:
        yield from usual_kernels()
        yield from map(sgemm_ring.packer, _FLAGS)  # for what begins anywhere
        return
    for cut, along_a, along_b, wide in itertools.product(sgemm.TILES, _FLAGS, _FLAGS, _FLAGS):  # of whole words and not
        if wide or cut.bm * cut.bn <= 64 * 64:
            yield sgemms.instance_for(cut, *(sgemm.Layout(along, wide) for along in (along_a, along_b, False)))
    yield from _async_rings()


@functools.cache
def usual_kernels() -> tuple[Instance, ...]:
    """Return what usual products take on a Hopper GPU."""
    uneven = [((m, n, k), (True, False)) for m in _UNEVEN for n, k in _LAYERS]
    taken = Counter[Instance]()
    for shape, layout in (*itertools.product(USUAL, _LAYOUTS), *uneven):
        taken.update(list(dict.fromkeys(kernels_of(shape, *layout))))
    return tuple(kernel for kernel, products in taken.items() if products >= _FEWEST)


def kernels_of(shape: tuple[int, int, int], along_a: bool, along_b: bool) -> list[Instance]:
    """Return the kernels that a product of C-contiguous matrices takes on a Hopper GPU, of which A or B is transposed."""
    m, n, k = shape
    left = Matrix("a", 0, *((1, m) if along_a else (k, 1)), 0)
    right = Matrix("b", 0, *((1, k) if along_b else (n, 1)), 0)
    product = Product(left, right, Matrix("out", 0, n, 1, 0), 1, shape)
    steps = sgemms.steps_of(product, "auto", _Hopper(), Scratch())
    return [step.instance for step in steps if isinstance(step, Step)]


def _async_rings() -> Iterator[Instance]:
    for cut in rings.ASYNC_TILES:
        for along_a, along_b in itertools.product(_FLAGS, _FLAGS):
            operands = sgemm.Layout(along_a, True), sgemm.Layout(along_b, True)
            yield sgemm_ring.instance_for(cut, *operands, True, False)
        yield sgemm_ring.adder(cut, True, False)
