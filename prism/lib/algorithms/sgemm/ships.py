"""Which kernels of float32 products ship: of every layout of the operands; rings for the GPUs that have them.

Of large tiles those of whole words. Others, and `bf16x6` on a Hopper GPU of few multiprocessors, are compiled when they are
asked for: that takes half a second, once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.kernels import sgemm
from prism.kernels.hgemm import NN, choose
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.split import PLANES
from prism.lib.algorithms.sgemm import api as sgemms
from prism.lib.algorithms.sgemm import bf16x6 as sgemm_bf16x6
from prism.lib.algorithms.sgemm import ring as sgemm_ring
from prism.runtime.instance import Instance

_FLAGS = (False, True)
_PROCESSORS = 132  # of most Hopper GPUs


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for cut, along_a, along_b, wide in itertools.product(sgemm.TILES, _FLAGS, _FLAGS, _FLAGS):  # of whole words and not
        if wide or cut.bm * cut.bn <= 64 * 64:
            yield sgemms.instance_for(cut, *(sgemm.Layout(along, wide) for along in (along_a, along_b, False)))
    if gpu.arch != sgemm_ring.ARCH:
        yield from _async_rings()
    else:
        yield from _rings()
        yield from _by_tensor_cores()


def _rings() -> Iterator[Instance]:
    for cut, wide in itertools.product(rings.TILES, _FLAGS):
        for ways in rings.WAYS:
            if not wide and ways[1].tensor:
                continue  # a B that tensor copies take has a result of whole words, mostly
            yield sgemm_ring.instance_for(cut, *ways, wide, False)
        yield sgemm_ring.adder(cut, wide, False)
    yield from map(sgemm_ring.packer, _FLAGS)


def _by_tensor_cores() -> Iterator[Instance]:
    sizes = [1 << log for log in range(6, 15)]
    for left, down in itertools.product(_FLAGS, _FLAGS):
        yield sgemm_bf16x6.splitter(left, down)
    yield sgemm_bf16x6.settler(False)
    depths = [PLANES * k for k in (512, sgemm_bf16x6.CHUNK)]
    cuts = {choose(*shape, _PROCESSORS, layout=NN) for shape in itertools.product(sizes, sizes, depths)}
    for cut, beta in itertools.product(sorted(cuts, key=lambda cut: cut.name), _FLAGS):
        yield sgemm_bf16x6.multiplier(beta, cut)


def _async_rings() -> Iterator[Instance]:
    for cut in rings.ASYNC_TILES:
        for along_a, along_b in itertools.product(_FLAGS, _FLAGS):
            operands = sgemm.Layout(along_a, True), sgemm.Layout(along_b, True)
            yield sgemm_ring.instance_for(cut, *operands, True, False)
        yield sgemm_ring.adder(cut, True, False)
