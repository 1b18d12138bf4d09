"""prism.lib.attention of 8-bit floats on NumPy arrays: what comes out, scales, layouts, what is refused.

Tests of prism/lib/algorithms/attention: api, eight_bits, plan.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import prism

F8, OTHER = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
RNG = np.random.default_rng(8)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(F8)


def exact(q: Any, k: Any, v: Any, causal: bool = False, scales: tuple[Any, Any, Any] = (1, 1, 1)) -> tuple[Any, Any]:
    """The result in float64, and what it may be off by: a weight's 4 bits, the least weight's step, the result's 8 bits."""
    q, k, v = (
        x.astype(np.float64) * np.asarray(scale)[..., None, None] for x, scale in zip((q, k, v), scales, strict=True)
    )
    k, v = (x.repeat(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[3])
    if causal:
        row, column = np.indices(scores.shape[2:])
        scores = np.where(column <= row + k.shape[2] - q.shape[2], scores, -np.inf)
    top = scores.max(3, keepdims=True, initial=-1e30)
    weights = np.exp(scores - top)
    total = weights.sum(3, keepdims=True)
    weights = weights / np.where(total > 0, total, 1)
    wanted = weights @ v
    bound = 2.0**-4 * (weights @ abs(v)) + 2.0**-18 * abs(v).sum(2, keepdims=True) + 2.0**-8 * abs(wanted)
    return wanted, bound


def is_near(found: Any, wanted: Any, bound: Any) -> bool:
    return bool((abs(found.astype(np.float64) - wanted) <= bound).all())


@pytest.mark.parametrize(("kind", "causal"), [(F8, False), (F8, True), (OTHER, True)])
@pytest.mark.parametrize(
    ("heads", "own", "rows", "keys", "dims"),
    [
        (2, 1, 70, 81, (64, 32)),
        (3, 3, 33, 1, (16, 48)),
        (1, 1, 5, 200, (80, 144)),
        (2, 2, 5, 0, (32, 32)),
        (1, 1, 0, 4, (16, 16)),
    ],
)
def test_it_is_attention(
    heads: int, own: int, rows: int, keys: int, dims: tuple[int, int], kind: Any, causal: bool
) -> None:
    shapes = (2, heads, rows, dims[0]), (2, own, keys, dims[0]), (2, own, keys, dims[1])
    q, k, v = (normal(*shape).astype(kind) for shape in shapes)
    found = prism.lib.attention(q, k, v, causal=causal)
    assert found.dtype == ml_dtypes.bfloat16 and found.shape == (2, heads, rows, dims[1])
    assert is_near(found, *exact(q, k, v, causal))


@pytest.mark.parametrize("one", [False, True])
def test_scales_and_dtypes(one: bool) -> None:
    """One number, or one of each batch and head; the result is of the dtype that is asked for, or that `out` has."""
    q, k, v = normal(2, 4, 20, 32), normal(2, 2, 40, 32), normal(2, 2, 40, 32)
    shapes = [() if one else (2, heads) for heads in (4, 2, 2)]
    scales = tuple((0.5 + RNG.random(shape)).astype(np.float32) for shape in shapes)
    named = dict(zip(("q_scale", "k_scale", "v_scale"), scales, strict=True))
    found = prism.lib.attention(q, k, v, **named, out_dtype="float16")
    assert found.dtype == np.float16 and is_near(found, *exact(q, k, v, scales=scales))
    out = np.zeros_like(found)
    assert prism.lib.attention(q, k, v, **named, out=out) is out and np.array_equal(out, found)
    turned = {name: np.asfortranarray(scale) for name, scale in named.items()}
    assert np.array_equal(prism.lib.attention(q, k, v, **turned, out_dtype=np.float16), found)


def test_layouts_and_logarithms() -> None:
    q, k, v = normal(2, 20, 3, 32), normal(2, 40, 3, 32), normal(2, 40, 3, 64)
    found, logs = prism.lib.attention(q, k, v, layout="blhd", lse=True, causal=True)
    other = tuple(x.transpose(0, 2, 1, 3) for x in (q, k, v))
    assert is_near(found.transpose(0, 2, 1, 3), *exact(*other, True)) and logs.shape == (2, 3, 20)
    again, same = prism.lib.attention(*(np.ascontiguousarray(x) for x in other), lse=True, causal=True)
    assert np.array_equal(again.transpose(0, 2, 1, 3), found) and np.array_equal(logs, same)


def test_small_weights_count() -> None:
    """The rest of the keys, each of a weight far below e4m3's least number, have a share of the result."""
    q = np.zeros((1, 1, 1, 16), F8)
    q[..., 0] = 1
    k, v = np.zeros((1, 1, 4097, 16), F8), np.ones((1, 1, 4097, 16), F8)
    k[:, :, 0, 0], v[:, :, 0] = 1, 0
    found = prism.lib.attention(q, k, v, scale=8.0)
    share = 4096 * math.exp(-8) / (1 + 4096 * math.exp(-8))
    assert abs(float(found[0, 0, 0, 0]) / share - 1) < 2.0**-4


SQUARE = normal(1, 2, 16, 32)
ONE = np.ones((), np.float32)


@pytest.mark.parametrize(
    ("arrays", "options", "error", "text"),
    [
        (
            (SQUARE, SQUARE, SQUARE.astype(np.float16)),
            {},
            TypeError,
            "`q` and `v` have dtypes float8_e4m3fn and float16",
        ),
        (
            (SQUARE.astype(ml_dtypes.float8_e5m2fnuz),) * 3,
            {},
            TypeError,
            "`q` has dtype float8_e5m2fnuz, which attention does not",
        ),
        (
            (SQUARE, SQUARE.astype(OTHER), SQUARE),
            {},
            TypeError,
            "`q` and `k` have dtypes float8_e4m3fn and float8_e5m2",
        ),
        (
            (SQUARE[..., :24],) * 3,
            {},
            ValueError,
            "`q` has 24 elements a head: attention takes multiples of 16, from 16 to 256",
        ),
        ((SQUARE,) * 3, {"out_dtype": "float32"}, TypeError, "`out_dtype` must be bfloat16 or float16, not float32"),
        (
            (SQUARE,) * 3,
            {"out": np.zeros(SQUARE.shape, np.float32)},
            TypeError,
            "`out` must be bfloat16 or float16, not float32",
        ),
        (
            (SQUARE,) * 3,
            {"k_scale": np.ones(3, np.float32)},
            ValueError,
            r"`k_scale` has shape \(3,\): it is one number, or",
        ),
        ((SQUARE,) * 3, {"v_scale": np.ones(1)}, TypeError, "`v_scale` has dtype float64: a scale is of float32"),
        (
            (SQUARE.astype(np.float16),) * 3,
            {"q_scale": ONE},
            TypeError,
            "`q_scale` is for arrays of float8_e4m3fn or float8_e5m2, and `q` has",
        ),
        (
            (SQUARE.astype(np.float16),) * 3,
            {"out_dtype": "bfloat16"},
            TypeError,
            "`out_dtype` is bfloat16, and `q` has dtype float16",
        ),
    ],
)
def test_what_is_refused(arrays: Any, options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        prism.lib.attention(*arrays, **options)
