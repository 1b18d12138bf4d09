"""Copies of arrays on the reference machine, with all its checks, of memory and of views. Kernels: kernels/transform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret.schedules import SCHEDULES
from prism.kernels.transform import copy, copy_where, scatter, transpose
from prism.lib import lazy
from prism.lib.algorithms.transform.transposes import FLAT, NARROW, SQUARE, kernel_for

THREADS, ITEMS, WIDTH = 32, 8, 4
TILE = THREADS * ITEMS
SIZES = (1, 3, 4, TILE - 1, TILE, TILE + 1, 3 * TILE + 5)


def copy_all(x: Any, y: Any, n: int, skew: int = 0, aligned: bool = True, **options: Any) -> None:
    sizes = {"TI": x.dtype, "TO": y.dtype, "THREADS": THREADS, "ITEMS": ITEMS, "WIDTH": WIDTH}
    copy[-(-n // TILE), THREADS](x, y, n, skew, aligned, y.dtype.type(0), template=sizes, check=True, **options)


def aligned(size: int, shift: int = 0, kind: str = "float32") -> Any:
    room = np.zeros(size + 32, kind)
    start = (-room.__array_interface__["data"][0] % 16) // room.itemsize + shift
    return room[start : start + size]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("skew", [0, 1, 3, -1])
def test_every_element_is_written_once(n: int, skew: int) -> None:
    x, y = aligned(n, max(skew, 0)), aligned(n)
    x[:] = np.arange(n)
    copy_all(x, y, n, skew)
    assert np.array_equal(x, y)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_and_another_type(schedule: str) -> None:
    x, y = aligned(3 * TILE + 5), np.zeros(3 * TILE + 5)
    x[:] = np.arange(x.size)
    copy_all(x, y, x.size, aligned=False, schedule=schedule)
    assert np.array_equal(x, y)


@pytest.mark.parametrize("n", SIZES)
def test_views_are_read_within_their_bounds(n: int) -> None:
    """By vectors of their leaves, by elements of what is not aligned, and in another order."""
    x, odd, y = aligned(n), aligned(n, 1), aligned(n)
    x[:], odd[:] = np.arange(n), np.arange(n) % 5
    for view, wanted in (
        (lazy.of(x) * x, x * x),
        (lazy.of(x) + odd, x + odd),
        (lazy.flip(x), x[::-1]),
        (lazy.cast(lazy.arange(n), "float32"), x),
        (lazy.map(lambda a, b: a + b, lazy.cast(x.astype(np.int8), "float32"), x), x.astype(np.int8) + x),
    ):
        copy_all(view, y, n)
        assert np.array_equal(y, wanted)


@pytest.mark.parametrize("n", SIZES)
def test_where_leaves_the_others_and_reads_nothing_there(n: int) -> None:
    sizes = {"TI": "float32", "TO": "float32", "THREADS": THREADS, "ITEMS": ITEMS}
    x, y, where = np.arange(n, dtype=np.float32), np.full(n, -1, np.float32), (np.arange(n) % 3 == 1).astype(np.uint8)
    copy_where[-(-n // TILE), THREADS](x, where, y, n, template=sizes, check=True)
    assert np.array_equal(y, np.where(where, x, np.float32(-1)))
    places = np.where(where, np.arange(n), 10**6)  # out of bounds where it is not asked for
    copy_where[-(-n // TILE), THREADS](lazy.take(x, lazy.of(places)), where, y, n, template=sizes, check=True)
    assert np.array_equal(y, np.where(where, x, np.float32(-1)))


@pytest.mark.parametrize("form", [NARROW, SQUARE, FLAT])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 63, 65), (3, 64, 1), (1, 2, 129), (2, 7, 513), (1, 513, 9)])
@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64", "complex128"])
def test_axes_are_exchanged(shape: tuple[int, int, int], kind: str, form: str) -> None:
    many, rows, columns = shape
    x, sizes = np.arange(many * rows * columns).astype(kind), dict(kernel_for(np.dtype(kind).itemsize, form).template)
    y, blocks = np.zeros_like(x), many * -(-rows // sizes["ROWS"]) * -(-columns // sizes["COLUMNS"])
    transpose[blocks, 256](x, y, rows, columns, template=sizes, check=True)
    assert np.array_equal(y.reshape(many, columns, rows), x.reshape(shape).swapaxes(1, 2))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_axes_are_exchanged_in_every_schedule(schedule: str) -> None:
    x, y = np.arange(33 * 40, dtype=np.float64), np.zeros(40 * 33)
    sizes = {"T": "float64", "ROWS": 32, "COLUMNS": 32, "PITCH": 33}
    transpose[4, 256](x, y, 33, 40, template=sizes, check=True, schedule=schedule)
    assert np.array_equal(y.reshape(40, 33), x.reshape(33, 40).T)


def test_copies_have_no_barrier() -> None:
    for kernel, template in (
        (copy, {"TI": "int8", "TO": "int8", "THREADS": 256, "ITEMS": 64, "WIDTH": 16}),
        (copy_where, {"TI": "int8", "TO": "int8", "THREADS": 256, "ITEMS": 8}),
    ):
        assert "__sync" not in prism.compile(kernel, template).cuda


@pytest.mark.parametrize("n", [1, THREADS, THREADS + 1])
def test_scattered_elements_and_no_others(n: int) -> None:
    places, kept = np.random.default_rng(n).permutation(2 * n)[:n], np.array([n - 1])
    for counted in (False, True):
        y, wanted = np.full(2 * n, -1, np.float32), np.full(2 * n, -1, np.float32)
        many = n - counted
        wanted[places[:many]] = np.arange(many)
        sizes = {"TI": "float64", "TO": "float32", "COUNTED": counted, "THREADS": THREADS}
        scatter[-(-n // THREADS), THREADS](np.arange(float(n)), places, kept, y, n, template=sizes, check=True)
        assert np.array_equal(y, wanted)
