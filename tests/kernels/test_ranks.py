"""Elements of some rank of each row on the reference machine, with all its checks.

Tests of kernels/topk: ranks, exact, quantile, parting.
"""

import functools
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.topk import (
    COUNTS,
    EXACT,
    FACTS,
    MEAN,
    WAY,
    bracket_rows,
    count_before,
    find_ranks,
    keep_between,
    part_rows,
)
from prism.kernels.topk.exact import EXAMPLES as FINDING
from prism.kernels.topk.parting import EXAMPLES as PARTING
from prism.kernels.topk.ranks import EXAMPLES as KEEPING
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS = 64
SIZES: dict[str, dict[str, Any]] = {
    "bracket_rows": {**KEEPING["bracket_rows"], "SAMPLE": 512, "THREADS": THREADS},
    "keep_between": {
        **KEEPING["keep_between"], "PLACES": True, "WIDTH": 2, "AHEAD": 1, "STAGE": 256, "THREADS": THREADS, "BLOCKS": 1,
    },
    "find_ranks": {**FINDING["find_ranks"], "THREADS": THREADS, "PLACES": True, "R": "uint32"},
    "count_before": {**PARTING["count_before"], "THREADS": THREADS},
    "part_rows": {**PARTING["part_rows"], "THREADS": THREADS, "ITEMS": 2},
}  # fmt: skip
KERNELS = {one.__name__: one for one in (bracket_rows, keep_between, find_ranks, count_before, part_rows)}
NOTHING = np.zeros(8, np.int64)


@functools.cache
def program(name: str, options: tuple[tuple[str, Any], ...] = ()):
    return prism.check(KERNELS[name], {**SIZES[name], **dict(options)})


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def launch(name: str, given: tuple[Any, ...], mutants: dict[str, Any], blocks: int = 2, **options: Any) -> None:
    extra = options.pop("template", ())
    run(mutants.get(name) or program(name, extra), blocks, THREADS, given, check=True, **options)


def find(
    x: Any,
    rank: int,
    *,
    room: int = 0,
    parts: int = 2,
    past: int = 0,
    mutants: Any = None,
    levels: int = 1,
    **options: Any,
) -> tuple[Any, Any, Any]:
    """Find the element of a rank in each row, by bounds, and in what was kept once more; say how many were kept."""
    mutants, (rows, n) = mutants or {}, x.shape
    held = np.zeros(x.size + past, np.uint32)
    held[past:] = x.view(np.uint32).ravel()
    room = room or n
    lie, source, names = (rows, 1, n, 1, 0), held[past:], np.zeros(1, np.uint32)
    known = counted = NOTHING
    first_counts = NOTHING
    for level in range(levels):
        facts, counts = np.zeros(rows * FACTS, np.int64), np.full(rows * COUNTS, 7)
        bounds, kept, places = (
            np.zeros(2 * rows, np.uint32),
            np.zeros(rows * room, np.uint32),
            np.zeros(rows * room, np.uint32),
        )
        kind = () if level == 0 else (("FIRST", False), ("INFINITY", 0), ("KIND", 0), ("NAMED", True), ("V", "uint32"))
        size = n if level == 0 else room
        given = (
            source,
            names,
            known,
            counted,
            facts,
            counts,
            bounds,
            NOTHING,
            size,
            rank,
            rank,
            0.0,
            0.0,
            0.0,
            0,
            *lie,
            1,
            1,
        )
        launch("bracket_rows", given, mutants, template=tuple(one for one in kind if one[0] != "V"), **options)
        given = (
            source,
            names,
            bounds,
            facts,
            counts,
            kept,
            places,
            room,
            rows,
            parts,
            *lie[1:],
            past if level == 0 else 0,
        )
        launch("keep_between", given, mutants, template=tuple(one for one in kind if one[0] != "FIRST"), **options)
        first_counts = counts if level == 0 else first_counts
        known, counted, source, names, lie = facts, counts, kept, places, (rows, 1, room, 1, 0)
    y, indices = np.zeros(rows, np.uint32), np.zeros(rows, np.int64)
    given = (
        held[past:], source, names, known, counted, first_counts, NOTHING, y, indices, n, rank, rank, 0.0, 0.0, 0.0, 0.0, 0, room,
        rows, 1, n, 1, 0, 1, 1, 0,
    )  # fmt: skip
    launch("find_ranks", given, mutants, **options)
    places = np.argsort(x, axis=1, kind="stable")[:, rank]
    assert np.array_equal(indices, places)
    assert np.array_equal(y.view(np.float32), np.take_along_axis(x, places[:, None], 1)[:, 0])
    return counted.reshape(rows, COUNTS), y, indices


@pytest.mark.parametrize("n", rarely([513, 2000, 5001], but=[2000]))
def test_ranks(n: int) -> None:
    x = numbers(2, n, seed=n)
    for rank in (0, n // 3, n - 1):
        find(x, rank, past=n % 4)
    find(np.floor(4 * x), n // 2)
    find(np.zeros_like(x), n // 2)
    find(x, n // 2, levels=2)


def test_few_elements_stand_between_the_bounds() -> None:
    """Of all data: equal elements are told apart by their places."""
    n = 20_000
    for x in (numbers(1, n), np.zeros((1, n), np.float32), np.arange(n, dtype=np.float32)[None]):
        counted, _, _ = find(x, n // 2)
        assert 0 < counted[0, 1] < n // 2


def test_bounds_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is not enough room, or the element is not between the bounds: then the row itself is looked at."""
    x = numbers(2, 3000)
    find(x, 1500, room=40)
    find(x, 1500, room=40, levels=2)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_every_schedule(schedule: str, seed: int) -> None:
    find(numbers(2, 900), 300, schedule=schedule, seed=seed)


@pytest.mark.parametrize("name", ["bracket_rows", "keep_between", "find_ranks"])
def test_each_inferred_barrier_is_needed(name: str) -> None:
    found = list(without_barriers(program(name)))
    assert found
    data = (numbers(2, 1400), np.floor(numbers(2, 1400) / 2))
    missed = []
    for where, mutant in found:
        if "kernels/topk" not in where.before.span.file:  # those of collectives are tested by themselves
            continue
        try:
            for x in data:
                for schedule, seed in SCHEDULES:
                    find(x, 1000, mutants={name: mutant}, schedule=schedule, seed=seed)
        except (RaceError, AssertionError):
            continue
        missed.append(where)
    assert not missed


def between(x: Any, low: int, high: int, weight: float, how: int, **options: Any) -> float:
    """What is computed of two elements of a row that is read again and again."""
    y = np.zeros(1, np.float32)
    template = (("HOW", how), ("LISTED", False), ("PLACES", False), ("R", "float32"))
    nothing = np.zeros(1, np.uint32)
    given = (
        x.view(np.uint32), nothing, nothing, NOTHING, NOTHING, NOTHING, NOTHING, y, NOTHING.copy(), x.size, low, high, weight,
        0.0,
        0.0, 0.0, 0, 1, 1, 1, x.size, 1, 0, 1, 1, 0,
    )  # fmt: skip
    launch("find_ranks", given, {}, template=template, **options)
    return float(y[0])


def test_what_is_made_of_two_elements() -> None:
    x = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.float32)
    assert between(x, 3, 3, 0, EXACT) == 2
    assert between(x, 3, 4, 0, MEAN) == 2.5
    assert between(x, 3, 4, 0.25, WAY) == 2.25 and between(x, 6, 7, 0.75, WAY) == 8.25
    x[2] = np.nan
    for how in (EXACT, WAY, MEAN):
        assert np.isnan(between(x, 0, 1, 0.5, how))


def test_rows_are_parted() -> None:
    for n, kth, parts in ((1, 0, 1), (100, 37, 1), (1000, 0, 3), (1000, 999, 2), (777, 400, 5)):
        x = np.floor(numbers(2, n, seed=n) * 3)
        order = np.argsort(x, axis=1, kind="stable")
        places = order[:, kth].copy()
        cuts = np.take_along_axis(x, places[:, None], 1)[:, 0].copy()
        counts = np.zeros(2 * parts, np.int64)
        lie = (2, parts, 1, n, 1, 0, 1, 1)
        given = (x.view(np.uint32).ravel(), cuts.view(np.uint32), places)
        launch("count_before", (*given, counts, n, *lie), {})
        y = np.zeros(2 * n, np.float32)
        launch("part_rows", (*given, counts, y.view(np.uint32), NOTHING.copy(), n, kth, *lie, 1), {})
        found = y.reshape(2, n)
        for row in range(2):
            before = np.isin(np.arange(n), order[row, :kth])
            behind = np.isin(np.arange(n), order[row, kth + 1 :])
            assert np.array_equal(found[row], [*x[row][before], cuts[row], *x[row][behind]])
        y, indices = np.zeros(2 * (kth + 1), np.float32), np.zeros(2 * (kth + 1), np.int64)
        launch(
            "part_rows", (*given, counts, y.view(np.uint32), indices, n, kth, *lie, 1), {}, template=(("FRONT", True),)
        )
        for row in range(2):
            where = [*np.sort(order[row, :kth]), order[row, kth]]
            assert np.array_equal(indices.reshape(2, -1)[row], where)
            assert np.array_equal(y.reshape(2, -1)[row], x[row, where])


@pytest.mark.parametrize("name", ["count_before", "part_rows"])
def test_each_inferred_barrier_of_a_parting_is_needed(name: str) -> None:
    """Also between parts that have no elements."""
    found = list(without_barriers(program(name)))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                for n, parts in ((1500, 3), (2, 6)):
                    part_one(n, parts, {name: mutant}, schedule=schedule, seed=seed)


def part_one(n: int, parts: int, mutants: Any, **options: Any) -> None:
    x, kth = numbers(1, n), n // 2
    places = np.argsort(x, axis=1)[:, kth].copy()
    given = (x.view(np.uint32).ravel(), x[0, places].view(np.uint32), places)
    counts, y, lie = np.zeros(parts, np.int64), np.zeros(n, np.float32), (1, parts, 1, n, 1, 0, 1, 1)
    launch("count_before", (*given, counts, n, *lie), mutants, blocks=1, **options)
    assert counts.sum() == kth
    launch(
        "part_rows", (*given, counts, y.view(np.uint32), NOTHING.copy(), n, kth, *lie, 1), mutants, blocks=1, **options
    )
    assert y[kth] == x[0, places[0]] and np.array_equal(np.sort(y), np.sort(x[0]))


SPILLS = {"bracket_rows": 32, "keep_between": 0, "find_ranks": 0, "count_before": 0, "part_rows": 0}
"""Bytes: of bounds, where a row begins."""


@pytest.mark.parametrize("name", SPILLS)
def test_the_kernels_for_the_device_do_not_spill(name: str) -> None:
    given = {**KEEPING, **FINDING, **PARTING}[name]
    assert prism.compile(KERNELS[name], given).spills <= SPILLS[name]
