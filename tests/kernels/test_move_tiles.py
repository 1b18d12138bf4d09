"""Elements moved by tiles on the reference machine, with all its checks: every form, edges, rows that begin anywhere, barriers.

Kernels: kernels/transform: tiles, words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, RaceError, run
from prism.lang.tree.plan import Program
from prism.lib.algorithms.copies.plan import SHIFTED, SINGLES, TILES, tiles_for, words_for
from tests.mutation import without_barriers

KINDS = ("uint8", "uint16", "uint32", "uint64", "complex128")


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


def tiles(kind: str, vectors: bool) -> tuple[tuple[int, int], ...]:
    """The tiles that there are of a form."""
    size = np.dtype(kind).itemsize
    return TILES[size] if vectors else (SINGLES[size],)


def by_tiles(
    kind: str,
    vectors: bool,
    shape: tuple[int, int, int],
    tile: tuple[int, int],
    program: Program | None = None,
    **options: Any,
) -> None:
    """Exchange the axes of matrices, and compare; `shape`: how many, rows, columns: whole vectors, where those are moved."""
    many, rows, columns = shape
    each = np.dtype(kind).itemsize
    if vectors:
        columns, rows = (-(-extent * each // 16) * 16 // each for extent in (columns, rows))
    one, size = tiles_for(each, vectors, tile), rows * columns
    x, y = data(many * size, kind), aligned(many * size, kind)
    blocks = many * -(-rows // tile[0]) * -(-columns // tile[1])
    numbers = (0, rows, columns, columns, 1, rows, 1, 1, 1, many, 0, 0, size, 0, 0, size)
    run(program or one.program, blocks, dict(one.template)["THREADS"], [x, y, *numbers], check=True, **options)
    assert y.tobytes() == x.reshape(many, rows, columns).swapaxes(1, 2).tobytes()


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_axes_are_exchanged(kind: str, vectors: bool) -> None:
    for height, width in tiles(kind, vectors):
        for shape in ((1, 1, 1), (2, height + 3, width - 1), (1, 5, width + 1)):
            by_tiles(kind, vectors, shape, (height, width))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str) -> None:
    by_tiles("uint16", True, (1, 136, 72), (64, 64), schedule=schedule)


@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("kind", ["uint8", "uint32"])
def test_the_barrier_is_needed(kind: str, vectors: bool) -> None:
    tile = tiles(kind, vectors)[-1]
    found = list(without_barriers(tiles_for(np.dtype(kind).itemsize, vectors, tile).program))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule in SCHEDULES:
                by_tiles(kind, vectors, (1, *tile), tile, mutant, schedule=schedule, seed=0)


def test_strides_of_both_sides_and_of_three_more_axes() -> None:
    x = data(2 * 3 * 2 * 70 * 90, "uint32").reshape(2, 3, 2, 70, 90)
    y = aligned(3 * 2 * 2 * 90 * 75 * 2, "uint32").reshape(3, 2, 2, 90, 150)
    one = tiles_for(4, False, (64, 64))
    steps = [step // 4 for step in (*x.strides[:3], *(y.strides[k] for k in (1, 0, 2)))]
    numbers = (0, 70, 45, 90, 2, 150, 2, 2, 3, 2, *steps)
    run(one.program, 2 * 3 * 2 * 2, 256, [x.ravel(), y.ravel(), *numbers], check=True)
    assert np.array_equal(y[..., :90, ::2][:, :, :, :45, :70], x[..., ::2].transpose(1, 0, 2, 4, 3))
    assert (y[..., 1::2] == 0x5A5A5A5A).all()


def by_words(
    kind: str, shape: tuple[int, int, int], past: tuple[int, int], program: Program | None = None, **options: Any
) -> None:
    """The same, of rows that begin anywhere; `past`: how many elements x and y begin past a multiple of 16 bytes."""
    many, rows, columns = shape
    each = np.dtype(kind).itemsize
    one, few, size = words_for(each), max(1, 4 // each), rows * columns
    height, across = SHIFTED[each]
    x, y = data(many * size, kind, past[0]), aligned(many * size, kind, past[1])
    blocks = many * ((rows + 32 // each - 2) // height + 1) * -(-columns // (across * few))
    numbers = (0, rows, columns, columns, rows, 1, 1, many, 0, 0, size, 0, 0, size, past[0] % few, past[1], x.size)
    run(program or one.program, blocks, 256, [x, y, *numbers], check=True, **options)
    assert y.tobytes() == x.reshape(many, rows, columns).swapaxes(1, 2).tobytes()


@pytest.mark.parametrize("past", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_rows_that_begin_anywhere(kind: str, past: tuple[int, int]) -> None:
    each = np.dtype(kind).itemsize
    height, width = SHIFTED[each][0], SHIFTED[each][1] * max(1, 4 // each)
    for shape in (
        (1, 1, 1),
        (2, 3, 2),
        (1, height - 32 // each + 1, 67),
        (1, height - 1, width + 1),
        (1, height + 1, 5),
        (1, 2, width + 3),
    ):
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
    for one in (tiles_for(1, True, (256, 256)), tiles_for(4, True, (64, 64)), words_for(1), words_for(4)):
        assert prism.compile(one.kernel, dict(one.template)).spills == 0
