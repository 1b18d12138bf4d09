"""A few calls of each of the library's kernels, for compute-sanitizer to watch: `python -m tests.gpu.sanitized [aligned]`.

With `aligned`, no hgemm whose result's rows begin at odd addresses: see test_sanitizer.py.
"""

from __future__ import annotations

import sys

import cupy
import numpy as np

from prism import lib

SIZES = (1, 1000, 1 << 14, 100_003, 1 << 20)
"""One block, one block a tile, and many tiles a block."""
RANDOM = np.random.default_rng(0)


def numbers(shape: int | tuple[int, ...], kind: str) -> np.ndarray:
    """Small whole numbers: sums and products of floats are exact."""
    return RANDOM.integers(-3, 4, shape).astype(kind)


def same(found: cupy.ndarray, expected: np.ndarray) -> None:
    assert np.array_equal(cupy.asnumpy(found), expected)


def scans() -> None:
    for size in SIZES:
        x = numbers(size + 3, "int32")
        for first in (0, 3):  # the second does not begin at a multiple of 16 bytes
            same(lib.scan(cupy.asarray(x)[first : first + size]), x[first : first + size].cumsum(dtype="int32"))
    for kind in ("int8", "float64"):
        x = numbers(70_000, kind)
        same(lib.scan(cupy.asarray(x)), x.cumsum(dtype=kind))
    for shape in ((300, 70), (3, 20_000), (20_000, 3)):
        x = numbers(shape, "float32")
        for axis in (0, 1):
            same(lib.cumsum(cupy.asarray(x), axis=axis), x.cumsum(axis, dtype="float32"))


def reductions() -> None:
    for size in SIZES:
        x = numbers(size + 3, "int32")
        same(lib.sum(cupy.asarray(x)[3:]), x[3:].sum())
        same(lib.argmax(cupy.asarray(x)[3:]), x[3:].argmax())
    for shape in ((300, 70), (3, 20_000), (20_000, 3)):
        x = numbers(shape, "float32")
        for axis in (0, 1):
            same(lib.sum(cupy.asarray(x), axis=axis), x.sum(axis))
            same(lib.argmin(cupy.asarray(x), axis=axis), x.argmin(axis))


def segments() -> None:
    x, offsets = numbers(50_000, "int32"), np.r_[0, np.sort(RANDOM.integers(0, 50_001, 400)), 50_000]
    parts = [x[begin:end] for begin, end in zip(offsets[:-1], offsets[1:], strict=True)]
    held, at = cupy.asarray(x), cupy.asarray(offsets)
    same(lib.segmented_reduce(held, at), np.array([part.sum() for part in parts], "int32"))
    same(lib.segmented_scan(held, at), np.concatenate([part.cumsum(dtype="int32") for part in parts]))
    keys = np.sort(RANDOM.integers(0, 500, 50_000)).astype("int32")
    unique, found = lib.reduce_by_key(cupy.asarray(keys), held)[:2]
    same(unique, np.unique(keys))
    same(found, np.bincount(np.searchsorted(np.unique(keys), keys), x).astype("int32"))


def products() -> None:
    for m, n, k in ((130, 70, 33), (256, 256, 256), (64, 512, 1024)):
        a, b = numbers((m, k), "float32"), numbers((k, n), "float32")
        same(lib.sgemm(cupy.asarray(a), cupy.asarray(b)), a @ b)
        if n % 4 == 0 or "aligned" not in sys.argv:
            out = cupy.zeros((m, n), "float32")  # initcheck does not see what the tensor copy engine writes
            same(lib.hgemm(cupy.asarray(a, "float16"), cupy.asarray(b, "float16"), out=out), a @ b)


if __name__ == "__main__":
    for calls in (scans, reductions, segments, products):
        calls()
        print(calls.__name__, flush=True)
