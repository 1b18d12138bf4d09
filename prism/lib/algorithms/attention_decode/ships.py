"""Which kernels of decoding ship: for Hopper, of both dtypes and usual heads, dense and in usual pages; parts.

Of latent caches, which are of bfloat16 mostly, those of that.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.kernels.attention import AddCut, decode_cut_of, latent_cut_of
from prism.lib.algorithms.attention_decode.asked import DTYPES
from prism.lib.algorithms.attention_decode.plan import instance_for
from prism.lib.algorithms.sgemm.ring import ARCH
from prism.runtime.instance import Instance

ADDED = (
    *itertools.starmap(
        AddCut, [(1, 2), (1, 4), (4, 2), (4, 4), (4, 8), (4, 2, 8), (4, 4, 8), (16, 2, 8), (16, 4, 8), (16, 8, 8)]
    ),
    *itertools.starmap(AddCut, [(4, 8, 32, True), (16, 8, 32, True), (4, 8, 8, True), (16, 8, 8, True)]),
)
"""How parts of usual shapes are added up."""


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    if gpu.arch != ARCH:
        return
    for dtype, dim, (page, lengths) in itertools.product(
        DTYPES, (64, 128), ((0, False), (0, True), (16, True), (64, True))
    ):
        yield instance_for(dtype, decode_cut_of(dim, dim, page=page, lengths=lengths))
    for (page, lengths), once in itertools.product(((0, False), (64, True)), (False, True)):
        yield instance_for("bfloat16", latent_cut_of(page=page, lengths=lengths, once=once))
    for dtype, cut in itertools.product(DTYPES, ADDED):
        yield instance_for(dtype, cut)
