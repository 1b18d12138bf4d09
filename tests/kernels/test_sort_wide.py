"""Sorting floats by three wide digits, on the reference machine with all its checks.

Tests of kernels/sort: wide, wide_tiles, halves.
"""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.sort import GIVEN, NONE, POSITIONS, begin_wide, count_digits, count_wide, sort_wide
from prism.kernels.sort.wide import COUNTS, DIGITS, PASSES, STATE
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers

THREADS, ITEMS = 256, 4
TILE = THREADS * ITEMS


@functools.cache
def program(kernel, **template):
    return prism.check(kernel, template)


def counter():
    return program(count_wide, K="uint32", C="uint32", COPIES=1, THREADS=256, ITEMS=4, WIDTH=4)


@functools.cache
def sorter(values=NONE):
    return program(
        sort_wide,
        K="uint32",
        W="uint32" if values == NONE else "uint64",
        V="uint32",
        VO="int64",
        C="uint32",
        VALUES=values,
        THREADS=THREADS,
        ITEMS=ITEMS,
        BATCH=2,
        BLOCKS=1,
        WORDS=2,
        APART=2,
    )


def begin(x, descending=False):
    """Return where digits begin, what `begin_wide` says of the array, and whether it is left to other passes."""
    counts, starts, state, other = (np.zeros(size, np.uint32) for size in (COUNTS, PASSES * DIGITS, STATE, 1))
    flip = np.uint32(0xFFFFFFFF if descending else 0)
    run(counter(), 2, 256, (x.view(np.uint32), counts, len(x), -1, flip), check=True)
    one = program(begin_wide, K="uint32", C="uint32")
    run(one, 1, 1024, (counts, starts, state, other, len(x), flip), check=True)
    return starts, state, bool(other[0])


def sort(
    x, values=NONE, *, descending=False, blocks=2, mutant=None, scratch=None, schedule="round-robin", seed=0,
):  # fmt: skip
    """Return the array sorted, and what went along; None where other passes must sort it."""
    starts, state, other = begin(x, descending)
    n, flip = len(x), np.uint32(0xFFFFFFFF if descending else 0)
    y, moved = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    spare, between = (np.zeros(n, np.uint32 if values == NONE else np.uint64) for _ in range(2))
    given = (np.arange(n, dtype=np.uint32) * np.uint32(2654435761)) ^ np.uint32(77)
    places = np.zeros(n, np.int64)
    words, control = scratch or (np.zeros(DIGITS * -(-n // TILE), np.uint64), np.zeros(1, np.uint64))
    between = y if values == NONE else between
    arrays = (x.view(np.uint32), spare, between, y, given, moved, places, starts, state)
    for step in range(PASSES):
        arguments = (*arrays, n, step, flip, words, len(words), control)
        run(mutant or sorter(values), blocks, THREADS, arguments, check=True, schedule=schedule, seed=seed)
    if other:
        assert not any(one.any() for one in (y, spare, between, moved, places))
        return None
    if values == POSITIONS:
        return x[places], places
    order = (moved ^ np.uint32(77)) * np.uint32(pow(2654435761, -1, 1 << 32))
    return y.view(np.float32), order if values == GIVEN else None


def check(x, values=NONE, *, descending=False, **how):
    order = np.argsort(-x if descending else x, kind="stable")
    found, places = sort(x, values, descending=descending, **how)
    assert np.array_equal(found.view(np.uint32), x[order].view(np.uint32))
    assert places is None or np.array_equal(places, order)


def normal(n, seed=0):
    return np.random.default_rng(seed).standard_normal(n).astype(np.float32)


def exponents(n, first, many, sign=1):
    """Numbers of `many` exponents, the lowest of which is `first`; both ends occur."""
    random = np.random.default_rng(many)
    of = random.integers(0, many, n)
    of[:2] = 0, many - 1
    return (sign * np.ldexp(1 + random.random(n), first + of)).astype(np.float32)


DATA = {
    "normal": normal(2 * TILE + 77),
    "uniform": np.random.default_rng(1).random(1500, dtype=np.float32),
    "many zeros": np.maximum(normal(1500), 0) + np.float32(0),
    "near zero": (np.random.default_rng(2).random(1300) * 1e-38).astype(np.float32),
    "few": np.random.default_rng(3).integers(-3, 4, 1300).astype(np.float32),
    "one": np.full(TILE + 300, -2.5, np.float32),
    "one often": np.where(np.random.default_rng(4).random(2500) < 0.7, np.float32(7.5), normal(2500)).astype(
        np.float32
    ),
    "below zero": -np.abs(normal(1300)) - np.float32(1),
    "128 exponents": exponents(1300, -60, 128),
    "128 exponents of both signs": np.concatenate([exponents(700, -20, 64), exponents(700, -30, 64, -1)]),
}
for name, few in {
    "NaN": [np.nan], "minus NaN": [-np.nan], "infinities": [np.inf, -np.inf], "all": [np.inf, np.nan, -np.inf, 0, np.nan],
    "minus infinity": [-np.inf] * 500, "no number": [-np.nan] * 900,
}.items():  # fmt: skip
    DATA[name] = np.random.default_rng(7).permutation(np.append(normal(700), few)).astype(np.float32)
DATA["126 exponents and infinities"] = np.append(exponents(1300, -60, 126), [np.inf, -np.inf]).astype(np.float32)
DATA["one infinity"], DATA["one NaN"] = np.full(700, -np.inf, np.float32), np.full(700, np.nan, np.float32)
REFUSED = {
    "127 exponents and infinities": np.append(exponents(1300, -60, 127), [np.inf, -np.inf]).astype(np.float32),
    "NaNs of two kinds": np.append(normal(700), [np.nan, -np.nan]).astype(np.float32),
    "129 exponents": exponents(1300, -60, 129),
    "129 exponents of both signs": np.concatenate([exponents(700, -20, 64), exponents(700, -30, 65, -1)]),
    "128 exponents and a zero": np.append(exponents(1300, -60, 128), np.float32(0)),
    **{f"a {one}": np.append(normal(1200), np.float32(one)).astype(np.float32) for one in (-0.0, -1e-40)},
}


CARRIED = pytest.mark.parametrize("values", [NONE, POSITIONS, GIVEN])


@CARRIED
@pytest.mark.parametrize("name", DATA)
def test_data(name, values):
    check(DATA[name], values)
    check(DATA[name], values, descending=True)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_left_to_other_passes(name):
    assert sort(REFUSED[name]) is None and sort(REFUSED[name], descending=True) is None
    assert sort(REFUSED[name], POSITIONS) is None and sort(REFUSED[name], GIVEN) is None


@CARRIED
def test_sizes(values):
    for n in (1, 33, TILE - 1, TILE, TILE + 1, 3 * TILE + 5):
        check(normal(n, n), values, blocks=3)


@CARRIED
def test_passes_that_move_nothing(values):
    """One of the upper digits, or both: where the arrays that passes write in turn begin is another one."""
    random = np.random.default_rng(5)
    low = random.integers(0, 1 << 10, 1300).astype(np.uint32)
    high = random.integers(0, 8, 1300).astype(np.uint32)
    for bits in (low, low << np.uint32(10), low << np.uint32(13), low | high << np.uint32(20)):
        check((bits + np.uint32(0x3F800000)).view(np.float32), values)


@CARRIED
@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule, seed, values):
    """Lanes add in many orders: what stands wrong is mended."""
    for x in (DATA["few"], DATA["one often"], normal(2100)):
        check(x, values, blocks=3, schedule=schedule, seed=seed)


@CARRIED
@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_the_largest_digit_beside_what_fills_a_tile_up(schedule, seed, values):
    """What stands behind the last element has it too, and must stay behind."""
    bits = np.random.default_rng(6).integers(0, 1000, 1000).astype(np.uint32)
    bits[-20:] = DIGITS - 1
    check((bits + np.uint32(0x3F800000)).view(np.float32), values, schedule=schedule, seed=seed)


def test_nothing_is_cleared_between_launches():
    scratch = np.zeros(DIGITS * 4, np.uint64), np.zeros(1, np.uint64)
    for number in range(1, 5):
        check(normal(1000 * number, number), scratch=scratch)
        assert scratch[1][0] == PASSES * number << 32


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_digits_are_counted_again_where_that_is_asked_in_every_schedule(schedule, seed):
    x = normal(700).view(np.uint32)
    one = program(
        count_digits, K="uint32", C="uint32", KIND=0, COPIES=1, THREADS=256, ITEMS=4, WIDTH=4, BLOCKS=1, ASKED=True
    )
    for asked in (0, 1):
        counts = np.zeros(4 * 256, np.uint32)
        run(
            one,
            2,
            256,
            (x, counts, len(x), -1, np.uint32(0), np.uint32(0), 1, np.full(1, asked, np.uint32)),
            check=True,
            schedule=schedule,
            seed=seed,
        )
        wanted = np.concatenate([np.bincount(x >> 8 * p & 255, minlength=256) for p in range(4)])
        assert np.array_equal(counts, wanted * asked)


@CARRIED
def test_each_inferred_barrier_is_needed(values):
    found = list(without_barriers(sorter(values)))
    assert found
    for barrier, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                for x in (normal(2500), DATA["one often"]):
                    check(x, values, mutant=mutant, schedule=schedule, seed=seed)
            print(barrier.first.span, barrier.second.span)
