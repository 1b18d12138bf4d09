"""prism.lib.quantized_matmul and what packs its weights: what is refused, and arrays that are copied first.

Tests of prism/lib/algorithms/mixed: api, cases; asv_bench/mixed.py.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.lib import pack_weights, quantized_matmul, unpack_weights

K, N, GROUP = 128, 24, 64
RNG = np.random.default_rng(5)
Q = RNG.integers(0, 16, (K, N)).astype(np.uint8)
X = RNG.integers(-1, 2, (5, K)).astype(np.float16)
SCALES = np.full((K // GROUP, N), 0.5, np.float16)
ZEROS = RNG.integers(0, 16, SCALES.shape).astype(np.uint8)
WEIGHTS = pack_weights(Q)


def product(x: Any, scales: Any = SCALES, zeros: Any = ZEROS) -> Any:
    w = (Q.astype(float) - zeros.repeat(GROUP, 0)) * scales.astype(float).repeat(GROUP, 0)
    return (x.astype(float) @ w).astype(x.dtype)


def test_bfloat16_and_scales_of_float32() -> None:
    x = X.astype(ml_dtypes.bfloat16)
    found = quantized_matmul(x, WEIGHTS, SCALES.astype(np.float32), ZEROS)
    assert found.dtype == x.dtype and np.array_equal(found, product(x))


def test_axes_before_k() -> None:
    assert np.array_equal(quantized_matmul(X[0], WEIGHTS, SCALES, ZEROS), product(X)[0])
    x = np.stack([X, -X])
    assert np.array_equal(quantized_matmul(x, WEIGHTS, SCALES, ZEROS), np.stack([product(X), -product(X)]))


@pytest.mark.parametrize("rows", [5, 40])
def test_arrays_that_lie_otherwise(rows: int) -> None:
    """Scales and zero points of any strides are read where they lie; other arrays are copied, or results made beside."""
    x = np.resize(X, (rows, K))
    wanted = product(x)
    turned = (np.asfortranarray(one) for one in (x, WEIGHTS, SCALES, ZEROS))
    assert np.array_equal(quantized_matmul(*turned), wanted)
    wide = np.repeat(SCALES, 2, axis=1)[:, ::2]
    assert np.array_equal(quantized_matmul(x[::-1], WEIGHTS, wide, ZEROS[::-1][::-1]), wanted[::-1])
    out = np.zeros((N, rows), np.float16).T
    assert quantized_matmul(x, WEIGHTS, SCALES, ZEROS, out=out) is out and np.array_equal(out, wanted)


def test_one_group_of_all() -> None:
    q = RNG.integers(-8, 8, (96, 8)).astype(np.int8)
    scales = np.ones((1, 8), np.float16)
    assert np.array_equal(quantized_matmul(np.eye(96, dtype=np.float16), pack_weights(q), scales), q)


def test_lowest_bits_count() -> None:
    assert np.array_equal(unpack_weights(pack_weights(Q + 16), K, N), Q)


def test_empty_arrays() -> None:
    none = pack_weights(np.zeros((0, N), np.uint8))
    assert none.shape == (2, 0, 32)
    assert not quantized_matmul(X[:, :0], none, SCALES[:0]).any()
    assert quantized_matmul(X[:0], WEIGHTS, SCALES).shape == (0, N)
    assert unpack_weights(none, 0, N).shape == (0, N)


@pytest.mark.parametrize(
    "error, text, call",
    [
        (TypeError, "`x` has dtype float32", lambda: quantized_matmul(X.astype(np.float32), WEIGHTS, SCALES)),
        (TypeError, "`x` must be an array", lambda: quantized_matmul({1.0}, WEIGHTS, SCALES)),
        (ValueError, "`x` must have an axis", lambda: quantized_matmul(np.float16(1)[...], WEIGHTS, SCALES)),
        (TypeError, "`weights` must be of int32", lambda: quantized_matmul(X, Q, SCALES)),
        (ValueError, "`weights` must have 3 axes", lambda: quantized_matmul(X, WEIGHTS[0], SCALES)),
        (ValueError, "packed as (2, 8, 32), of 4 bits", lambda: quantized_matmul(X, WEIGHTS[:1], SCALES)),
        (ValueError, "`weights` has shape (2, 8, 16)", lambda: quantized_matmul(X, WEIGHTS[:, :, :16], SCALES)),
        (TypeError, "`scales` must be of float16, as `x`", lambda: quantized_matmul(X, WEIGHTS, SCALES.astype(float))),
        (ValueError, "`scales` must have 2 axes", lambda: quantized_matmul(X, WEIGHTS, SCALES[0])),
        (ValueError, "`scales` has 3 groups", lambda: quantized_matmul(X, WEIGHTS, np.ones((3, N), np.float16))),
        (ValueError, "`scales` has 8 groups", lambda: quantized_matmul(X, WEIGHTS, np.ones((8, N), np.float16))),
        (ValueError, "`scales` has 0 groups", lambda: quantized_matmul(X, WEIGHTS, SCALES[:0])),
        (TypeError, "`zeros` must be of uint8", lambda: quantized_matmul(X, WEIGHTS, SCALES, ZEROS.astype(np.int8))),
        (ValueError, "`zeros` must have shape", lambda: quantized_matmul(X, WEIGHTS, SCALES, ZEROS[:1])),
        (
            ValueError,
            "k must be a multiple of 32",
            lambda: quantized_matmul(X[:, :100], pack_weights(Q[:100]), SCALES[:1]),
        ),
        (
            TypeError,
            "`out` must be of float16",
            lambda: quantized_matmul(X, WEIGHTS, SCALES, out=np.zeros((5, N), np.float32)),
        ),
        (
            ValueError,
            "`out` must have shape",
            lambda: quantized_matmul(X, WEIGHTS, SCALES, out=np.zeros((5, K), np.float16)),
        ),
        (ValueError, "`stream` is for arrays on a GPU", lambda: quantized_matmul(X, WEIGHTS, SCALES, stream=1)),
        (TypeError, "`q` has dtype int32", lambda: pack_weights(Q.astype(np.int32))),
        (ValueError, "`q` must have 2 axes", lambda: pack_weights(Q[0])),
        (ValueError, "`bits` must be 4 or 8, not 2", lambda: pack_weights(Q, bits=2)),
        (ValueError, "`out` must have shape", lambda: pack_weights(Q, out=np.zeros((2, 8, 64), np.int32))),
        (TypeError, "`weights` must be of int32", lambda: unpack_weights(Q, K, N)),
        (ValueError, "numbers of 128 x 33 are packed as (3, 8, 32)", lambda: unpack_weights(WEIGHTS, K, 33)),
        (ValueError, "`k` and `n` must not be negative", lambda: unpack_weights(WEIGHTS, -1, N)),
        (TypeError, "`dtype` must be int8 or uint8", lambda: unpack_weights(WEIGHTS, K, N, dtype="int4")),
    ],
)
def test_errors(error: type[Exception], text: str, call: Any) -> None:
    with pytest.raises(error) as found:
        call()
    assert text in str(found.value)


def test_numbers_of_quantize() -> None:
    """As docs/mixed.md says."""
    w = RNG.normal(size=(K, 16)).astype(np.float32)
    q, scales = prism.lib.quantize(np.ascontiguousarray(w.T), "int8", group=64)
    y = quantized_matmul(X, pack_weights(q.T, bits=8), scales.T)
    assert np.abs(y - X.astype(np.float32) @ w).max() < 0.2
