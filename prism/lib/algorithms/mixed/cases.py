"""Calls of products with packed weights, and of what packs them: shapes are `(m, k, n)`, or `(k, n)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case

SHAPES = ((5, 64, 16), (20, 128, 40), (3, 96, 7), (0, 64, 8), (2, 64, 0), (4, 0, 3), (1, 32, 1))
"""Of k the next multiple of 32 is taken; groups are of 64 where they can be."""
LARGE = ((16, 1024, 264), (130, 512, 520), (300, 224, 72))
_NUMBERS = ((64, 16), (40, 20), (1, 1), (0, 5), (5, 0), (65, 33))
_LARGE_NUMBERS = ((300, 200), (1024, 512))
_K, _N = 40, 20


def pack(q: Any, bits: int) -> Any:
    """Return numbers as `pack_weights` packs them."""
    k, n = q.shape
    strips, tiles = -(-n // 16), 4 * -(-k // 64)
    whole = np.zeros((16 * strips, 16 * tiles), np.uint32)
    whole[:n, :k] = ((q.astype(np.int64) + (2 ** (bits - 1) if q.dtype == np.int8 else 0)) & (2**bits - 1)).T
    # by strip, half, lane's column, tile, half of its K, lane's K, element of a pair
    split = whole.reshape(strips, 2, 8, tiles, 2, 4, 2).transpose(0, 3, 2, 5, 4, 1, 6)
    h, e = np.arange(2)[:, None], np.arange(2)
    if bits == 4:
        split = split << (4 * (h + 2 * np.arange(2)[:, None, None] + 4 * e)).astype(np.uint32)
        words = split.sum(axis=(4, 5, 6), dtype=np.uint32)
    else:
        words = (split << (8 * (2 * h + e)).astype(np.uint32)).sum(axis=(5, 6), dtype=np.uint32)
    return words.reshape(strips, tiles, 8 * bits).view(np.int32)


def unpack(weights: Any, k: int, n: int) -> Any:
    """Return the numbers of words, without a sign."""
    strips, tiles, many = weights.shape
    words = weights.view(np.uint32).reshape(strips, tiles, 8, 4, many // 32, 1, 1)
    h, e = np.arange(2)[:, None], np.arange(2)
    if many == 32:
        shift = 4 * (h + 2 * np.arange(2)[:, None, None] + 4 * e)
        split = words >> shift.astype(np.uint32) & 15
    else:
        split = words >> (8 * (2 * h + e)).astype(np.uint32) & 255
    rows = split.transpose(0, 5, 2, 1, 4, 3, 6).reshape(16 * strips, 16 * tiles)
    return np.ascontiguousarray(rows[:n, :k].T.astype(np.uint8))


def _weighed(bits: int) -> Any:
    def make(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
        m, k, n = shape
        k = -(-k // 32) * 32
        size = 64 if k % 64 == 0 else 32
        weights = pack(random.integers(0, 2**bits, (k, n)).astype(np.uint8), bits)
        scales = (2.0 ** random.integers(-2, 2, (k // size, n))).astype(dtype)
        zeros = random.integers(0, 2**bits, (k // size, n)).astype(np.uint8)
        return random.integers(-1, 2, (m, k)).astype(dtype), weights, scales, zeros

    return make


def _product(x: Any, weights: Any, scales: Any, zeros: Any) -> Any:
    """Return the product, rounded once."""
    k, (groups, n) = x.shape[1], scales.shape
    if not k:
        return np.zeros((len(x), n), x.dtype)
    q = unpack(weights, k, n).astype(np.float64)
    w = (q - zeros.repeat(k // groups, 0)) * scales.astype(np.float64).repeat(k // groups, 0)
    return (x.astype(np.float64) @ w).astype(x.dtype)


def _some(bits: int) -> Any:
    def make(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
        low = -(2 ** (bits - 1)) if dtype == "int8" else 0
        return (random.integers(low, low + 2**bits, shape).astype(dtype),)

    return make


def _words(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
    many = 64 if shape[-1] == 64 else 32
    return (random.integers(-(2**31), 2**31, (-(-_N // 16), 4 * -(-_K // 64), many)).astype(dtype),)


CASES = (
    Case("quantized_matmul", _weighed(4), _product, {}, ("float16",), SHAPES, LARGE),
    Case("pack_weights", _some(4), lambda q: pack(q, 4), {}, ("uint8", "int8"), _NUMBERS, _LARGE_NUMBERS),
    Case("pack_weights", _some(8), lambda q: pack(q, 8), {"bits": 8}, ("uint8", "int8"), _NUMBERS, _LARGE_NUMBERS),
    Case(
        "unpack_weights", _words, lambda weights: unpack(weights, _K, _N), {"k": _K, "n": _N}, ("int32",),
        ((2, 4, 32), (2, 4, 64)), ((2, 4, 32),),
    ),
)  # fmt: skip
