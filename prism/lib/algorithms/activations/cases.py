"""Calls of activations and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case

_DTYPES = ("float32", "float16", "float64")
_SHAPES: dict[str, Any] = {
    "shapes": ((33, 34), (0, 6), (5, 0), (1, 2), (3, 70)),
    "large": ((300, 70), (4099, 34), (1 << 10, 1 << 12)),
}


def _gates(random: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return random.choice([-1000.0, 0.0, 100.0], shape).astype(dtype)


def _small(random: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return random.integers(-3, 4, shape).astype(dtype)


def _halves(random: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return np.concatenate([part(random, (shape[0], shape[1] // 2), dtype) for part in (_gates, _small)], axis=1)


def _one(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    """Gates so far from 0 that what they are multiplied by is 0 or 1, and 0: results are exact."""
    return (_gates(random, shape, dtype),)


def _with_gradient(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return _small(random, shape, dtype), _gates(random, shape, dtype)


def _with_up(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return _gates(random, shape, dtype), _small(random, shape, dtype)


def _both(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any, Any]:
    return _small(random, shape, dtype), _gates(random, shape, dtype), _small(random, shape, dtype)


def _half_gradient(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return _small(random, (shape[0], shape[1] // 2), dtype), _halves(random, shape, dtype)


def _let(x: Any) -> Any:
    return np.maximum(x, 0).astype(x.dtype)


def _slope(x: Any) -> Any:
    return np.where(x > 0, 1, np.where(x == 0, 0.5, 0)).astype(x.dtype)


def _split(x: Any) -> tuple[Any, Any]:
    return x[:, : x.shape[1] // 2], x[:, x.shape[1] // 2 :]


def _swiglu_halves(x: Any) -> Any:
    gates, up = _split(x)
    return _let(gates) * up


def _gradient_halves(dy: Any, x: Any) -> Any:
    gates, up = _split(x)
    return np.concatenate([dy * up * _slope(gates), dy * _let(gates)], axis=1)


CASES = (
    Case(
        "gelu", _one, _let, {}, _DTYPES, **_SHAPES,
        peers={"torch": lambda torch, x: torch.nn.functional.gelu(x)},
    ),
    Case("gelu", _one, _let, {"approximate": "tanh"}, _DTYPES, **_SHAPES),
    Case("gelu_backward", _with_gradient, lambda dy, x: dy * _slope(x), {}, _DTYPES, **_SHAPES),
    Case(
        "swiglu", _with_up, lambda x, up: _let(x) * up, {}, _DTYPES, **_SHAPES,
        peers={"torch": lambda torch, x, up: torch.nn.functional.silu(x) * up},
    ),
    Case("swiglu", lambda *a: (_halves(*a),), _swiglu_halves, {"gate": "gelu"}, _DTYPES, **_SHAPES),
    Case(
        "swiglu_backward", _both, lambda dy, x, up: (dy * up * _slope(x), dy * _let(x)), {}, _DTYPES, **_SHAPES, out=False,
    ),
    Case("swiglu_backward", _half_gradient, _gradient_halves, {"gate": "gelu_tanh"}, _DTYPES, **_SHAPES),
)  # fmt: skip
