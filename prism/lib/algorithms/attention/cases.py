"""Calls of attention of which the result is exact: each query's product with one key is far above those with others."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case, numbers

SHAPES = ((1, 2, 70, 64), (2, 1, 130, 32), (0, 2, 5, 64), (1, 2, 0, 64), (1, 1, 1, 8), (1, 3, 65, 96))
LARGE = ((1, 1, 150, 64), (2, 3, 300, 64), (1, 2, 1000, 128), (3, 2, 513, 256))


def _codes(places: Any, dim: int) -> Any:
    """Return the bits of numbers, 1 and -1, of 8 elements at least."""
    bits = places[..., None] >> (np.arange(dim) % 16) & 1
    return 2.0 * bits - 1


def _of_places(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    """Return queries that look for one key each, keys, and values."""
    *before, length, dim = shape
    wanted = random.integers(0, max(min(length, 1 << min(dim, 16)), 1), (*before, length))
    keys = np.broadcast_to(np.arange(length), (*before, length))
    return (60 * _codes(wanted, dim)).astype(dtype), _codes(keys, dim).astype(dtype), numbers(random, shape, dtype)[0]


def _found(q: Any, k: Any, v: Any) -> Any:
    """Return the values of the keys that queries look for: keys of equal codes have a share each."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if not scores.size:
        return np.zeros(q.shape, q.dtype)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64)).astype(q.dtype)


def _of_torch(torch: Any, q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


CASES = (Case("attention", _of_places, _found, {}, ("float16",), SHAPES, LARGE, {"torch": _of_torch}),)
