"""Which kernels of attention ship: for Hopper, of 16-bit dtypes, usual heads, plain and causal, with logarithms and without.

Heads of 256 elements ship of bfloat16: of float16 they are rare.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.kernels.attention import Terms, cut_of
from prism.lib.algorithms.attention.api import OF_16_BITS
from prism.lib.algorithms.attention.plan import instance_for
from prism.lib.algorithms.sgemm.ring import ARCH
from prism.runtime.instance import Instance

_FLAGS = (False, True)


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    if gpu.arch != ARCH:
        return
    for dtype, dim, causal, lse in itertools.product(OF_16_BITS, (64, 128, 256), _FLAGS, _FLAGS):
        if dim <= 128 or dtype == "bfloat16":
            yield instance_for(dtype, cut_of(dim, dim, 1024, causal=causal), Terms(causal=causal, lse=lse))
