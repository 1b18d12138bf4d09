"""Calls of cross-entropy and its gradient, of scores so far apart that results are exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case

_DTYPES = ("float32", "float16")
_SHAPES: dict[str, Any] = {
    "shapes": ((33, 34), (1, 1), (5, 16), (3, 1025), (1, 9000)),
    "large": ((300, 70), (4096, 5000), (2, 1 << 20)),
}


def _scores(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    """One score of each row is 0, the others are so low that their exponentials are 0; a label in four is ignored."""
    x = np.full(shape, -500.0, dtype)
    x[np.arange(shape[0]), random.integers(0, shape[1], shape[0])] = 0
    labels = random.integers(0, shape[1], shape[0])
    return x, np.where(random.random(shape[0]) < 0.25, -100, labels)


def _losses(x: Any, labels: Any) -> tuple[Any, Any]:
    losses = np.where(labels == -100, 0, -x[np.arange(len(x)), np.maximum(labels, 0)].astype(np.float32))
    return losses.astype(np.float32), np.zeros(len(x), np.float32)


def _with_gradient(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any, Any]:
    x, labels = _scores(random, shape, dtype)
    return random.integers(-3, 4, shape[0]).astype(np.float32), x, labels, np.zeros(shape[0], np.float32)


def _gradient(d: Any, x: Any, labels: Any, logs: Any) -> Any:
    found = (x == 0).astype(np.float32)
    found[np.arange(len(x)), np.maximum(labels, 0)] -= 1
    return (np.where(labels == -100, 0, d)[:, None] * found).astype(x.dtype)


CASES = (
    Case("cross_entropy", _scores, _losses, {}, _DTYPES, **_SHAPES, out=False),
    Case("cross_entropy_backward", _with_gradient, _gradient, {}, _DTYPES, **_SHAPES),
)
