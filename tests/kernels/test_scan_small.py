"""Scans of short arrays on the reference machine, with all its checks: by one block, and by blocks of one tile each."""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.scan import scan_block, scan_once
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.mutation import without_barriers

ADD = CASES[0]
THREADS, ITEMS = 64, 4
TILE = THREADS * ITEMS


@functools.cache
def program(kernel, kind: str, function, exclusive=False, reverse=False):
    template = {"T": kind, "TI": kind, "TO": kind, "OP": function, "THREADS": THREADS, "ITEMS": ITEMS, "WIDTH": 2}
    template |= {"EXCLUSIVE": exclusive, "REVERSE": reverse}
    return prism.check(kernel, template | ({"WORDS": 1, "BLOCKS": 1} if kernel is scan_once else {}))


def compare(case: Case, x, *, once=True, exclusive=False, reverse=False, mutant=None, scratch=None, **options):
    kind, y = str(case.dtype), np.zeros_like(x)
    words, control = scratch or fresh(kind)
    begin = case.data(1, seed=9)
    values = (x, y, len(x), False, case.identity, begin[0], *((words, 64, control) if once else ()))
    code = mutant or program(scan_once if once else scan_block, kind, case.function, exclusive, reverse)
    run(code, -(-len(x) // TILE), THREADS, values, check=True, **options)
    whole = case.inclusive(np.concatenate([begin, x[::-1] if reverse else x]))
    wanted = whole[:-1] if exclusive else whole[1:]
    assert np.array_equal(y, wanted[::-1] if reverse else wanted)


def fresh(kind: str):
    return np.zeros(64 * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64), np.zeros(1, np.uint64)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_operators(case: Case, exclusive: bool, reverse: bool) -> None:
    compare(case, case.data(TILE - 3), once=False, exclusive=exclusive, reverse=reverse)
    compare(case, case.data(5 * TILE - 3), exclusive=exclusive, reverse=reverse)


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, TILE - 1, TILE])
def test_one_block(size: int) -> None:
    compare(ADD, ADD.data(size), once=False)


@pytest.mark.parametrize("size", [1, TILE - 1, TILE, TILE + 1, 2 * TILE, 9 * TILE + 1])
def test_tile_edges(size: int) -> None:
    compare(ADD, ADD.data(size))


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    compare(ADD, ADD.data(8 * TILE - 9), schedule=schedule, seed=seed)


@pytest.mark.parametrize("schedule", ["round-robin", "late", "ahead", "starved", "few"])
@pytest.mark.parametrize("resident", [1, 2])
def test_any_number_of_resident_blocks_makes_progress(schedule: str, resident: int) -> None:
    """Where blocks begin in the order of their numbers, as they do on GPUs."""
    compare(ADD, ADD.data(8 * TILE - 9), resident=resident, schedule=schedule)


def test_nothing_is_cleared_between_launches() -> None:
    scratch = fresh("int32")
    scratch[0].view(np.uint32)[1::2] = np.random.default_rng(0).integers(100, 2**32, 64, dtype=np.uint32)
    for number in range(1, 10):
        compare(ADD, ADD.data(number * 300, seed=number), scratch=scratch)
        assert scratch[1][0] == number << 32


@pytest.mark.parametrize("kernel", [scan_block, scan_once])
def test_each_inferred_barrier_is_needed(kernel) -> None:
    found = list(without_barriers(program(kernel, "int32", ADD.function)))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                compare(ADD, ADD.data(TILE if kernel is scan_block else 4 * TILE), once=kernel is scan_once, mutant=mutant,
                       schedule=schedule, seed=seed)  # fmt: skip
