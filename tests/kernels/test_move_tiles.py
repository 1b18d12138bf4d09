"""Elements moved by tiles on the reference machine, with all its checks: every form, edges, rows that begin anywhere, barriers.

Kernels: kernels/transform: tiles, words.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.interpret import SCHEDULES
from prism.kernels.transform import move_pieces
from prism.lang.tree.plan import Program
from prism.lib.algorithms.copies.plan import SINGLES, TILES, kernels, tiles_for, words_for
from tests.mutation import without_barriers

KINDS = ("uint8", "uint16", "uint32", "uint64", "complex128")
FORMS = list(product((True, False), repeat=2))


def aligned(size: int, kind: str, past: int = 0) -> Any:
    """An array that begins so many elements past a multiple of 16 bytes, filled with what nothing should read."""
    each = np.dtype(kind).itemsize
    room = np.full(size * each + 64, 0x5A, np.uint8)
    start = -room.__array_interface__["data"][0] % 16 + past * each
    return room[start : start + size * each].view(kind)


def data(size: int, kind: str, past: int = 0) -> Any:
    x = aligned(size, kind, past)
    x.view(np.uint8)[:] = np.random.default_rng(size).integers(0, 256, x.nbytes)
    return x


def tiles(kind: str, load: bool, store: bool) -> tuple[tuple[int, int], ...]:
    """The tiles that there are of a form."""
    size = np.dtype(kind).itemsize
    return TILES[size] if load and store else (SINGLES[size],)


def by_tiles(
    kind: str, load: bool, store: bool, shape: tuple[int, int, int], tile: tuple[int, int], program: Program | None = None,
    **options: Any,
) -> None:  # fmt: skip
    """Exchange the axes of matrices, and compare; `shape`: how many, rows, columns. Where a side goes by vectors, they are whole."""
    many, rows, columns = shape
    each = np.dtype(kind).itemsize
    columns, rows = -(-columns * each // 16) * 16 // each if load else columns, -(-rows * each // 16) * 16 // each if store else rows
    one = tiles_for(each, load, store, tile)
    size = rows * columns
    x, y = data(many * size, kind), aligned(many * size, kind)
    height, width = tile
    blocks = many * -(-rows // height) * -(-columns // width)
    numbers = (0, rows, columns, columns, 1, rows, 1, 1, 1, many, 0, 0, size, 0, 0, size)
    run(program or one.program, blocks, 256, [x, y, *numbers], check=True, **options)
    wanted = x.reshape(many, rows, columns).swapaxes(1, 2)
    assert y.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("load", "store"), FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_axes_are_exchanged(kind: str, load: bool, store: bool) -> None:
    for height, width in tiles(kind, load, store):
        for shape in ((1, 1, 1), (2, height + 3, width - 1), (1, 5, width + 1)):
            by_tiles(kind, load, store, shape, (height, width))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str) -> None:
    by_tiles("uint16", True, True, (1, 136, 72), (64, 64), schedule=schedule)


@pytest.mark.parametrize(("load", "store"), FORMS)
@pytest.mark.parametrize("kind", ["uint8", "uint32"])
def test_the_barrier_is_needed(kind: str, load: bool, store: bool) -> None:
    tile = tiles(kind, load, store)[-1]
    found = list(without_barriers(tiles_for(np.dtype(kind).itemsize, load, store, tile).program))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule in SCHEDULES:
                by_tiles(kind, load, store, (1, *tile), tile, mutant, schedule=schedule, seed=0)


def test_strides_of_both_sides_and_of_three_more_axes() -> None:
    x = data(2 * 3 * 2 * 70 * 90, "uint32").reshape(2, 3, 2, 70, 90)
    y = aligned(3 * 2 * 2 * 90 * 75 * 2, "uint32").reshape(3, 2, 2, 90, 150)
    one = tiles_for(4, False, False, (64, 64))
    steps = [step // 4 for step in (*x.strides[:3], *(y.strides[k] for k in (1, 0, 2)))]
    numbers = (0, 70, 45, 90, 2, 150, 2, 2, 3, 2, *steps)
    run(one.program, 2 * 3 * 2 * 2, 256, [x.ravel(), y.ravel(), *numbers], check=True)
    assert np.array_equal(y[..., :90, ::2][:, :, :, :45, :70], x[..., ::2].transpose(1, 0, 2, 4, 3))
    assert (y[..., 1::2] == 0x5A5A5A5A).all()


def by_words(kind: str, shape: tuple[int, int, int], past: tuple[int, int], program: Program | None = None, **options: Any) -> None:
    """The same, by words."""
    many, rows, columns = shape
    one = words_for(np.dtype(kind).itemsize)
    few, height, size = 4 // np.dtype(kind).itemsize, dict(one.template)["ROWS"], rows * columns
    x, y = data(many * size, kind, past[0]), aligned(many * size, kind, past[1])
    blocks = many * ((rows + few - 2) // height + 1) * -(-columns // (32 * few))
    numbers = (0, rows, columns, columns, rows, 1, 1, many, 0, 0, size, 0, 0, size, *past, x.size)
    run(program or one.program, blocks, 256, [x, y, *numbers], check=True, **options)
    assert y.tobytes() == x.reshape(many, rows, columns).swapaxes(1, 2).tobytes()


@pytest.mark.parametrize("past", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("kind", ["uint8", "uint16"])
def test_rows_that_begin_anywhere(kind: str, past: tuple[int, int]) -> None:
    for shape in ((1, 1, 1), (2, 3, 2), (1, 125, 67), (1, 127, 129), (1, 129, 5), (1, 2, 131), (1, 131, 130)):
        by_words(kind, shape, past)


def test_words_under_every_schedule_and_without_the_barrier() -> None:
    for schedule in SCHEDULES:
        by_words("uint8", (1, 30, 131), (3, 2), schedule=schedule)
    for _, mutant in without_barriers(words_for(1).program):
        with pytest.raises(RaceError):
            for schedule in SCHEDULES:
                by_words("uint8", (1, 129, 67), (0, 1), mutant, schedule=schedule, seed=0)


def test_nothing_between_rows_of_the_result_is_written() -> None:
    """Words of y begin in one row and end behind it, and elements behind rows are someone else's."""
    y, x = aligned(40 * 13, "uint8", past=1), data(11 * 40, "uint8")
    run(words_for(1).program, 1, 256, [x, y, 0, 11, 40, 40, 13, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, x.size], check=True)
    rows = y.reshape(40, 13)
    assert np.array_equal(rows[:, :11], x.reshape(11, 40).T) and (rows[:, 11:] == 0x5A).all()


def test_the_kernels_for_the_device_do_not_spill() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    shipped = [one for one in kernels() if one.kernel is not move_pieces]
    for one in shipped:
        assert prism.compile(one.kernel, dict(one.template)).spills == 0
