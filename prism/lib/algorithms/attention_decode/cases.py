"""Calls of which the result is exact, as those of attention are: each query's product with one key is far above the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.algorithms.attention import cases as attention
from prism.lib.cases import Case

WHOLE = attention.CASES[0]


def _of_few(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    """Return queries of which each looks for one key, keys, and values."""
    q, k, v = WHOLE.make(random, shape, dtype)
    return np.ascontiguousarray(q[:, :, :5]), k, v


def _of_latent(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    """Return queries of which each looks for one key, and a cache; `shape`: batches, tokens, heads, keys.

    The last 64 elements of a key say which it is, and its queries are 60 times these.
    """
    batches, tokens, heads, keys = shape
    places = np.arange(keys)[:, None] >> (np.arange(64) % 16) & 1
    cache = np.concatenate(
        [random.integers(-9, 10, (batches, keys, 512)) / 64, np.tile(2.0 * places - 1, (batches, 1, 1))], 2
    )
    wanted = random.integers(0, max(keys, 1), (batches, tokens, heads))
    q = np.zeros((batches, tokens, heads, 576))
    if keys:
        q[..., 512:] = 60 * cache[0, wanted, 512:] if batches else 0
    return q.astype(dtype), cache[:, :, None].astype(dtype)


def _of_keys(q: Any, cache: Any) -> Any:
    """Return the values of the keys that queries look for."""
    scores = np.einsum("bthe,bke->bthk", q.astype(np.float64), cache[:, :, 0].astype(np.float64)) / 24
    if not scores.size:
        return np.zeros((*q.shape[:3], 512), q.dtype)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bthk,bke->bthe", weights, cache[:, :, 0, :512].astype(np.float64)).astype(q.dtype)


CASES = (
    Case(
        "attention_decode",
        _of_few,
        WHOLE.oracle,
        {"causal": False},
        WHOLE.dtypes,
        WHOLE.shapes,
        WHOLE.large,
        WHOLE.peers,
    ),
    Case(
        "attention_decode_latent", _of_latent, _of_keys, {"causal": False}, ("float16",),
        ((2, 1, 16, 70), (1, 2, 5, 200), (0, 1, 4, 5), (1, 1, 4, 0)), ((3, 1, 128, 1000), (2, 2, 16, 4100)),
    ),
)  # fmt: skip
