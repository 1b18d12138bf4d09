"""Which kernels of 16-bit products ship: for Hopper, of every layout; and of 8-bit floats, as most are given."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator

from prism.host.plan import Machine
from prism.kernels.hgemm import Configuration, choose_single, identity
from prism.kernels.hgemm.configurations import MEASURED
from prism.lib.algorithms.hgemm import plan as hgemm_plans
from prism.lib.algorithms.hgemm.api import INPUTS
from prism.lib.algorithms.hgemm.product import NO_BIAS
from prism.lib.algorithms.sgemm.ring import ARCH
from prism.runtime.instance import Instance

_FLAGS = (False, True)
_PROCESSORS = 132  # of most Hopper GPUs
_ROWS = (*(1 << log for log in range(15)), *(3 << log for log in range(12)))
_LAYERS = (
    (6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672),
    (1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584), (4608, 3584), (3584, 3584), (37888, 3584), (3584, 18944),
)  # fmt: skip
"""n x k of layers of language models, also of a part of them on one of several GPUs."""
_SIDES = (
    64,
    128,
    256,
    512,
    768,
    1000,
    1024,
    1280,
    1536,
    2048,
    2304,
    2560,
    3072,
    4096,
    4104,
    5120,
    6144,
    8192,
    12288,
    16384,
)
USUAL = (*((m, n, k) for m in _ROWS for n, k in _LAYERS), *((side, side, side) for side in _SIDES))
"""Shapes by which it is decided: m x n x k."""
_FEWEST = 2  # of these shapes take what ships
_MOST = 27  # configurations of a layout, those that most of the shapes take
_MOST_OF_HALVES = 20  # of float16, which few models are of now: they are enough for nine of ten of those shapes
_MOST_OF_SINGLES = 15  # of 8-bit floats whose result is float32, which is rarer still: enough for three of four


@functools.cache
def usual_cuts(layout: tuple[bool, bool], bytes_: int = 2) -> tuple[Configuration, ...]:
    """Return what suits most usual shapes of a layout; `bytes_`: of an element of the matrices.

    Shares of K never ship, nor products of operands that are copied first.
    """
    chosen = Counter(choose_single(m, n, -(-k * bytes_ // 2), _PROCESSORS, layout) for m, n, k in USUAL)
    some = [cut for cut, shapes in chosen.items() if shapes >= _FEWEST and cut.shares == 1 and not cut.packed]
    return tuple(sorted(some, key=lambda cut: (cut not in MEASURED.values(), -chosen[cut]))[:_MOST])


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    if gpu.arch != ARCH:
        return
    for dtype, transposed in itertools.product(INPUTS, itertools.product(_FLAGS, _FLAGS)):
        for cut in usual_cuts(transposed)[: _MOST_OF_HALVES if dtype == "float16" else _MOST]:
            trans = cut.transposes_out(transposed)
            layout = transposed[::-1] if trans else transposed
            yield hgemm_plans.instance_for(dtype, dtype, layout, False, False, NO_BIAS, identity, cut, 0, "", trans)
    inside = False, False
    for result, most in (("float32", _MOST_OF_SINGLES), ("bfloat16", _MOST)):
        for cut in usual_cuts(inside, 1)[:most]:
            trans, facts = cut.transposes_out(inside), ("float8_e4m3fn", result, inside)
            yield hgemm_plans.instance_for(*facts, False, False, NO_BIAS, identity, cut, 0, "", trans)
