"""Calls of attention's backward with exact gradients: queries are zero, so each key has the same weight, a power of two.

All numbers are -1, 0 or 1, of heads of 16 elements: what is rounded to 16 bits on the way has at most 11 of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case

SHAPES = ((1, 2, 64, 16), (2, 1, 64, 16), (0, 2, 64, 16), (1, 2, 0, 16), (1, 1, 1, 16))
LARGE = ((2, 3, 64, 16), (4, 8, 64, 16))


def _of_equal_weights(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
    """Return the result's gradient, queries, keys, values, the result, and logarithms of sums."""
    dout, k, v = random.integers(-1, 2, (3, *shape)).astype(dtype)
    out = np.broadcast_to(v.astype(np.float64).sum(2, keepdims=True) / max(shape[2], 1), shape).astype(dtype)
    lse = np.full(shape[:-1], np.log(max(shape[2], 1)), np.float32)
    return dout, np.zeros(shape, dtype), k, v, out, lse


def _gradients(dout: Any, q: Any, k: Any, v: Any, out: Any, lse: Any) -> tuple[Any, ...]:
    """Return the gradients of queries, keys and values."""
    of_scores = dout.astype(np.float64) @ v.astype(np.float64).swapaxes(-1, -2)
    of_scores -= (dout.astype(np.float64) * out).sum(-1, keepdims=True)
    keys = max(k.shape[2], 1)
    dq = of_scores / keys @ k.astype(np.float64) / np.sqrt(q.shape[-1])
    dv = np.broadcast_to(dout.astype(np.float64).sum(2, keepdims=True) / keys, v.shape)
    return dq.astype(q.dtype), np.zeros(k.shape, k.dtype), dv.astype(v.dtype)


CASES = (
    Case("attention_backward", _of_equal_weights, _gradients, {}, ("float16",), SHAPES, LARGE, out=False),
)  # fmt: skip
