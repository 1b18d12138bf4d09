"""Which kernels of the backward of attention ship: for Hopper, of both dtypes and usual heads, plain and causal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.kernels.attention.backward_cut import backward_cut_of
from prism.kernels.attention.cut import Terms
from prism.lib.algorithms.attention_backward.api import DTYPES
from prism.lib.algorithms.attention_backward.plan import instances_for
from prism.lib.algorithms.sgemm.ring import ARCH
from prism.runtime.instance import Instance

_FLAGS = (False, True)


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    if gpu.arch != ARCH:
        return
    found: dict[Instance, None] = {}
    for dtype, dim, masked, causal, deterministic in itertools.product(DTYPES, (64, 128), _FLAGS, _FLAGS, _FLAGS):
        if causal and not masked:
            continue
        terms, added = Terms(causal=causal), not deterministic
        cut = backward_cut_of(dim, dim, terms, added=added, masked=masked)
        kernels = instances_for(dtype, cut, terms, added=added, masked=masked)
        found |= dict.fromkeys(kernels)
    yield from found
