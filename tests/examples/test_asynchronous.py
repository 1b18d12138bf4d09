"""The kernels with rings, asynchronous copies and wgmma on the reference machine, with all its checks, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, INT8, INT32, UINT8
from prism.runtime.compile import compile_cubin
from tests.examples import asynchronous as a

LAUNCHES = {
    **{
        f"in-turn-{k}-{n}": lambda k=k, n=n: a.ring(a.in_turn, 2, n, COPIES=k) for k in (1, 3) for n in (0, 1, k, k + 1)
    },
    **{
        f"piped-{k}-{n}": lambda k=k, n=n: a.ring(a.piped, 2, n, 160, COPIES=k)
        for k in (1, 2, 3)
        for n in (0, 1, k, k + 1, 9)
    },
    **{f"two-buffers-{n}": lambda n=n: a.ring(a.two_buffers, 2, n) for n in (2, 6)},
    **{f"drawn-{n}-{k}": lambda n=n, k=k: a.drawn_by(3, n, k) for n, k in ((0, 1), (1, 2), (7, 2), (20, 3))},
    **{
        f"lasting-{blocks}-{k}-{stages}-{ahead}": lambda b=blocks, k=k, s=stages, d=ahead: a.lasting_of(
            128, 32, k, b, 16, s, d
        )
        for blocks, k, stages, ahead in ((1, 64, 2, 1), (1, 192, 2, 1), (3, 128, 3, 2), (2, 256, 1, 0), (5, 64, 4, 0))
    },
    "doubled": lambda: a.tiles_doubled(INT32, 8, 64, 128, 2),
    "doubled-plain": lambda: a.tiles_doubled(BFLOAT16, 3, 8, 0, 1),
    "product": lambda: a.product(BFLOAT16, 16, 64),
    **{f"product-ahead-{s}": lambda s=s: a.product(BFLOAT16, 8, 64, ahead=1, steps=s) for s in (1, 2, 4)},
    "product-transposed": lambda: a.product(FLOAT16, 64, 64, ta=True, tb=True),
    "product-tf32": lambda: a.product(FLOAT32, 24, 32),
    "product-int8": lambda: a.product(INT8, 16, 64, 64),
    "product-uint8": lambda: a.product(UINT8, 16, 32, 32),
    "hgemm": lambda: a.hgemm_of(128, 128, 192, bn=64, stages=2),
    **{f"halves-{n}-{k}": lambda n=n, k=k: a.halved(n, k) for n, k in ((1, 1), (5, 1), (5, 2), (2, 3))},
    "exchanged": a.exchanged,
    "registers": a.registers_moved,
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_on_the_reference_machine(name: str) -> None:
    LAUNCHES[name]().compare(np.copy, check=True)


@pytest.mark.parametrize(
    "name", ["in-turn-3-3", "piped-3-3", "two-buffers-6", "doubled", "product", "hgemm", "exchanged"]
)
def test_machine_code(name: str) -> None:
    """It is made here, without a GPU: no register is spilled, and no wgmma waits for another (that would be an error)."""
    launch = LAUNCHES[name]()
    binary = compile_cubin(emit(lower(prism.check(launch.kernel, launch.template))).source, "sm_90a")
    assert binary.spills == 0 and not binary.warnings


def test_the_paper_kernel_has_a_text_for_each_role(golden) -> None:
    text = emit(lower(prism.check(a.hgemm, {"BN": 256, "BK": 64, "STAGES": 4})), comments=False).source
    golden(text[text.index('extern "C" __global__') :], ".cu")
