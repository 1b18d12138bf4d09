"""Which kernels of decoding ship: for Hopper, of both dtypes and usual heads, dense and in usual pages; latent caches; parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.kernels.attention import AddCut, LatentCut, decode_cut_of
from prism.lib.algorithms.attention_decode.asked import DTYPES
from prism.lib.algorithms.attention_decode.plan import ADDED, RAGGED, instance_for
from prism.lib.algorithms.sgemm.ring import ARCH
from prism.runtime.instance import Instance


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    if gpu.arch != ARCH:
        return
    for dtype, dim, (page, lengths) in itertools.product(
        DTYPES, (64, 128), ((0, False), (0, True), (16, True), (64, True))
    ):
        yield instance_for(dtype, decode_cut_of(dim, dim, page=page, lengths=lengths))
    for dtype, (page, lengths), once in itertools.product(DTYPES, ((0, False), (64, True)), (False, True)):
        yield instance_for(dtype, LatentCut(page=page, lengths=lengths, once=once))
    for dtype, (_, *how) in itertools.product(DTYPES, ADDED):
        yield instance_for(dtype, AddCut(*how))
    for dtype, how in itertools.product(DTYPES, sorted({max((split, deep), RAGGED) for _, split, deep in ADDED})):
        yield instance_for(dtype, AddCut(*how, True))
