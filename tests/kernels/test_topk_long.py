"""The first elements of few, long rows on the reference machine, with all its checks.

Tests of kernels/topk: long, choosing.
"""

import functools
import linecache
from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.interpret import RaceError, run
from prism.kernels.topk import SIGNED, Wide, choose_bounds, keep_before, sample_rows, top_kept
from prism.kernels.topk.long import EXAMPLES
from tests.lib.oracles import SCHEDULES, top_of
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS, GROUPS = 64, 16
KERNELS = {one.__name__: one for one in (sample_rows, choose_bounds, keep_before, top_kept)}
SIZES: dict[str, dict[str, Any]] = {
    "sample_rows": {"GROUPS": GROUPS},
    "choose_bounds": {"GROUPS": GROUPS},
    "keep_before": {"AHEAD": 2, "LOOPS": 2, "STAGE": 64, "BLOCKS": 1},
    "top_kept": {"ROOM": 256, "KEPT": 4, "BLOCKS": 1},
}
TYPES: dict[str, dict[str, Any]] = {
    "float32": {"LARGEST": False},
    "int8": {"B": "uint8", "V": "int8", "KIND": SIGNED, "INFINITY": 0, "WIDTH": 16, "BITS": 8},
    "float64": {"B": "uint64", "U": "uint64", "V": "float64", "E": Wide, "INFINITY": 0x7FF0000000000000, "WIDTH": 2, "BITS": 64},
}  # fmt: skip


@functools.cache
def program(name: str, kind: str, options: tuple[tuple[str, Any], ...] = ()):
    sizes = {**EXAMPLES[name], "THREADS": THREADS, **SIZES[name]}
    more = {**TYPES[kind], **dict(options)}
    return prism.check(KERNELS[name], {**sizes, **{key: more[key] for key in more if key in sizes}})


def find(
    x: Any, k: int, rank: int, *, each: int = 1, room: int = 1000, past: int = 0, turned: bool = False, mutants: Any = None,
    options: Any = (), **how: Any,
) -> list[int]:  # fmt: skip
    """Find the first elements of rows, and compare with a stable sort; return how many were kept of each, where that is right."""
    (rows, n), kind, size = x.shape, x.dtype.name, x.dtype.itemsize
    held = np.zeros(x.size + past, x.dtype)
    held[past:] = x.T.ravel() if turned else x.ravel()
    bits, key = np.dtype(f"uint{8 * size}"), np.dtype("uint64" if size == 8 else "uint32")
    given, lie = held[past:].view(bits), (rows, 1, 1, rows, 0) if turned else (rows, 1, n, 1, 0)
    firsts = np.zeros(rows * GROUPS, key), np.zeros(rows * GROUPS, np.uint32)
    bounds, lasts = np.zeros(rows, key), np.zeros(rows, np.int32)
    counts, failed = np.full(rows, 9), np.full(rows, 9)
    kept, spots = np.zeros(rows * room, key), np.zeros(rows * room, np.uint32)
    y, indices = np.full(rows * k, 77, bits), np.full(rows * k, -1)

    def launch(name: str, *arguments: Any) -> None:
        code = (mutants or {}).get(name) or program(name, kind, options)
        run(code, 2, THREADS, arguments, check=True, **how)

    launch("sample_rows", given, *firsts, counts, n, each, *lie)
    launch("choose_bounds", *firsts, bounds, lasts, rank, rows)
    sizes = {**EXAMPLES["keep_before"], **SIZES["keep_before"], **TYPES[kind], **dict(options)}
    parts = -(-n // (sizes["WIDTH"] * sizes["AHEAD"] * sizes["LOOPS"] * THREADS))
    launch("keep_before", given, bounds, lasts, counts, kept, spots, n, room, rows, parts, *lie[1:], past)
    launch("top_kept", given, kept, spots, counts, failed, y, indices, k, room, *lie, 1, 1, 1)
    largest = kind != "float32"
    for row in range(rows):
        values, places = top_of(x[row], k, largest=largest)
        if k <= counts[row] <= room:
            assert failed[row] == 0
            assert np.array_equal(indices[row * k : row * k + k], places)
            assert y[row * k : row * k + k].tobytes() == values.tobytes()
        else:
            assert failed[row] == 1
            assert (indices[row * k : row * k + k] == -1).all()
    return [int(count) if k <= count <= room else -1 for count in counts]


def numbers(kind: str, *shape: int, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 20).astype(kind)


@pytest.mark.parametrize("kind", rarely(TYPES, but=["float32", "int8"]))
def test_rows(kind: str) -> None:
    x = numbers(kind, 2, 5000)
    for k, rank in ((3, 3), (17, 6), (180, 14)):  # of the last more than are put in order by comparing each with all
        assert all(k <= count < 2000 for count in find(x, k, rank, room=2000))


def test_where_rows_lie() -> None:
    x = numbers("float32", 2, 2300)
    for past in range(1, 4):
        assert min(find(x, 9, 5, past=past)) > 0
    assert min(find(x, 9, 5, turned=True, options=(("WIDTH", 1), ("AHEAD", 2)))) > 0


def test_data() -> None:
    """As many equal ones at the bound as there can be, NaN, sorted rows: what is kept is little all the same."""
    for x in (np.zeros(2500), np.arange(2500.0), -np.arange(2500.0), np.full(2500, np.nan), np.arange(2500) % 64.0):
        for k, rank in ((3, 2), (20, 9)):
            assert 0 < find(x[None].astype(np.float32), k, rank)[0] < 700


def test_too_few_and_too_many() -> None:
    """It is said, and nothing is written; what has no room in the block is written at once."""
    x = numbers("float32", 2, 2500)
    assert find(x, 150, 0) == [-1, -1]
    assert find(x, 5, 12, room=50) == [-1, -1]
    assert min(find(x, 5, 15, room=2500)) > 2 * 64


@pytest.mark.parametrize("schedule", interpret.SCHEDULES)
def test_every_schedule(schedule: str) -> None:
    assert min(find(numbers("float32", 2, 2100), 30, 9, schedule=schedule, seed=1)) > 0


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ["choose_bounds", "keep_before", "top_kept"])
def test_each_inferred_barrier_is_needed(name: str) -> None:
    """Those of collectives are tested by themselves; of `keep_first` see `test_topk.py`."""
    rows = numbers("float32", 2, 2100)
    few = np.floor(numbers("float32", 1, 8000) / 10)
    calls = [
        (rows, 30, 9),
        (np.sort(rows), 30, 9),
        (few, 100, 8),
        (few, 170, 8),
        (numbers("float32", 1, 8000), 100, 12),
    ]
    missed = []
    for where, mutant in without_barriers(program(name, "float32")):
        span = where.before.span
        if "kernels/topk" not in span.file or "flags: uint32" in linecache.getline(span.file, span.line - 1):
            continue
        try:
            for x, k, rank in calls:
                for schedule, seed in SCHEDULES:
                    find(x, k, rank, room=2100, mutants={name: mutant}, schedule=schedule, seed=seed)
        except (RaceError, AssertionError):
            continue
        missed.append((span.file, span.line))
    assert not missed


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_for_the_device_do_not_spill(name: str) -> None:
    assert prism.compile(KERNELS[name], EXAMPLES[name]).spills == 0
