"""Boxes of 3 to 5 dimensions on the reference machine: what they hold, what they clip, and that their stores are known apart."""

import numpy as np
import pytest

import prism
from prism.host.memory import view_of
from prism.interpret import BoundsError, MisalignedError, run
from tests.interpret.box_kernels import (
    LAYOUTS,
    heads,
    laid_out,
    one_box,
    scores,
    some_columns,
    some_rows,
    stored_at,
    together,
    wide_box,
)
from tests.mutation import TRIED, score

BATCH, HEADS, LENGTH = 2, 3, 21


def numbers(shape, order, pad=0, dtype=np.float16):
    x = laid_out(shape, order, pad, dtype)
    x[...] = np.random.default_rng(0).integers(-99, 100, shape)
    return x


@pytest.mark.parametrize("order", LAYOUTS.values(), ids=LAYOUTS)
def test_each_head_is_clipped_at_its_own_length(order):
    """The last tile of a head reads zeros, and writes nothing, beyond its length: there the next head begins, or padding."""
    shape = (BATCH, HEADS, LENGTH, 64)
    x, y = numbers(shape, order, 8), laid_out(shape, order, 16)
    template = {"P": 1, "Q": 16, "D": 64, "SPAN": 128}
    heads[BATCH * HEADS, 64](x, y, HEADS, LENGTH, template=template, check=True)
    assert np.array_equal(x, y) and np.count_nonzero(y.base) == np.count_nonzero(x)


@pytest.mark.parametrize(("columns", "span"), [(64, 128), (128, 128), (32, 64), (16, 0)])
def test_an_axis_of_1_inside_the_box(columns, span):
    """(batch, length, heads, dim): 8 positions of one head are 8 rows of the tile, of one slab or of two."""
    shape = (BATCH, LENGTH, HEADS, columns)
    x, y = numbers(shape, (0, 1, 2, 3)), np.zeros(shape, np.float16)
    template = {"P": 8, "Q": 1, "D": columns, "SPAN": span}
    heads[BATCH * HEADS, 64](x, y, HEADS, LENGTH, template=template, check=True)
    assert np.array_equal(x, y)


@pytest.mark.parametrize("group", [1, 4])
def test_rows_of_several_axes_are_the_operand_of_a_product(group):
    """Rows of q are positions and heads of a group together; beyond the length of q and k there are zeros."""
    rng = np.random.default_rng(0)
    q = rng.integers(-4, 5, (BATCH, 13, group, 64)).astype(np.float16)
    k = rng.integers(-4, 5, (BATCH, 40, 1, 64)).astype(np.float16)
    s = np.full((BATCH, 64, 40), -1, np.float32)
    scores[BATCH, 256](q, k, s, 40, template={"G": group, "N": 32, "D": 64}, check=True)
    rows = np.zeros((BATCH, 64 // group, group, 64), np.float32)
    rows[:, : min(13, 64 // group)] = q[:, : 64 // group]
    assert np.array_equal(s, rows.reshape(BATCH, 64, 64) @ k[:, :, 0].astype(np.float32).swapaxes(1, 2))


def test_five_axes_and_a_cluster():
    x = np.random.default_rng(0).integers(0, 999, (2, 3, 2, 7, 16), np.int32)
    y = np.full((4, 3, 2, 8, 16), -1, np.int32)
    together[4, 64](x, y, 3, template={"D": 16}, check=True)
    assert np.array_equal(y[::2, :, :, :7], x) and np.array_equal(y[::2], y[1::2]) and not y[:, :, :, 7].any()


def test_a_part_begins_at_a_multiple_of_128_bytes():
    """Where it is known only when the kernel runs: of rows of 64 bytes each second one will do."""
    x = np.arange(32, dtype=np.int32).reshape(2, 16)
    for first in (0, 2, 6):
        y = np.zeros_like(x)
        some_rows[1, 64](x, y, first, check=True)
        assert np.array_equal(x, y)
    with pytest.raises(MisalignedError, match="64 bytes into its tile"):
        some_rows[1, 64](x, np.zeros_like(x), 1, check=True)


def test_a_box_begins_at_a_multiple_of_16_bytes_of_its_rows():
    """Of float16 at every eighth column; the engine stops a kernel elsewhere, as at an illegal instruction (seen on an H200)."""
    x = np.arange(8 * 128, dtype=np.float16).reshape(8, 128)
    for i, j in ((0, 0), (8, 16), (-8, 8), (72, 0)):
        y = np.zeros_like(x)
        some_columns[1, 64](x, y, i, j, check=True)
        whole = np.concatenate([np.zeros((8, 8)), x, np.zeros((8, 64))], 1)
        assert np.array_equal(y[:, j : j + 64], whole[:, 8 + i : 72 + i])
    for i, j, which in ((1, 0, "load"), (4, 0, "load"), (-4, 0, "load"), (0, 12, "store")):
        with pytest.raises(
            MisalignedError, match=f"`tma_{which}`: a box begins -?[0-9]+ bytes into the rows of its map"
        ):
            some_columns[1, 64](x, np.zeros_like(x), i, j, check=True)


def before_and_behind(x, before, rows):
    """Return a map of `rows` rows that begins `before` rows before an array."""
    return view_of(x.reshape(-1), (rows, 64), x.strides, before * x.strides[0])


def far_from(x):
    """Return an array of zeros that no map reaches which begins before another array, or ends behind it: it may lie beside it."""
    tried = [np.zeros((8, 64), np.float16)]
    while abs(tried[-1].ctypes.data - x.ctypes.data) < 1 << 14:
        tried.append(np.zeros((8, 64), np.float16))
    return tried[-1]


@pytest.mark.parametrize("checked", [False, True])
def test_no_box_touches_what_is_no_memory(checked):
    """Of a map that begins before its array, or ends behind it; a box outside of the map touches where the map begins."""
    x = numbers((16, 64), (0, 1))
    early, late = before_and_behind(x, 8, 24), before_and_behind(x, 0, 40)
    call = one_box[1, 64] if not checked else lambda *given: one_box[1, 64](*given, check=True)
    for given, first in ((early, 8), (early, 16), (late, 0), (late, 8), (x, 8), (x[4:], 0)):
        y = far_from(x)
        call(given, y, first, 0)
        assert np.array_equal(y, given[first : first + 8]), first
        into = before_and_behind(y, 8, 16)
        call(given, into, first, 8)
        with pytest.raises(BoundsError, match="`tma_store`: not in memory: some of this box"):
            call(given, into, first, 4)
    for given, first, what in (
        (early, 0, "some of"), (early, 7, "some of"), (early, -3, "some of"), (late, 9, "some of"), (late, 30, "some of"),
        (early, 24, "where the map begins"), (early, -8, "where the map begins"),
    ):  # fmt: skip
        with pytest.raises(BoundsError, match=f"`tma_load`: not in memory: {what}"):
            call(given, far_from(x), first, 0)
    for given, first in ((x, 16), (x, -8), (late, 40)):  # where these begin is memory: such a box reads zeros
        y = far_from(x)
        y[...] = 7
        call(given, y, first, 0)
        assert not y.any()


@pytest.mark.parametrize(
    ("columns", "first", "outside"), [(128, 0, 0), (72, 0, 0), (64, 0, 1), (128, 64, 1), (128, -8, 0), (128, -64, 1)]
)
def test_no_piece_of_a_box_touches_what_is_no_memory(columns, first, outside):
    """A box is copied in pieces as wide as what is permuted, and each of them may lie outside of the map."""
    x = numbers((8, columns), (0, 1))
    early = view_of(x.reshape(-1), (16, columns), x.strides, 8 * x.strides[0])
    for given, row, refused in ((x, 0, False), (early, 8, outside)):
        y = np.zeros((8, 128), np.float16)
        if refused:
            with pytest.raises(BoundsError, match="`tma_load`: not in memory: where the map begins"):
                wide_box[1, 64](given, y, row, first, check=True)
            continue
        wide_box[1, 64](given, y, row, first, check=True)
        whole = np.concatenate([np.zeros((8, 64)), x, np.zeros((8, 128))], 1)
        assert np.array_equal(y, whole[:, 64 + first : 192 + first])


@pytest.mark.parametrize("checked", [False, True])
def test_no_stored_box_begins_before_its_map(checked):
    """Along any axis: there the engine stops the kernel, as at an illegal instruction (an H200); loads may begin there."""
    x = numbers((16, 96), (0, 1))
    for row, column in ((-1, 0), (0, -8), (-8, 8), (-9, 0), (0, -64)):
        with pytest.raises(
            BoundsError, match=r"`tma_store`: a box that is stored begins at \[-?\d+, -?\d+\], before its map"
        ):
            stored_at[1, 64](x, far_from(x), row, column, check=checked)
    for row, column in ((0, 0), (15, 88), (16, 0), (40, 8), (0, 96), (0, 104)):
        y, expected = np.zeros((16, 96), np.float16), np.zeros((64, 192), np.float16)
        expected[row : row + 8, column : column + 64] = x[:8, :64]
        stored_at[1, 64](x, y, row, column, check=checked)
        assert np.array_equal(y, expected[:16, :96])


def test_each_wait_of_both_is_needed():
    """Of a copy of heads, and of one that a cluster's blocks make for one another: each wait or arrival left out is found."""
    x, y = numbers((1, 2, 37, 64), (0, 1, 2, 3)), np.zeros((1, 2, 37, 64), np.float16)
    tiles = np.random.default_rng(0).integers(0, 999, (1, 3, 2, 8, 16), np.int32)

    def copied(built, **options):
        found = y.copy()
        run(built, 2, 64, [x, found, 2, 37], **options)
        return np.array_equal(found, x)

    def brought(built, **options):
        found = np.zeros((2, 3, 2, 8, 16), np.int32)
        run(built, 2, 64, [tiles, found, 3], **options)
        return np.array_equal(found, np.concatenate([tiles, tiles]))

    whole = {"P": 1, "Q": 16, "D": 64, "SPAN": 128}
    for kernel, template, right in ((heads, whole, copied), (together, {"D": 16}, brought)):
        found = score(prism.check(kernel, template), right, 64, TRIED)
        assert found.wrong and not found.survivors and not found.excused
