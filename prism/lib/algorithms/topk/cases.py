"""Calls of top_k: of numbers of which many are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import LONG_PLANES, PLANES, Case, numbers


def _of_largest(x: Any, k: int, axis: int) -> tuple[Any, Any]:
    """Return the first elements by a stable sort of what is negative where they are positive."""
    if k > x.shape[axis]:
        raise ValueError
    ranks = -np.unique(x, return_inverse=True)[1].reshape(x.shape)
    places = np.take(np.argsort(ranks, axis=axis, kind="stable"), range(k), axis)
    return np.take_along_axis(x, places, axis), places


def _of_smallest(x: Any) -> tuple[Any, Any]:
    if x.size < 3:
        raise ValueError
    places = np.argsort(x, kind="stable")[:3]
    return x[places], places


CASES = (
    Case(
        "top_k", numbers, lambda x: _of_largest(x, 1, -1), {"k": 1}, ("float32", "uint64"), out=False,
        peers={"torch": lambda torch, x: torch.topk(x, 1)},
    ),
    Case(
        "top_k", numbers, lambda x: _of_largest(x, 3, 0), {"k": 3, "axis": 0}, ("uint8",),
        ((33, 17), *PLANES[1:4]), LONG_PLANES, out=False,  # each column is a block of its own: few tell as much
    ),
    Case("topk", numbers, _of_smallest, {"k": 3, "largest": False}, ("int64",), out=False),
)  # fmt: skip
