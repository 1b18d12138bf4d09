"""Copies between any strides on a GPU: random shapes and strides of elements of all sizes, torch's tensors, streams.

Graphs, plans and chips that are not free: tests/gpu/test_algorithms.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lib.algorithms.copies.plan import SHIFTED, SINGLES, TILES

try:
    import cupy
except ImportError:
    cupy = None

KINDS = {1: "uint8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}


def bits(x: Any) -> Any:
    return cupy.ascontiguousarray(x).view(cupy.uint8)


def data(shape: tuple[int, ...], size: int, past: int = 0) -> Any:
    """Random bits, which begin so many elements past where memory does."""
    room = cupy.random.default_rng(0).integers(0, 256, (int(np.prod(shape)) + past) * size, dtype=cupy.uint8)
    return room[past * size :].view(KINDS[size]).reshape(shape)


@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_random_shapes_strides_and_axes(seed: int, size: int) -> None:
    rng = np.random.default_rng(100 * size + seed)
    for _ in range(40):
        ndim = int(rng.integers(1, 6))
        shape = tuple(int(k) for k in rng.integers(1, (1 << 18, 900, 100, 32, 14)[ndim - 1], ndim))
        x = data(shape, size, int(rng.integers(0, 2)))
        x = x[
            tuple(
                slice(int(rng.integers(0, 2)) if n > 1 else 0, None, int(rng.choice([1, 1, 1, 2, -1]))) for n in shape
            )
        ]
        axes = tuple(int(k) for k in rng.permutation(ndim))
        wanted = x.transpose(axes)
        assert bool((bits(lib.permute(x, axes)) == bits(wanted)).all()), (x.shape, x.strides, axes)
        room = cupy.full(tuple(n + int(rng.integers(0, 3)) for n in wanted.shape), 3, x.dtype)
        before, inside = room.copy(), tuple(slice(0, n) for n in wanted.shape)
        lib.permute(x, axes, out=room[inside])
        before[inside] = wanted
        assert bool((bits(room) == bits(before)).all()), (x.shape, x.strides, axes, room.shape)


@pytest.mark.parametrize("size", KINDS)
def test_edges_of_tiles(size: int) -> None:
    """Rows and columns around those of each kernel's tiles, aligned or not."""
    tiles = {*TILES[size], SINGLES[size]}
    if size in SHIFTED:
        tiles.add((SHIFTED[size][0], SHIFTED[size][1] * max(1, 4 // size)))
    for rows, columns in tiles:
        for height in (rows - 1, rows, rows + 1, 2 * rows + 16 // size):
            for width in (columns - 1, columns, columns + 1, 3 * columns + 16 // size):
                for past in (0, 1):
                    x = data((2, height, width), size, past)
                    assert bool((bits(lib.transpose(x)) == bits(x.swapaxes(1, 2))).all()), (x.shape, past)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1 << 16, 2), (1, 0)), ((99_999, 3), (1, 0)), ((4, 1 << 16), (1, 0)), ((5, 77_777), (1, 0)), ((20_000, 3, 3), (0, 2, 1)),
        ((3_000, 33, 17), (0, 2, 1)), ((8, 224, 225, 3), (0, 3, 1, 2)), ((64, 197, 76), (0, 2, 1)),
        ((13, 32, 32, 32), (3, 2, 1, 0)),
        ((2,) * 14, tuple(range(13, -1, -1))), ((8, 300, 12, 64), (0, 2, 1, 3)), ((1, 1, 40_000), (2, 1, 0)),
        ((70_000, 33), (1, 0)),
    ],
)  # fmt: skip
def test_thin_small_and_many(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    for size in KINDS:
        x = data(shape, size)
        out = cupy.zeros(tuple(shape[k] for k in axes), x.dtype)
        lib.permute(x, axes, out=out)
        assert bool((bits(out) == bits(x.transpose(axes))).all()), (size, shape)


def test_records_repeated_elements_and_overlaps() -> None:
    x = cupy.random.default_rng(0).integers(0, 255, (500, 300, 3), dtype=cupy.uint8)
    repeated = cupy.broadcast_to(x[:, :1], x.shape)
    assert bool((lib.permute(repeated, (2, 1, 0)) == repeated.transpose(2, 1, 0)).all())
    square = data((700, 700), 2)
    wanted = square.T.copy()
    assert lib.transpose(square, out=square) is square and bool((square == wanted).all())
    line = cupy.arange(100_000, dtype=cupy.int16)
    wanted = line[:-7].copy()
    lib.copy(line[:-7], line[7:])
    assert bool((line[7:] == wanted).all())


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")

    def raw(x: Any) -> Any:
        return torch.view_as_real(x) if x.is_complex() else x.view(torch.uint8)

    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.bool, torch.complex64, torch.float32):
        x = torch.randint(0, 2, (130, 3, 515), device="cuda").to(dtype)
        for axes in ((2, 1, 0), (1, 0, 2), (0, 2, 1)):
            y = lib.permute(x, axes)
            assert y.is_contiguous() and y.dtype == dtype
            assert torch.equal(raw(y), raw(x.permute(axes).contiguous())), (dtype, axes)
        out = torch.zeros((515, 130, 6), dtype=dtype, device="cuda")[..., ::2].permute(1, 2, 0)
        assert lib.copy(x, out) is out and torch.equal(raw(out.contiguous()), raw(x))


def test_streams() -> None:
    x = data((3000, 2000), 4)
    wanted, stream = cupy.ascontiguousarray(x.T), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    y = lib.transpose(x, stream=stream)
    stream.synchronize()
    assert bool((bits(y) == bits(wanted)).all())


def test_results_made_anew_lie_apart() -> None:
    """Small ones are made as one like them was, and copied into as `out` is: of CuPy and torch, kept and dropped."""
    torch = pytest.importorskip("torch")
    x = data((256, 192), 4)
    t = torch.randint(0, 1000, (256, 192), device="cuda").to(torch.bfloat16)
    kept = []
    for number in range(60):
        if number == 30:
            x += 1
            t += 1
        y, z = lib.transpose(x), lib.permute(t, (1, 0))
        assert bool((bits(y) == bits(x.T)).all()) and torch.equal(z, t.T), number
        assert y.flags.c_contiguous and z.is_contiguous() and lib.copy(t).data_ptr() != t.data_ptr()
        kept += [(y, z, cupy.ascontiguousarray(x.T), t.T.contiguous())] if number % 3 == 0 else []
    assert len({y.data.ptr for y, *_ in kept}) == len(kept) == len({z.data_ptr() for _, z, *_ in kept})
    assert all(bool((bits(y) == bits(v)).all()) and torch.equal(z, w) for y, z, v, w in kept)
