"""Gradients of operations on rows beside differences of the operations themselves, by the library on NumPy's float64.

Kernels: kernels/rows: backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism import lib

STEP = 1e-4
EPS = 0.1  # a row of one element near 0 is not steep then
NEAR = 1e-6
"""What the third derivative leaves of a difference: `STEP**2`, times some tens, as `EPS` bounds it."""
RANDOM = np.random.default_rng(32)


def slope(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of a sum by differences, an element after the other."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = STEP
        found[place] = (f(x + step) - f(x - step)) / (2 * STEP)
    return found


@pytest.mark.parametrize("n", [1, 2, 7, 33])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, n: int) -> None:
    forward, backward = getattr(lib, name), getattr(lib, f"{name}_backward")
    x, dout = RANDOM.standard_normal((2, 3, n))
    found = backward(dout, forward(x, scale=0.7), scale=0.7)
    assert np.abs(found - slope(lambda a: (forward(a, scale=0.7) * dout).sum(), x)).max() < NEAR


@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_norms(n: int) -> None:
    (x, dout), (w, b) = RANDOM.standard_normal((2, 3, n)), RANDOM.standard_normal((2, n))
    dx, dw = lib.rms_norm_backward(dout, x, w, eps=EPS)
    assert np.abs(dx - slope(lambda a: (lib.rms_norm(a, w, eps=EPS) * dout).sum(), x)).max() < NEAR
    assert np.abs(dw - slope(lambda a: (lib.rms_norm(x, a, eps=EPS) * dout).sum(), w)).max() < NEAR
    dx, dw, db = lib.layer_norm_backward(dout, x, w, bias=True, eps=EPS)
    assert np.abs(dx - slope(lambda a: (lib.layer_norm(a, w, b, eps=EPS) * dout).sum(), x)).max() < NEAR
    assert np.abs(dw - slope(lambda a: (lib.layer_norm(x, a, b, eps=EPS) * dout).sum(), w)).max() < NEAR
    assert np.abs(db - slope(lambda a: (lib.layer_norm(x, w, a, eps=EPS) * dout).sum(), b)).max() < NEAR
