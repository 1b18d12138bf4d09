"""Several rows sorted by digits at once, on the reference machine. Tests of kernels/sort: rows, radix, count."""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.sort import GIVEN, NONE, POSITIONS, begin_rows
from prism.lib.algorithms.sort.plan import keys_of
from tests.kernels.test_sort import MODES, TILE, counter, hard, kind_of, program
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely


@functools.cache
def beginning(passes: int):
    return prism.check(begin_rows, {"C": "uint32", "PASSES": passes})


def begin(counts, moved, n: int, even: bool = False, mutant=None, **how) -> None:
    one, arguments = mutant or beginning(len(counts[0]) // 256), (counts.reshape(-1), moved, n, np.uint32(even))
    run(one, len(counts), 256, arguments, check=True, **how)


def sort(x, mode: int, *, even: bool = False, blocks: int = 2, schedule: str = "round-robin", seed: int = 0):
    """Return what the kernels make of rows: sorted, positions, or both, by values that are positions; and what moved."""
    keys = keys_of(kind_of(x.dtype.name, mode))
    (rows, n), key = x.shape, np.dtype(keys.type).type
    given, order = x.reshape(-1).view(keys.type), (key(keys.flip), key(keys.lowest))
    counts, moved = np.zeros((rows, 256 * keys.size), np.uint32), np.zeros(1, np.uint32)
    spare, y = np.zeros(x.size, key), given.copy() if even else np.zeros(x.size, key)
    given = y if even else given
    values, beside, places = np.zeros(x.size, np.uint32), np.zeros(x.size, np.uint32), np.zeros(x.size, np.int64)
    along = np.tile(np.arange(n, dtype=np.uint32), rows) if mode == GIVEN else np.zeros(1, np.uint32)
    words, control = np.zeros(256 * rows * (-(-n // TILE)), np.uint64), np.zeros(1, np.uint64)
    how = {"check": True, "schedule": schedule, "seed": seed}
    run(
        counter(keys.type, keys.kind),
        rows * 2,
        256,
        (given, counts.reshape(-1), n, -1, *order, rows, np.zeros(1, np.uint32)),
        **how,
    )
    begin(counts, moved, n, even)
    arrays = (given, spare, y, along, beside, values, places, counts.reshape(-1), n)
    for step in range(keys.size):
        arguments = (*arrays, step, *order, words, len(words), control, rows, moved, 0)
        run(program(keys.type, keys.kind, mode, rows), blocks, 256, arguments, **how)
    found = {NONE: y.view(x.dtype), POSITIONS: places, GIVEN: (y.view(x.dtype), values)}[mode]
    return found, int(moved[0])


def check(x, mode: int, **how) -> int:
    order = np.argsort(x, axis=1, kind="stable")
    want = np.take_along_axis(x, order, 1).reshape(-1)
    found, moved = sort(x, mode, **how)
    if mode == POSITIONS:
        assert np.array_equal(found, order.reshape(-1))
        return moved
    keys = found if mode == NONE else found[0]
    assert np.array_equal(keys, want, equal_nan=x.dtype.kind == "f")
    assert mode == NONE or np.array_equal(found[1], order.reshape(-1))
    return moved


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("scalar", "rows", "n"), [("uint8", 5, TILE + 1), ("float16", 3, 2 * TILE), ("uint16", 2, 77)])
def test_each_row_is_sorted_by_itself(scalar: str, rows: int, n: int, mode: int) -> None:
    check(hard(scalar, rows * n).reshape(rows, n), mode)


def test_passes_are_over_where_no_row_has_two_digits() -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 200, (3, TILE + 9)).astype(np.uint32)
    x += np.array([[0], [1 << 24], [7 << 16]], np.uint32)  # rows differ in these digits, elements of one do not
    assert check(x, NONE) == 1
    assert check(np.tile(x[:, :1], (1, 40)), POSITIONS) == 0
    x[2, 5] ^= 1 << 20
    assert check(x, NONE) == 0b101


def test_an_even_number_of_passes_sorts_in_place() -> None:
    EVEN = 1 << 31
    x = np.random.default_rng(0).integers(0, 200, (2, TILE + 9)).astype(np.uint16)
    assert check(x, NONE, even=True) == EVEN + 0b01
    assert check(x << 8, GIVEN, even=True) == EVEN + 0b10
    assert check(x * np.uint16(257), NONE, even=True) == EVEN + 0b11
    assert check(np.tile(x[:, :1], (1, 40)), GIVEN, even=True) == EVEN


@pytest.mark.parametrize(("schedule", "seed"), rarely(SCHEDULES, but=SCHEDULES[:3]))
def test_every_schedule(schedule: str, seed: int) -> None:
    check(hard("uint16", 2 * (2 * TILE + 3)).reshape(2, -1), NONE, blocks=3, schedule=schedule, seed=seed)


def test_every_barrier_of_the_beginning_is_needed() -> None:
    counts = np.zeros((2, 512), np.uint32)
    counts[:, [3, 9, 256]] = 4, 1, 5
    found = without_barriers(beginning(2))
    assert found
    for barrier, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                begin(counts.copy(), np.zeros(1, np.uint32), 5, mutant=mutant, schedule=schedule, seed=seed)
            print(barrier.first.span, barrier.second.span)
