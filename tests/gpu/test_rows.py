"""Operations on rows on a GPU: all who may share a row, views, streams, graphs, and what they give beside float64.

Tests of prism/lib/algorithms/rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lang import exp

cupy = pytest.importorskip("cupy")

# One width and more of each class: lanes, blocks, parts, clusters, rows that are read again; with vectors of 16 bytes, of fewer,
# and without.
WIDTHS = (
    1, 3, 8, 31, 64, 100, 257, 1000, 1024, 1030, 4096, 5001, 16_384, 16_386, 20_000, 40_000, 65_536, 100_001, 131_072, 200_000,
    262_144, 262_145, 600_000, 1_200_000,
)  # fmt: skip


def numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return cupy.random.default_rng(seed).standard_normal(shape, dtype=cupy.float32).astype(dtype)


def rows_of(n: int) -> int:
    return max(2, min(301, 400_000 // n))


def near(found: Any, wanted: Any, units: float = 8) -> bool:
    """Whether results are right to some units of the last place of the largest; of float64, what they are compared with is not
    exact either: sums of so many squares, each added to some hundreds before it, whose roundings grow as their root does."""
    units += 2 * (found.shape[-1] / 4096) ** 0.5 if found.dtype == np.float64 else 0
    error = float(cupy.abs(found.astype(np.float64) - wanted).max())
    return error <= units * np.finfo(found.dtype).eps * max(1.0, float(cupy.abs(wanted).max()))


def softmax(x: Any, axis: int = -1) -> Any:
    wide = x.astype(np.float64) - x.astype(np.float64).max(axis, keepdims=True)
    return cupy.exp(wide) / cupy.exp(wide).sum(axis, keepdims=True)


def normal(x: Any, centred: bool) -> tuple[Any, Any]:
    wide = x.astype(np.float64)
    wide = wide - wide.mean(-1, keepdims=True) if centred else wide
    factor = 1 / cupy.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)
    return wide * factor, factor


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n", WIDTHS)
def test_forward(n: int, dtype: str) -> None:
    x, z = numbers(rows_of(n), n, dtype=dtype), numbers(rows_of(n), n, dtype=dtype, seed=1)
    w, b = numbers(2, n, dtype=dtype, seed=2)
    wanted = softmax(x)
    found = lib.softmax(x)
    assert float(cupy.abs(found / wanted - 1).max()) < 40 * np.finfo(dtype).eps or dtype == "float16"
    assert near(found, wanted) and near(lib.log_softmax(x), cupy.log(wanted))
    assert near(lib.rms_norm(x, w), normal(x, False)[0] * w)
    y, total = lib.layer_norm(x, w, b, residual=z)
    assert bool((total == x + z).all())
    if n > 3:  # a row of two numbers that are nearly the same is divided by what rounding left of them
        assert near(y, normal(x + z, True)[0] * w + b, 16)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("n", [n for n in WIDTHS if 8 <= n <= 131_072])
def test_backward(n: int, dtype: str) -> None:
    x, g = numbers(rows_of(n), n, dtype=dtype), numbers(rows_of(n), n, dtype=dtype, seed=1)
    w = numbers(n, dtype=dtype, seed=2)
    y = lib.softmax(x)
    wide = y.astype(np.float64)
    assert near(lib.softmax_backward(g, y), wide * (g - (wide * g).sum(-1, keepdims=True)))
    for centred in (False, True):
        found = lib.layer_norm_backward(g, x, w, bias=True) if centred else lib.rms_norm_backward(g, x, w)
        h, factor = normal(x, centred)
        weighed = g.astype(np.float64) * w
        off = weighed - h * (weighed * h).mean(-1, keepdims=True) - (weighed.mean(-1, keepdims=True) if centred else 0)
        assert near(found[0], factor * off, 16)
        assert near(found[1], (g * h).sum(0))
        assert not centred or near(found[2], g.astype(np.float64).sum(0))
        again = lib.layer_norm_backward(g, x, w, bias=True) if centred else lib.rms_norm_backward(g, x, w)
        assert all(bool((one == other).all()) for one, other in zip(found, again, strict=True))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("n", [10_000, 20_000, 32_768, 50_264, 65_536, 100_000])
def test_more_wide_rows_than_blocks(n: int, dtype: str) -> None:
    x, g = numbers(301, n, dtype=dtype), numbers(301, n, dtype=dtype, seed=1)
    w, b = numbers(2, n, dtype=dtype, seed=2)
    y = lib.softmax(x)
    assert near(y, softmax(x)) and near(lib.log_softmax(x), cupy.log(softmax(x)))
    wide = y.astype(np.float64)
    assert near(lib.softmax_backward(g, y), wide * (g - (wide * g).sum(-1, keepdims=True)))
    assert near(lib.rms_norm(x, w), normal(x, False)[0] * w)
    assert near(lib.layer_norm(x, w, b), normal(x, True)[0] * w + b, 16)
    summed, total = lib.layer_norm(x, w, b, residual=g)
    assert bool((total == x + g).all()) and near(summed, normal(total, True)[0] * w + b, 16)


def test_numbers_that_are_none() -> None:
    for n in (50, 1024, 5000, 40_000, 300_000):
        x = numbers(5, n)
        x[0, 3], x[1, n // 2], x[2] = np.nan, np.inf, -np.inf
        x[3, : n - 1] = -np.inf
        for y in (lib.softmax(x), lib.layer_norm(x)):
            assert bool(cupy.isnan(y[:3]).all()) and bool(cupy.isfinite(y[4]).all())
        assert float(lib.softmax(x)[3, n - 1]) == 1 and not bool(lib.softmax(x)[3, : n - 1].any())


def test_views_streams_and_graphs() -> None:
    x = numbers(50, 1000)
    for view in (x[:, 8:808], x[::3], x[:, 1:], x.T, x[:, ::-1]):
        assert near(lib.softmax(view), softmax(view)) and near(lib.softmax(view, 0), softmax(view, 0))
    stream, out = cupy.cuda.Stream(non_blocking=True), cupy.zeros_like(x)
    lib.softmax(x, out=out)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        lib.softmax(x, out=out)
        graph = stream.end_capture()
        x[...] = numbers(50, 1000, seed=5)
        graph.launch(stream)
    stream.synchronize()
    assert near(out, softmax(x))
    again = lib.plan(lib.softmax, x, out=out)
    x[...] = numbers(50, 1000, seed=6)
    again()
    assert near(out, softmax(x))


def test_masks_and_operations_of_ones_own() -> None:
    x, mask = numbers(40, 5000), cupy.random.default_rng(3).random((40, 5000)) < 0.5
    assert near(lib.softmax(x, mask=mask, scale=0.5), softmax(cupy.where(mask, x / 2, -np.inf)))
    for n in (100, 5000, 40_000, 300_000):
        x = numbers(7, n)
        y = lib.rows(x, lambda e, top, total: e / total, "max", ("sum", lambda x, top: exp(x - top)), keep=True)
        assert near(y, softmax(x))


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for n in (64, 1000, 4096, 40_000):
            x, g = torch.randn(2, 33, n, device="cuda").to(dtype)
            w, b = torch.randn(2, n, device="cuda").to(dtype)
            eps = torch.finfo(dtype).eps
            wide = torch.softmax(x.double(), -1)
            assert float((lib.softmax(x).double() - wide).abs().max()) <= eps
            wide = torch.nn.functional.layer_norm(x.double(), (n,), w.double(), b.double())
            assert float((lib.layer_norm(x, w, b).double() - wide).abs().max()) <= 8 * eps * float(wide.abs().max())
            given = x.double().requires_grad_(), w.double().requires_grad_()
            torch.nn.functional.rms_norm(given[0], (n,), given[1], 1e-5).backward(g.double())
            dx, dw = lib.rms_norm_backward(g, x, w)
            assert float((dx.double() - given[0].grad).abs().max()) <= 16 * eps * float(given[0].grad.abs().max())
            assert float((dw.double() - given[1].grad).abs().max()) <= 16 * eps * float(given[1].grad.abs().max())
