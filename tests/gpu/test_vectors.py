"""Operators of vectors on the GPU, against NumPy: each operation is rounded by itself, so all bits agree."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interpret.vector_kernels import TYPES, expected, polynomials

cupy = pytest.importorskip("cupy")


@pytest.mark.parametrize(("kind", "length"), TYPES)
def test_operators_are_numpys(kind, length):
    x = np.random.default_rng(0).normal(size=1 << 16).astype(kind)
    for fused in (False, True) if kind == "float32" else (False,):
        y, template = cupy.zeros(x.shape, x.dtype), {"T": np.dtype(kind), "N": length, "FUSED": fused}
        polynomials[x.size // length // 64, 64](cupy.asarray(x), y, x.dtype.type(0.3), template=template)
        assert np.array_equal(y.get(), expected(x, x.dtype.type(0.3), fused))
