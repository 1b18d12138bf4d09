"""Merges and sorts of tiles on the reference machine, with all its checks; each barrier is needed. Kernels: kernels/merge.

Tests of kernels/merge: rows, runs, tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels import merge as kernels
from prism.lib.thread import operators
from tests.lib.block.test_sort import tens
from tests.mutation import without_barriers

THREADS, ITEMS = 64, 8
TILE = THREADS * ITEMS
SPILLS = {
    ("sort_tiles", 4, False): 80
}  # as launched: without a bound of registers one block less is on a multiprocessor


def tiles_of(n: int, width: int, ways: int) -> int:
    """How many tiles runs of `width` elements have when so many of them are merged at a time; 0: two arrays."""
    tile = TILE - (ITEMS if ways == 4 else 0)
    if not width:
        return -(-n // tile)
    groups, rest = divmod(n, ways * width)
    return groups * -(-ways * width // tile) + -(-rest // tile)


def merged(
    a: Any, b: Any, width: int, less: Any = operators.less, *, ways: int = 2, numbered: bool = True, program: Any = None,
    **options: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Merge by both kernels; return elements, and values: their numbers, those of `b` from where `a` ends."""
    n = a.size if width else a.size + b.size
    tiles, y, z = tiles_of(n, width, ways), np.zeros(n, a.dtype), np.zeros(n, np.int32)
    cuts, names = np.zeros((ways - 1) * tiles, np.int64), np.arange(n, dtype=np.int32)
    options = {"check": True, **options}
    template = {"T": a.dtype, "LESS": less, "TILE": TILE - (ITEMS if ways == 4 else 0), "THREADS": 32}
    middle = 0 if width else a.size
    if ways == 4:
        kernels.cut_four_runs[-(-tiles // 32), 32](a, cuts, width, n, tiles, template=template, **options)
    else:
        kernels.cut_runs[-(-tiles // 32), 32](a, b, cuts, width, n, middle, tiles, template=template, **options)
    template = template_of(a, less, numbered) | {"N": "int32", "WAYS": ways}
    beside = (names, names) if width else (names[: a.size].copy(), names[a.size :].copy())
    given = (a, b, y, *beside, z, cuts, width, n, middle, tiles, a.dtype.type(0))
    run(program or prism.check(kernels.merge_tiles, template), tiles, THREADS, given, **options)
    return y, z


def template_of(x: Any, less: Any, numbered: bool) -> dict[str, Any]:
    """Return what the kernels of merges and of tiles have in common."""
    return {
        "T": x.dtype, "V": "int32", "LESS": less, "VALUES": numbered, "TOTAL": not numbered, "ITEMS": ITEMS, "THREADS": THREADS,
        "BLOCKS": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 0), (TILE, TILE), (TILE - 1, 1), (TILE + 5, 7), (7, TILE + 5)])
def test_two_arrays(one: int, other: int) -> None:
    random = np.random.default_rng(0)
    runs = [random.integers(0, 300, n, dtype=np.int32) for n in (one, other)]
    a, b = (each[np.argsort(each // 10, kind="stable")] for each in runs)
    both = np.concatenate([a, b])
    order = np.argsort(both // 10, kind="stable")
    y, z = merged(a, b, 0, tens)
    assert np.array_equal(y, both[order]) and np.array_equal(z, order)


@pytest.mark.parametrize("ways", [2, 4])
@pytest.mark.parametrize("width", [1, 5, TILE // 2, TILE, TILE + 1])
@pytest.mark.parametrize("n", [1, TILE, 4 * TILE + 3])
def test_runs_side_by_side(width: int, n: int, ways: int) -> None:
    """With numbers, by an order of which many are equal; and of integers alone."""
    n = min(n, 40 * width)  # a tile has at least a pair of runs
    random = np.random.default_rng(0)
    x = random.integers(0, 400, n, dtype=np.int32)
    alone = random.integers(0, 40, n).astype(np.uint32)
    for k in range(0, n, width):
        x[k : k + width] = x[k : k + width][np.argsort(x[k : k + width] // 10, kind="stable")]
        alone[k : k + width].sort()
    y, z = merged(x, x, width, tens, ways=ways)
    found, _ = merged(alone, alone, width, ways=ways, numbered=False)
    for k in range(0, n, ways * width):
        group = slice(k, k + ways * width)
        order = np.argsort(x[group] // 10, kind="stable")
        assert np.array_equal(y[group], x[group][order]) and np.array_equal(z[group], k + order)
        assert np.array_equal(found[group], np.sort(alone[group]))


def test_four_runs_of_extreme_data() -> None:
    """Equal elements, runs one behind the other, and one that is shorter than the others would be."""
    width = 700
    for x in (
        np.zeros(4 * width, np.int32), np.arange(4 * width, dtype=np.int32),
        np.arange(4 * width, dtype=np.int32).reshape(4, width)[::-1].ravel(), np.arange(width - 1, dtype=np.int32),
    ):  # fmt: skip
        y, z = merged(x, x, width, ways=4)
        order = np.argsort(x, kind="stable")
        assert np.array_equal(y, x[order]) and np.array_equal(z, order)


@pytest.mark.parametrize("n", [1, TILE - 1, TILE, 2 * TILE + 1])
def test_tiles_are_sorted(n: int) -> None:
    """Stable; what fills up the last tile is behind all of it, also where elements of it are as large."""
    x = np.random.default_rng(0).integers(0, 100, n, dtype=np.int32)
    for numbered in (False, True):
        less = tens if numbered else operators.less
        y, z = np.zeros_like(x), np.zeros(n, np.int32)
        given = (x, y, np.arange(n, dtype=np.int32), z, n)
        kernels.sort_tiles[-(-n // TILE), THREADS](*given, template=template_of(x, less, numbered), check=True)
        for k in range(0, n, TILE):
            part = x[k : k + TILE]
            order = np.argsort(part // 10 if numbered else part, kind="stable")
            assert np.array_equal(y[k : k + TILE], part[order])
            assert not numbered or np.array_equal(z[k : k + TILE], k + order)


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("size", [4, 8, 16])
def test_no_spills(size: int, numbered: bool) -> None:
    if size == 16 and not numbered:
        return
    found = kernels.configurations(size, total=not numbered, host=False)
    scalar = {4: "uint32", 8: "uint64", 16: "complex128"}[size]
    less = kernels.complex_less if size == 16 else operators.less
    for kernel, c, more in (
        (kernels.merge_tiles, found.two, {"WAYS": 2, "N": "int32"}), (kernels.merge_tiles, found.four, {"WAYS": 4, "N": "int32"}),
        (kernels.sort_tiles, found.tiles, {}),
    ):  # fmt: skip
        template = {
            "T": scalar, "V": "int32", "LESS": less, "VALUES": False, "TOTAL": not numbered, "ITEMS": c.items,
            "THREADS": c.threads, "BLOCKS": c.blocks, **more,
        }  # fmt: skip
        assert prism.compile(kernel, template).spills <= SPILLS.get((kernel.__name__, size, numbered), 0)


def test_each_inferred_barrier_is_needed() -> None:
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(0, 300, n, dtype=np.int32)) for n in (700, 200))
    wanted = np.sort(np.concatenate([a, b]))
    template = template_of(a, operators.less, True) | {"N": "int32", "WAYS": 2}
    found = list(without_barriers(prism.check(kernels.merge_tiles, template)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                assert np.array_equal(merged(a, b, 0, program=mutant, schedule=schedule)[0], wanted)
