"""Sorting by two digits and then by windows, on the reference machine with all its checks.

Tests of kernels/sort: windows, fields, radix.

Keys differ in few groups here: the machine takes its time for each.
"""

import functools

import numpy as np
import pytest

import prism
from prism import CompileError
from prism.interpret import SCHEDULES, RaceError, UninitialisedError, run
from prism.kernels.sort import (
    GIVEN,
    GROUPS,
    INTEGER,
    LEVELS,
    NONE,
    POSITIONS,
    count_digits,
    find_windows,
    sample_windows,
    sort_digit,
    sort_windows,
)  # fmt: skip
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS, ITEMS = 128, 4
WINDOW = THREADS * ITEMS


@functools.cache
def program(kernel, **template):
    return prism.check(kernel, template)


class Sort:
    """What the kernels make of an array, step by step."""

    def __init__(self, x, mode=NONE, in_place=False, schedule="round-robin"):
        self.x, self.mode, self.n = x, mode, len(x)
        self.how = {"check": True, "schedule": schedule}
        self.type, size = f"uint{8 * x.itemsize}", x.itemsize
        key = np.dtype(self.type).type
        self.order = (key(1 << 8 * size - 1 if x.dtype.kind == "i" else 0), key(0))
        self.bits, self.y, self.spare = x.view(self.type), np.zeros(self.n, key), np.zeros(self.n, key)
        self.bits = self.y if in_place else self.bits
        self.y[:] = x.view(self.type)
        self.values, self.beside, self.places = (np.zeros(self.n, of) for of in (np.uint32, np.uint32, np.int64))
        self.given = np.arange(self.n, dtype=np.uint32)
        self.counts, self.marks, self.samples = (
            np.zeros(256 * size, np.uint32),
            np.zeros(2, np.uint32),
            np.zeros(GROUPS + 1, np.uint32),
        )
        self.bounds, self.largest = np.zeros(GROUPS + 1, np.uint32), np.zeros(LEVELS, np.uint32)
        of = program(
            count_digits,
            K=self.type,
            C="uint32",
            KIND=INTEGER,
            COPIES=1,
            THREADS=256,
            ITEMS=4,
            WIDTH=4,
            BLOCKS=1,
            ASKED=False,
        )
        run(of, 2, 256, (self.bits, self.counts, self.n, -1, *self.order, 1, self.marks), **self.how)

    def sample(self, alike=1 << 30):
        of = program(sample_windows, K=self.type, C="uint32", KIND=INTEGER)
        run(
            of,
            2,
            256,
            (self.bits, self.counts, self.samples, self.marks[:1], self.n, WINDOW, alike, *self.order),
            **self.how,
        )

    def passes(self, window):
        of = program(
            sort_digit, K=self.type, V="uint32", VO="int64", C="uint32", KIND=INTEGER, VALUES=self.mode, THREADS=256, ITEMS=4,
            BATCH=2, BLOCKS=1, WORDS=2, ROWS=False, AHEAD=True,
        )  # fmt: skip
        words, control = np.zeros(256 * -(-self.n // 1024), np.uint64), np.zeros(1, np.uint64)
        for step in range(self.x.itemsize):
            run(
                of, 2, 256,
                (
                    self.bits, self.spare, self.y, self.given, self.beside, self.values, self.places, self.counts, self.n, step,
                    *self.order, words, len(words), control, 1, self.marks, window,
                ),
                **self.how,
            )  # fmt: skip

    def sorts_windows(self, threads=THREADS):
        return program(
            sort_windows, K=self.type, V="uint32", VO="int64", C="uint32", KIND=INTEGER, VALUES=self.mode, THREADS=threads,
            ITEMS=WINDOW // threads, BATCH=2, BLOCKS=1, BITS=9, BUCKETS=8 if self.type == "uint64" else 0,
        )  # fmt: skip

    def windows(self, mutant=None, threads=THREADS):
        of = program(find_windows, K=self.type, C="uint32")
        run(of, 256, 256, (self.y, self.counts, self.bounds, self.largest, self.marks, self.n, WINDOW), **self.how)
        of = mutant or self.sorts_windows(threads)
        run(
            of, 2, threads,
            (
                self.y, self.values, self.places, self.counts, self.bounds, self.largest, self.marks, self.marks[1:], self.n,
                WINDOW, *self.order,
            ),
            **self.how,
        )  # fmt: skip

    def all(self):
        self.sample()
        self.passes(WINDOW)
        self.windows()
        self.passes(-1)
        return self

    def check(self):
        order = np.argsort(self.x, kind="stable")
        if self.mode != POSITIONS:
            assert np.array_equal(self.y.view(self.x.dtype), self.x[order])
        if self.mode != NONE:
            assert np.array_equal(self.places if self.mode == POSITIONS else self.values, order)


def keys(dtype, n, groups=96, seed=0):
    """Numbers whose highest two digits, of all but the very top, have so many values; their lower bits are of all kinds."""
    random, size = np.random.default_rng(seed), np.dtype(dtype).itemsize
    low = random.integers(0, 1 << 8 * size - 24, n, dtype=np.uint64)
    high = random.integers(0, groups, n, dtype=np.uint64) * np.uint64(5) << np.uint64(8 * size - 24)
    return (low | high).astype(f"uint{8 * size}").view(dtype)


@pytest.mark.parametrize(
    ("dtype", "mode"),
    rarely(
        [(dtype, mode) for dtype in ("uint32", "int64") for mode in (NONE, POSITIONS, GIVEN)],
        but=[("uint32", GIVEN), ("int64", NONE)],
    ),
)
def test_windows(dtype: str, mode: int) -> None:
    sort = Sort(keys(dtype, 1500), mode).all()
    assert not sort.marks.any() and 0 < sort.largest[-1]
    sort.check()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_windows_in_every_schedule(schedule: str) -> None:
    Sort(keys("uint32", 700, groups=8), GIVEN, schedule=schedule).all().check()


def test_equal_keys_keep_their_order() -> None:
    x = keys("uint32", 900) & np.uint32(0xFFFFFF01)  # two of each group
    sort = Sort(x, GIVEN).all()
    assert not sort.marks.any()
    sort.check()


def test_bits_that_windows_leave_are_sorted_slowly() -> None:
    """Keys of 8 bytes that differ in their lowest digits alone, within a window: the first order is wrong, and found to be."""
    x = keys("uint64", 600, groups=8)
    x = (
        x >> np.uint64(40) << np.uint64(40)
        | x & np.uint64(0xFF)
        | np.uint64(0xFF) - (x & np.uint64(0xFF)) << np.uint64(8)
    )
    sort = Sort(x, NONE)
    sort.passes(WINDOW)
    sort.windows()
    sort.check()


def test_a_window_that_is_too_full_leaves_all_to_passes() -> None:
    x = keys("uint32", 2000)
    x[100:1200] = x[0] & np.uint32(0xFFFFFF00) | x[100:1200] & np.uint32(0xFF)
    sort = Sort(x, GIVEN)
    sort.passes(WINDOW)
    sort.windows()
    assert sort.marks[1] == 1 and sort.largest[0] > WINDOW
    sort.passes(-1)
    sort.check()


def test_more_threads_than_digits() -> None:
    sort = Sort(keys("uint32", 700), GIVEN)
    sort.passes(WINDOW)
    sort.windows(threads=256)
    assert 0 < sort.largest[5] <= WINDOW  # 13 bits are left: two digits of 7, for 256 threads
    sort.check()


def test_such_a_sort_in_place() -> None:
    x = keys("int32", 2000)
    x[100:1200] = x[0] & -256 | x[100:1200] & 255
    sort = Sort(x, in_place=True)
    sort.passes(WINDOW)
    sort.windows()
    assert sort.marks[1] == 1
    sort.passes(-1)
    sort.check()


def test_a_sample_of_equal_groups_leaves_all_to_passes() -> None:
    x = np.full(256 * 90, 1 << 16, np.uint32)
    x[::7] = np.arange(len(x[::7]), dtype=np.uint32) * 3000
    sort = Sort(x)
    sort.sample()
    assert sort.samples[:GROUPS].sum() == 90 and sort.samples[:GROUPS].max() > 42 and sort.marks[0] == 1


def test_three_digits_of_eight_bytes_are_left_to_passes() -> None:
    random = np.random.default_rng(2)
    for bits, sampled in ((24, 0), (32, 70)):
        sort = Sort(random.integers(0, 1 << bits, 256 * 70, dtype=np.uint64))
        sort.sample()
        assert sort.samples[:GROUPS].sum() == sampled and not sort.marks.any()


def test_groups_side_by_side_leave_all_to_passes() -> None:
    """As in sorted data, of which no group has very many."""
    x = np.sort(keys("uint32", 256 * 70))
    for order, told in ((x, 1), (np.random.default_rng(0).permutation(x), 0)):
        sort = Sort(order)
        sort.sample(alike=70 // 4)
        assert sort.marks[0] == told and sort.samples[:GROUPS].max() <= 42
        assert (sort.samples[GROUPS] > 60) == bool(told)


def test_digits_that_are_not_side_by_side_are_passed_by() -> None:
    random = np.random.default_rng(1)
    x = random.integers(0, 1 << 16, 700, dtype=np.uint64).astype(np.uint32) | np.uint32(1) << random.integers(
        24, 27, 700
    ).astype(np.uint32)
    sort = Sort(x)
    sort.passes(WINDOW)
    sort.check()


@pytest.mark.parametrize("mode", rarely([NONE, GIVEN], but=[]))
def test_each_inferred_barrier_is_needed(mode: int) -> None:
    x = keys("uint64", 700, groups=12)  # of which some windows are in order at once, and others are sorted slowly
    low = np.where(x >> np.uint64(45) & np.uint64(1) == 0, x & np.uint64(0x1F), x & np.uint64((1 << 40) - 1))
    sort = Sort(x >> np.uint64(40) << np.uint64(40) | low, mode)
    sort.passes(WINDOW)
    y, values = sort.y.copy(), sort.values.copy()
    sort.windows()
    sort.check()
    found = list(without_barriers(sort.sorts_windows()))
    assert found
    for barrier, mutant in found:
        with pytest.raises((RaceError, UninitialisedError, AssertionError)):
            sort.y[:], sort.values[:] = y, values
            sort.windows(mutant)
            sort.check()
            print(barrier.first.span, barrier.second.span)


def test_threads_are_a_power_of_two() -> None:
    """Else some digits would belong to no thread."""
    types = {"K": "uint32", "V": "uint32", "VO": "int64", "C": "uint32"}
    with pytest.raises(CompileError, match="power of two"):
        prism.check(
            sort_windows,
            {
                **types,
                "KIND": 0,
                "VALUES": NONE,
                "THREADS": 192,
                "ITEMS": 24,
                "BATCH": 4,
                "BLOCKS": 1,
                "BITS": 9,
                "BUCKETS": 0,
            },
        )
