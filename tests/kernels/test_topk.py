"""The first elements of rows on the reference machine, with all its checks.

Tests of kernels/topk: keys, rows, choosing, merging, configurations.
"""

import functools
import linecache
from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.interpret import RaceError, run
from prism.kernels.topk import FLOAT, SIGNED, UNSIGNED, Narrow, Wide, merge_rows, top_rows
from prism.kernels.topk.merging import EXAMPLES as MERGES
from prism.kernels.topk.rows import EXAMPLES as ROWS
from prism.lang.types.structs import struct_of
from prism.lib.algorithms.topk.plan import _ENTRY, Task, configuration, template_of
from tests.lib.oracles import SCHEDULES, top_of
from tests.mutation import without_barriers
from tests.rarely import rarely

SMALL = {**ROWS["top_rows"], "LARGEST": False, "ROOM": 128, "KEPT": 1, "AHEAD": 2, "THREADS": 64, "BLOCKS": 1}


class Hopper:
    """A GPU, as plans ask for one."""

    wave: Any = None
    host, arch, multiprocessors = False, "sm_90a", 132


TYPES = {
    "float32": {},
    "int8": {"B": "uint8", "V": "int8", "KIND": SIGNED, "INFINITY": 0, "WIDTH": 16, "AHEAD": 1},
    "uint16": {"B": "uint16", "V": "uint16", "KIND": UNSIGNED, "INFINITY": 0, "WIDTH": 8, "AHEAD": 1},
    "float64": {"B": "uint64", "U": "uint64", "V": "float64", "E": Wide, "INFINITY": 0x7FF0000000000000, "WIDTH": 2},
}


@functools.cache
def program(kind: str, options: tuple[tuple[str, Any], ...] = ()):
    return prism.check(top_rows, {**SMALL, **TYPES[kind], **dict(options)})


def check(
    kind: str, x: Any, k: int, rank: int, *, parts: int = 1, mutant: Any = None, past: int = 0, turned=False,
    failed: Any = None, sample: int = 1, run_options: Any = (), **options: Any,
) -> None:  # fmt: skip
    """Find the first elements of the parts of rows, and compare with a stable sort; what is behind them stays."""
    rows, n = x.shape
    template = {**SMALL, **TYPES[kind], **options, "CHECKED": failed is not None}
    size = x.dtype.itemsize
    room = np.zeros(x.size + past, x.dtype)
    held = room[past:]
    held[:] = x.T.ravel() if turned else x.ravel()
    y, indices = np.full((rows * parts, k), 77, f"uint{8 * size}"), np.full((rows * parts, k), -1)
    lie = (n, k, rows, parts, 1, 1, rows, 0, 1, 1, 1) if turned else (n, k, rows, parts, 1, n, 1, 0, 1, 1, 1)
    options["CHECKED"] = failed is not None
    code = mutant or program(kind, tuple(sorted(options.items(), key=str)))
    nothing = np.zeros(1, np.int64)
    given = (held.view(y.dtype), nothing, nothing if failed is None else failed, y.reshape(-1), indices.reshape(-1))
    arguments = (*given, *lie, sample, rank, past)
    for begin, blocks in ((0, min(2, rows * parts)), (2, rows * parts - 2)):  # in two launches
        if blocks > 0:
            run(code, blocks, template["THREADS"], (*arguments, begin), check=True, **dict(run_options))
    for row in range(rows):
        for part in range(parts):
            first, end = n * part // parts, n * (part + 1) // parts
            values, places = top_of(x[row, first:end], k, largest=template["LARGEST"])
            there = len(places) if failed is None or failed[row] else 0
            number = row * parts + part
            assert np.array_equal(indices[number, :there], places[:there] + first), (kind, n, k, rank, parts)
            assert y[number, :there].tobytes() == values[:there].tobytes()
            assert (y[number, there:] == 77).all() and (indices[number, there:] == -1).all()


def numbers(kind: str, *shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 20).astype(kind)


@pytest.mark.parametrize("kind", rarely(TYPES, but=["uint16"]))
def test_rows(kind: str) -> None:
    for groups in (0, 1, 2):
        check(kind, numbers(kind, 2, 300), 17, 0, DIRECT=True, GROUPS=groups)
    for rank in (0, 12, 63):  # too few come before the bound, enough do, and too many
        check(kind, numbers(kind, 2, 777), 17, rank)
    check(kind, numbers(kind, 2, 777), 5, 9, LARGEST=True, parts=3, sample=3)


def test_sizes() -> None:
    for n in (1, 2, 63, 64, 65, 127, 128):
        check("float32", numbers("float32", 1, n), min(n, 64), 0, DIRECT=True)
    for n in (129, 511, 512, 513, 1031):
        for k in (1, 63, 64):
            check("float32", numbers("float32", 1, n, seed=n), k, 12)


def test_where_rows_lie() -> None:
    x = numbers("float32", 3, 500)
    for past in range(4):
        check("float32", x, 9, 10, past=past)
    for direct in (True, False):
        check("float32", x, 9, 10, turned=True, WIDTH=1, AHEAD=1, DIRECT=direct)
    check("float32", x, 9, 10, failed=np.array([0, 1, 0]))


def test_data() -> None:
    """As many equal ones at the bound as there can be, NaN, and more than are put in order by comparing each with all."""
    for x in (np.zeros((1, 900)), np.arange(900.0)[None], -np.arange(900.0)[None], np.full((1, 900), np.nan)):
        for rank in (0, 9, 40):
            check("float32", x.astype(np.float32), 40, rank)
        check("float32", x.astype(np.float32), 20, 0, DIRECT=True)
    for kind in ("float32", "float64"):
        check(kind, numbers(kind, 1, 900), 190, 20, ROOM=512, KEPT=4)
        check(kind, numbers(kind, 1, 900), 190, 0, ROOM=512, KEPT=4, DIRECT=True, GROUPS=4)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_every_schedule(schedule: str, seed: int) -> None:
    check("float32", numbers("float32", 2, 400), 7, 5, run_options=(("schedule", schedule), ("seed", seed)))


_FEW = np.floor(numbers("float32", 1, 1000) / 10)
_GROUPED = np.where(np.arange(1000) % 256 < 144, 0, 1 + numbers("float32", 1, 1000) ** 2).astype(np.float32)
_RISING = np.arange(1000, dtype=np.float32)[None]
HARD: dict[bool, tuple[tuple[Any, ...], ...]] = {
    True: tuple((numbers("float32", 1, 1000), k, 0) for k in (7, 150, 190)) + ((_FEW, 150, 0), (_GROUPED, 150, 0)),
    False: (
        *((numbers("float32", 1, 1000), k, rank) for k, rank in ((7, 3), (60, 9), (190, 20), (60, 0), (60, 60))),
        (_FEW, 60, 9), (_FEW, 60, 0),
    ),
}  # fmt: skip
"""Rows of which more elements are up to the bound than are wanted, also many equal ones, and too few or too many."""


def mutants_missed(options: dict[str, Any], calls: Any) -> list[Any]:
    """Return the kernels' own barriers without which all calls go well, on all schedules; collectives are tested by themselves.

    A trip of `keep_first` writes no further than it has read, and the next one reads behind that: the barrier between them is
    not needed, and that can't be seen.
    """
    missed = []
    for where, mutant in without_barriers(program("float32", tuple(sorted(options.items(), key=str)))):
        span = where.before.span
        if "kernels/topk" not in span.file or "flags: uint32" in linecache.getline(span.file, span.line - 1):
            continue
        try:
            for x, k, rank in calls:
                for schedule, seed in SCHEDULES:
                    how = (("schedule", schedule), ("seed", seed))
                    check("float32", x, k, rank, mutant=mutant, run_options=how, **options)
        except (RaceError, AssertionError):
            continue
        missed.append(where)
    return missed


@pytest.mark.parametrize("direct", rarely([True, False], but=[True]))
def test_each_inferred_barrier_is_needed(direct: bool) -> None:
    options = {"DIRECT": direct, "ROOM": 512, "GROUPS": 4 if direct else 1, "KEPT": 4, "CHECKED": False}
    missed = {str(one.before.span) for one in mutants_missed(options, HARD[direct])}
    if direct:  # more than a few are up to the bound of a few, where a block puts no more in order
        missed &= {str(one.before.span) for one in mutants_missed({**options, "KEPT": 1}, ((_RISING, 40, 0),))}
    assert not missed


def merge(x: Any, k: int, parts: int, mutant: Any = None, **options: Any) -> None:
    """Merge the sorted parts of rows in pairs, until there is one."""
    rows, n = x.shape
    code = mutant or prism.check(merge_rows, {**MERGES["merge_rows"], "LARGEST": False, "ITEMS": 2, "THREADS": 64})
    slots, span, runs = min(-(-n // parts), k), 1, parts
    values, places = np.full((rows, parts, slots), 99, np.float32), np.full((rows, parts, slots), -1)
    for row in range(rows):
        for part in range(parts):
            first, end = n * part // parts, n * (part + 1) // parts
            found = top_of(x[row, first:end], slots, largest=False)
            values[row, part, : len(found[1])], places[row, part, : len(found[1])] = found[0], found[1] + first
    while runs > 1:
        pairs, last = (runs + 1) // 2, runs <= 2
        room = k if last else min(k, -(-n * min(2 * span, parts) // parts) + 1)
        y, indices = np.full((rows, pairs, room), 77, np.float32), np.full((rows, pairs, room), -1)
        given = (values.ravel().view(np.uint32), places.ravel(), y.reshape(-1).view(np.uint32), indices.reshape(-1))
        run(code, 3, 64, (*given, n, k, rows, parts, span, runs, slots, room, 1), check=True, **options)
        values, places, runs, span, slots = y, indices, pairs, 2 * span, room
    wanted = top_of(x, k, largest=False)
    assert np.array_equal(values[:, 0], wanted[0]) and np.array_equal(places[:, 0], wanted[1])


@pytest.mark.parametrize("parts", [2, 3, 5, 8])
def test_runs_are_merged(parts: int) -> None:
    for n in (parts, 100, 701):
        for k in sorted({1, min(n, 40), n}):
            merge(np.floor(numbers("float32", 2, n) / 9), k, parts)


@pytest.mark.parametrize("schedule", interpret.SCHEDULES)
def test_runs_are_merged_in_every_schedule(schedule: str) -> None:
    merge(np.floor(numbers("float32", 2, 300) / 9), 100, 3, schedule=schedule, seed=1)


SIZES = [(1 << 13, 10), (1 << 13, 1000), (1 << 17, 100), (1 << 14, 2048), (1 << 17, 2048)]
COMPILED = [(scalar, n, k) for scalar in ("float32", "uint8", "float64", "float16", "uint32") for n, k in SIZES]


@pytest.mark.parametrize(("scalar", "n", "k"), rarely(COMPILED, but=[("float32", *SIZES[1]), ("uint8", *SIZES[2])]))
def test_the_kernels_for_the_device_do_not_spill(scalar: str, n: int, k: int) -> None:
    """And take no more shared memory than is said."""
    task, gpu = Task(scalar, largest=True), Hopper()
    c = configuration(task, n, k, gpu)
    assert c is not None
    template = {**template_of(task, c, vectors=True, named=True), "E": Wide if task.key == "uint64" else Narrow}
    compiled = prism.compile(top_rows, template)
    assert compiled.spills == 0 and compiled.shared_bytes + 1024 <= task.bytes(c)


def test_kinds_and_entries_by_their_names() -> None:
    assert (UNSIGNED, SIGNED, FLOAT) == (0, 1, 2)
    for key, entry in (("uint32", Narrow), ("uint64", Wide)):
        found = struct_of(np.dtype(entry))
        assert found is not None and _ENTRY[key] == found.key
