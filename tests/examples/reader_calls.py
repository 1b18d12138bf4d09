"""Calls of the kernels in readers.py, each beside NumPy: on NumPy arrays, or, by `there`, on those of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lang import Kernel, cdiv
from tests.examples import readers

Launch = Callable[..., None]
"""`launch(kernel, blocks, threads, *arguments)`: arguments that are NumPy arrays hold the results afterwards."""
random = np.random.default_rng(0)


def top8(launch: Launch) -> None:
    x, y = random.random((6, 100), np.float32), np.zeros((6, 8), np.float32)
    launch(readers.top8, 3, 64, x, y, 100)
    assert np.array_equal(y, -np.sort(-x, axis=1)[:, :8])


def stencil(launch: Launch) -> None:
    x = random.random((50, 37), np.float32)
    y, p = np.zeros_like(x), np.pad(x, 1)
    launch(readers.stencil, (cdiv(37, 16), cdiv(50, 16)), 256, x, y)
    means = 0.2 * (p[1:-1, 1:-1] + p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    assert np.allclose(y, means)  # five numbers below 1, added in another order


def weighted(launch: Launch) -> None:
    keys, weights = random.integers(-2, 300, 5000).astype(np.int32), random.random(5000, np.float32)
    out, inside = np.zeros(290, np.float32), (keys >= 0) & (keys < 290)
    launch(readers.weighted, 4, 64, keys, weights, out, 5000, 290)
    assert np.allclose(out, np.bincount(keys[inside], weights[inside], 290))  # some 17 numbers a bin, in any order


def jacobi(launch: Launch) -> None:
    a = random.random(200, np.float32)
    b, expected = np.zeros_like(a), a.copy()
    for _ in range(20):
        expected[1:-1] = 0.5 * (expected[:-2] + expected[2:])
    launch(readers.jacobi, 2, 64, a, b, 200, 10)
    assert np.array_equal(a, expected)  # a sum of two, and a half of it: rounded alike


def characters(launch: Launch) -> None:
    text = "Größe, 漢字, naïve 🎉 " * 100
    found, total = np.frombuffer(text.encode(), np.uint8), np.zeros(1, np.int32)
    launch(readers.characters, 3, 128, found, total, len(found))
    assert total[0] == len(text)


def inverse(launch: Launch) -> None:
    x = random.random((50, 4, 4), np.float32) + 2 * np.eye(4, dtype=np.float32)
    y = np.zeros_like(x)
    launch(readers.inverse, 2, 32, x, y, 50)
    assert np.abs(x @ y - np.eye(4)).max() < 1e-5  # their condition numbers are below 20: 20 x 6e-8 x a few steps


def spread(launch: Launch) -> None:
    u, v = (random.integers(0, 60, 50).astype(np.int32) for _ in range(2))
    label, expected, changed = np.arange(60, dtype=np.int32), np.arange(60), np.ones(1, np.int32)
    while changed[0]:
        changed[0] = 0
        launch(readers.spread, 2, 32, u, v, label, changed, 50)
    for _ in range(60):
        for p, q in zip(u, v, strict=True):
            expected[[p, q]] = min(expected[p], expected[q])
    assert np.array_equal(label, expected)


def gemv(launch: Launch) -> None:
    a, x, y = random.random((3, 2048), np.float32), random.random(2048, np.float32), np.zeros(3, np.float32)
    launch(readers.gemv, 3, 160, a, x, y, 2048)
    assert np.allclose(y, a @ x)  # 2048 products below 1, added in another order


def long_rows(launch: Launch) -> None:
    x, y = random.random((3, 5000), np.float32), np.zeros(3, np.float32)
    launch(readers.long_rows, 12, 64, x, y, 5000)
    assert np.allclose(y, x.sum(axis=1))


def argmax(launch: Launch) -> None:
    x, starts = random.integers(0, 50, 1000).astype(np.float32), np.array([0, 10, 400, 401, 1000], np.int32)
    y = np.zeros(4, np.int32)
    launch(readers.argmax, 1, 128, x, starts, y, 4)
    assert y.tolist() == [int(x[a:b].argmax()) for a, b in zip(starts, starts[1:], strict=False)]


CALLS: dict[str, Callable[[Launch], None]] = {
    one.__name__: one
    for one in (top8, stencil, weighted, jacobi, characters, inverse, spread, gemv, long_rows, argmax)
}  # fmt: skip


def kernel_of(name: str) -> Kernel:
    found: Any = getattr(readers, name)
    assert isinstance(found, Kernel)
    return found
