"""Calls of histograms: of bins that hold some of the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import INTEGERS, Case, numbers

_EVEN: dict[str, Any] = {"bins": 20, "range": (-2, 3)}
_EDGES = [-2, 0, 0.5, 2, 3]
_CELLS: dict[str, Any] = {"bins": (2, 3), "range": ((-3, 3), (0, 2))}
_PLANE: dict[str, Any] = {"bins": (3, [0, 1, 3]), "range": ((-2, 2), None)}
_LENGTH = 5


def _with_weights(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (*_naturals(random, shape, dtype), *numbers(random, shape, "int32"))


def _pairs(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (*numbers(random, shape, dtype), *numbers(random, shape, "float32"))


def _points(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    return numbers(random, (*shape, 2), dtype)


def _naturals(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    return (np.abs(*numbers(random, shape, dtype)),)


CASES = (
    Case(
        "histogram", numbers, lambda x: np.histogram(x, **_EVEN), _EVEN, out=False,
        peers={
            "cupy": lambda cupy, x: cupy.histogram(x, **_EVEN),
            "torch": lambda torch, x: torch.histc(x.float(), 20, -2, 3),
        },
    ),
    Case("histogram", numbers, lambda x: np.histogram(x, _EDGES), {"bins": _EDGES}, out=False, planned=False),
    Case(
        "histogram2d", _pairs, lambda x, y: np.histogram2d(x, y, **_PLANE), _PLANE, ("float32", "int64"), out=False,
        planned=False,
    ),
    Case(
        "histogramdd", _points, lambda x: np.histogramdd(x, **_CELLS), _CELLS, ("float32", "int16"), out=False, planned=False,
    ),
    Case(
        "bincount", _naturals, lambda x: np.bincount(x.astype(np.int64), minlength=_LENGTH)[:_LENGTH], {"length": _LENGTH},
        (*INTEGERS, "bool"), out=False,
        peers={
            "cupy": lambda cupy, x: cupy.bincount(x, minlength=_LENGTH),
            "torch": lambda torch, x: torch.bincount(x, minlength=_LENGTH),
        },
    ),
    Case(
        "bincount", _with_weights, lambda x, w: np.bincount(x.astype(np.int64), w), {}, ("int32", "uint8"), out=False,
        planned=False,
    ),
    Case(
        "bincount", _naturals, lambda x: np.bincount(x.astype(np.int64), minlength=7), {"minlength": 7}, INTEGERS, out=False,
        planned=False,
    ),
)  # fmt: skip
