"""Which kernels of 16-bit products ship: for Hopper, of every layout; and of 8-bit floats, as most are given."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.kernels.hgemm import SHARING, cuts, identity
from prism.lib.algorithms.hgemm import plan as hgemm_plans
from prism.lib.algorithms.hgemm.api import INPUTS
from prism.lib.algorithms.hgemm.product import NO_BIAS
from prism.lib.algorithms.sgemm.ring import ARCH
from prism.runtime.instance import Instance

_FLAGS = (False, True)


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    if gpu.arch != ARCH:
        return
    for dtype, transposed in itertools.product(INPUTS, itertools.product(_FLAGS, _FLAGS)):
        for cut in (*cuts(transposed), *SHARING, *cuts(transposed, parted=True)):  # all are chosen for some shape
            trans = cut.transposes_out(transposed)
            layout = transposed[::-1] if trans else transposed
            yield hgemm_plans.instance_for(dtype, dtype, layout, False, False, NO_BIAS, identity, cut, 0, "", trans)
    inside = False, False
    for result, cut in itertools.product(("float32", "bfloat16"), (*cuts(inside), *cuts(inside, parted=True))):
        trans, facts = cut.transposes_out(inside), ("float8_e4m3fn", result, inside)
        yield hgemm_plans.instance_for(*facts, False, False, NO_BIAS, identity, cut, 0, "", trans)
