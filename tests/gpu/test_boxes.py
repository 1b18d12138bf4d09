"""Boxes of 3 to 5 dimensions on the GPU: arrays of (batch, heads, length, dim) in any order, clipped at each head's length."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interpret.box_kernels import LAYOUTS, heads, laid_out, scores, stored_at, together

cupy = pytest.importorskip("cupy")

BATCH, HEADS, LENGTH = 3, 5, 77


def on_gpu(x):
    """Return a copy of a view on the GPU, of the same strides, and all the memory that it is a part of."""
    room = cupy.asarray(x.base)
    return cupy.ndarray(x.shape, x.dtype, room.data, x.strides), room


@pytest.mark.parametrize("columns", [64, 128])
@pytest.mark.parametrize("order", LAYOUTS.values(), ids=LAYOUTS)
def test_each_head_is_clipped_at_its_own_length(order, columns):
    shape = (BATCH, HEADS, LENGTH, columns)
    x, y = laid_out(shape, order, 8), laid_out(shape, order, 16)
    x[...] = np.random.default_rng(0).integers(1, 999, shape)
    (given, _), (found, room) = on_gpu(x), on_gpu(y)
    heads[BATCH * HEADS, 64](given, found, HEADS, LENGTH, template={"P": 1, "Q": 64, "D": columns, "SPAN": 128})
    assert np.array_equal(found.get(), x) and int(cupy.count_nonzero(room)) == x.size


@pytest.mark.parametrize(("columns", "span"), [(64, 128), (192, 128), (32, 64), (16, 0)])
def test_an_axis_of_1_inside_the_box(columns, span):
    shape = (BATCH, LENGTH, HEADS, columns)
    x, y = cupy.random.default_rng(0).random(shape, np.float32).astype(np.float16), cupy.zeros(shape, np.float16)
    heads[BATCH * HEADS, 64](x, y, HEADS, LENGTH, template={"P": 16, "Q": 1, "D": columns, "SPAN": span})
    assert (x == y).all()


@pytest.mark.parametrize("group", [1, 4, 8])
def test_rows_of_several_axes_are_the_operand_of_a_product(group):
    rng = np.random.default_rng(0)
    q = rng.integers(-4, 5, (BATCH, 13, group, 128)).astype(np.float16)
    k = rng.integers(-4, 5, (BATCH, 77, 1, 128)).astype(np.float16)
    s = cupy.full((BATCH, 64, 77), -1, np.float32)
    scores[BATCH, 256](cupy.asarray(q), cupy.asarray(k), s, 77, template={"G": group, "N": 64, "D": 128})
    rows = np.zeros((BATCH, 64 // group, group, 128), np.float32)
    rows[:, : min(13, 64 // group)] = q[:, : 64 // group]
    assert np.array_equal(s.get(), rows.reshape(BATCH, 64, 128) @ k[:, :, 0].astype(np.float32).swapaxes(1, 2))


def test_five_axes_and_a_cluster():
    x = np.random.default_rng(0).integers(0, 999, (40, 30, 2, 7, 16), np.int32)
    y = cupy.full((80, 30, 2, 8, 16), -1, np.int32)
    together[80, 64](cupy.asarray(x), y, 30, template={"D": 16})
    found = y.get()
    assert (
        np.array_equal(found[::2, :, :, :7], x)
        and np.array_equal(found[::2], found[1::2])
        and not found[:, :, :, 7].any()
    )


def test_keys_that_several_heads_have_in_common():
    """An axis that is broadcast, and windows that overlap: both are only read."""
    x = cupy.random.default_rng(0).random((BATCH, 1, LENGTH, 64), np.float32).astype(np.float16)
    y = cupy.zeros((BATCH, HEADS, LENGTH, 64), np.float16)
    template = {"P": 1, "Q": 64, "D": 64, "SPAN": 128}
    heads[BATCH * HEADS, 64](cupy.broadcast_to(x, y.shape), y, HEADS, LENGTH, template=template)
    assert (y == x).all()
    windows = cupy.lib.stride_tricks.as_strided(x, (1, HEADS, LENGTH - HEADS, 64), (0, 128, 128, 2))
    y = cupy.zeros(windows.shape, np.float16)
    heads[HEADS, 64](windows, y, HEADS, LENGTH - HEADS, template=template)
    assert (y == windows).all()


def test_torchs_views():
    """A transpose of (batch, length, heads, dim), and one tensor of q, k and v of which k is read."""
    torch = pytest.importorskip("torch")
    packed = torch.randn(BATCH, LENGTH, 3, HEADS, 64, device="cuda", dtype=torch.float16)
    x, y = packed[:, :, 1].transpose(1, 2), torch.zeros(BATCH, HEADS, LENGTH, 64, device="cuda", dtype=torch.float16)
    heads[BATCH * HEADS, 64](x, y, HEADS, LENGTH, template={"P": 1, "Q": 64, "D": 64, "SPAN": 128})
    assert torch.equal(x, y)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (15, 88), (16, 0), (40, 8), (0, 96), (0, 104)])
def test_a_stored_box_is_clipped_at_its_maps_end(row, column):
    x = cupy.random.default_rng(0).random((16, 96), np.float32).astype(np.float16)
    y, expected = cupy.zeros((16, 96), np.float16), np.zeros((64, 192), np.float16)
    expected[row : row + 8, column : column + 64] = x.get()[:8, :64]
    stored_at[1, 64](x, y, row, column)
    assert np.array_equal(y.get(), expected[:16, :96])
