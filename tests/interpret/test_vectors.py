"""Operators of vectors on the reference machine, and what NVRTC makes of them.

Tests of prism/lang/intrinsics/vector_arithmetic.py, prism/lang/check/vector_arithmetic.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.lang.types import BFLOAT16
from prism.lang.types.shorts import bf16_bits, bf16_values
from tests.interpret.vector_kernels import TYPES, expected, polynomials


@pytest.mark.parametrize(("kind", "length"), TYPES)
def test_operators_are_numpys(kind, length):
    x = np.random.default_rng(0).normal(size=64).astype(kind)
    for fused in (False, True) if kind == "float32" else (False,):
        y, template = np.zeros_like(x), {"T": np.dtype(kind), "N": length, "FUSED": fused}
        polynomials[1, 64 // length](x, y, x.dtype.type(0.3), template=template, check=True)
        assert np.array_equal(y, expected(x, x.dtype.type(0.3), fused))


def test_bfloat16_is_rounded_after_each():
    x = bf16_bits(np.random.default_rng(0).normal(size=64).astype(np.float32))
    y, v = np.zeros_like(x), bf16_values(x)
    polynomials[1, 8](x, y, 0.25, template={"T": BFLOAT16, "N": 8, "FUSED": False}, check=True)

    def near(values):
        return bf16_values(bf16_bits(values))

    b = near(near(near(2 * v) + 1) - near(v * v))
    assert np.array_equal(bf16_values(y), near(-near(b - near(0.25 * v)) / near(v + 3)))


@pytest.mark.parametrize(("kind", "length"), [*TYPES, (BFLOAT16, 8)])
def test_the_text_compiles(kind, length):
    kind = np.dtype(kind) if isinstance(kind, str) else kind
    fused = kind in (np.dtype("float32"), np.dtype("float64"))
    for arch in ("sm_80" if kind == BFLOAT16 else "sm_75", "sm_90a", "sm_100a", "sm_120"):
        assert prism.compile(polynomials, {"T": kind, "N": length, "FUSED": fused}, arch=arch).cubin


def test_two_floats_go_in_one_instruction_from_sm_100_on():
    template = {"T": np.dtype("float32"), "N": 4, "FUSED": True}
    new, old = (prism.compile(polynomials, template, arch=arch).ptx for arch in ("sm_100a", "sm_90a"))
    assert new.count("fma.rn.f32x2") == 2 and new.count("mul.rn.f32x2") == 6 and "f32x2" not in old
    assert old.count("fma.rn.f32") >= 4 and old.count("mul.rn.f32") == 12, (
        "no product goes into a sum that is not `fma`"
    )
