"""Calls on rows of which the result is exact: of numbers of which one is far above the others, or that are all 2 or -2."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case, numbers
from prism.lib.thread import operators

_DTYPES = ("float32", "float16", "float64")
_SHAPES = ((33, 128), (0, 8), (5, 0), (1, 1), (3, 70), (70, 3), (2, 1025), (2, 3, 9))
_LARGE = ((300, 70), (3, 20_000), (20_000, 3), (301, 1024), (5, 65_536), (3, 262_144), (2, 300_000), (33, 5001))
_EVEN = ((33, 128), (0, 8), (5, 0), (3, 2), (70, 4), (2, 1024), (2, 3, 16))  # means of these are exact
_EVEN_LARGE = ((300, 64), (3, 16_384), (20_000, 4), (301, 1024), (5, 65_536), (3, 262_144), (5000, 256))
_TOP = 1000  # the exponential of so much less is nothing


def _peaks(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    """Return rows of small numbers, in each of which one is far above."""
    x = numbers(random, shape, dtype)[0]
    if x.size:
        np.put_along_axis(x, random.integers(0, shape[-1], (*shape[:-1], 1)), _TOP, -1)
    return (x,)


def _is_top(x: Any) -> Any:
    return (x == _TOP).astype(x.dtype)


def _below_top(x: Any) -> Any:
    return (x - _TOP).astype(x.dtype)


def _signs(random: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Return rows of as many 2 as -2."""
    places = random.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)
    return np.ascontiguousarray(np.where(places % 2, 2, -2).astype(dtype))


def _weighed(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return _signs(random, shape, dtype), numbers(random, shape[-1:], dtype)[0]


def _weighed_and_more(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    return *_weighed(random, shape, dtype), numbers(random, shape[-1:], dtype)[0]


def _two(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return numbers(random, shape, dtype)[0], numbers(random, shape, dtype)[0]


def _of_zero(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return numbers(random, shape, dtype)[0], np.zeros(shape, dtype)


def _gradients(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    return numbers(random, shape, dtype)[0], *_weighed(random, shape, dtype)


def _softmax_gradient(dout: Any, y: Any) -> Any:
    wide = dout.astype(np.float64)
    return (y * (wide - (wide * y).sum(-1, keepdims=True))).astype(y.dtype)


def _log_softmax_gradient(dout: Any, y: Any) -> Any:
    wide = dout.astype(np.float64)
    return (wide - wide.sum(-1, keepdims=True)).astype(y.dtype)


def _norm_gradients(dout: Any, x: Any, weight: Any, centred: bool) -> tuple[Any, ...]:
    wide, normal = dout.astype(np.float64), x.astype(np.float64) / 2
    weighed, size = wide * weight, max(x.shape[-1], 1)
    off = weighed - normal * (weighed * normal).sum(-1, keepdims=True) / size
    if centred:
        off = off - weighed.sum(-1, keepdims=True) / size
    rows = tuple(range(x.ndim - 1))
    sums = ((wide * normal).sum(rows), *((wide.sum(rows),) if centred else ()))
    return (off / 2).astype(x.dtype), *(one.astype(weight.dtype) for one in sums)


CASES = (
    Case(
        "softmax", _peaks, _is_top, {}, _DTYPES, _SHAPES, _LARGE, {"torch": lambda torch, x: torch.softmax(x, -1)},
    ),
    Case("softmax", _peaks, _is_top, {"scale": 2.0}, ("float32", "float64"), _SHAPES[:4], _LARGE[:2]),
    Case("log_softmax", _peaks, _below_top, {}, _DTYPES, _SHAPES, _LARGE, {"torch": lambda torch, x: torch.log_softmax(x, -1)}),
    Case("rms_norm", _weighed, lambda x, w: (x / 2 * w).astype(x.dtype), {"eps": 0.0}, _DTYPES, _EVEN, _EVEN_LARGE),
    Case(
        "layer_norm", _weighed_and_more, lambda x, w, b: (x / 2 * w + b).astype(x.dtype), {"eps": 0.0}, _DTYPES, _EVEN,
        _EVEN_LARGE,
    ),
    Case(
        "rows", numbers, lambda x: x - x.min(-1, keepdims=True) if x.size else x, {"f": operators.subtract, "first": "min"},
        _DTYPES, _SHAPES, _LARGE,
    ),
    Case("softmax_backward", _two, _softmax_gradient, {}, _DTYPES, _SHAPES, _LARGE),
    Case("log_softmax_backward", _of_zero, _log_softmax_gradient, {}, _DTYPES, _SHAPES, _LARGE),
    Case(
        "rms_norm_backward", _gradients, lambda g, x, w: _norm_gradients(g, x, w, False), {"eps": 0.0}, _DTYPES, _EVEN,
        _EVEN_LARGE, out=False, planned=False,  # of wide rows they are several calls
    ),
    Case(
        "layer_norm_backward", _gradients, lambda g, x, w: _norm_gradients(g, x, w, True), {"eps": 0.0, "bias": True}, _DTYPES,
        _EVEN, _EVEN_LARGE, out=False, planned=False,
    ),
)  # fmt: skip
