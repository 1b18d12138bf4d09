"""The radix sort's kernels on the reference machine, with all its checks.

Tests of kernels/sort: count, radix, parts, order, even, configurations.
"""

import functools

import numpy as np
import pytest

import prism
from prism import interpret
from prism.interpret import RaceError, run
from prism.kernels.sort import (
    GIVEN,
    NONE,
    POSITIONS,
    configurations,
    count_digits,
    counting,
    pass_evenly,
    sort_digit,
)  # fmt: skip
from prism.lib import shipped_kernels
from prism.lib.algorithms.sort import ships
from prism.lib.algorithms.sort.plan import keys_of
from prism.lib.algorithms.sort_rows.plan import Kind
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

SIZES = {"THREADS": 256, "ITEMS": 4, "BATCH": 2, "BLOCKS": 1, "WORDS": 2}
TILE = 1024
MODES = {NONE: {}, POSITIONS: {"elements": False, "places": "int64"}, GIVEN: {"values": "uint32"}}


def kind_of(scalar: str, mode: int, descending: bool = False, bits: tuple[int, int] | None = None) -> Kind:
    return Kind(scalar, descending, **MODES[mode], bits=bits)


@functools.cache
def counter(key: str, kind: int):
    template = {
        "K": key,
        "C": "uint32",
        "KIND": kind,
        "COPIES": 1,
        "THREADS": 256,
        "ITEMS": 4,
        "WIDTH": 4,
        "BLOCKS": 1,
        "ASKED": False,
    }
    return prism.check(count_digits, template)


@functools.cache
def program(key: str, kind: int, mode: int, rows: int = 1, ahead: bool = True):
    types = {"K": key, "V": "uint32", "VO": "int64", "C": "uint32", "KIND": kind, "VALUES": mode}
    return prism.check(sort_digit, {**types, **SIZES, "ROWS": rows > 1, "AHEAD": ahead})


def sort(
    x, mode=NONE, *, descending=False, bits=None, blocks=2, mutant=None, schedule="round-robin", seed=0, scratch=None, ahead=True,
):  # fmt: skip
    """Return what the kernels make of an array: sorted, positions, or both, by values that are positions."""
    keys = keys_of(kind_of(x.dtype.name, mode, descending, bits))
    n, key = len(x), np.dtype(keys.type).type
    given_bits, none = x.view(keys.type), np.zeros(1, np.uint32)
    order = (key(keys.flip), key(keys.lowest))
    counts, y, spare = np.zeros(256 * keys.size, np.uint32), np.zeros(n, key), np.zeros(n, key)
    values, beside, places = np.zeros(n, np.uint32), np.zeros(n, np.uint32), np.zeros(n, np.int64)
    given = np.arange(n, dtype=np.uint32) if mode == GIVEN else none
    words, control = scratch or (np.zeros(256 * (-(-n // TILE)), np.uint64), np.zeros(1, np.uint64))
    run(
        counter(keys.type, keys.kind),
        blocks,
        256,
        (given_bits, counts, n, -1, *order, 1, none),
        check=True,
        schedule=schedule,
        seed=seed,
    )
    for step in range(keys.size):
        arguments = (
            given_bits,
            spare,
            y,
            given,
            beside,
            values,
            places,
            counts,
            n,
            step,
            *order,
            words,
            len(words),
            control,
            1,
            none,
            0,
        )
        one = mutant or program(keys.type, keys.kind, mode, ahead=ahead)
        run(one, blocks, 256, arguments, check=True, schedule=schedule, seed=seed)
    if mode == POSITIONS:
        return places
    return y.view(x.dtype) if mode == NONE else (y.view(x.dtype), values)


def hard(scalar: str, n: int, seed: int = 0):
    """Return numbers of all bits; of floats many zeros and NaNs of both signs."""
    random, of = np.random.default_rng(seed), np.dtype(scalar)
    x = random.integers(0, 256, n * of.itemsize, dtype=np.uint8).view(of)
    if of.kind == "f":
        some = random.integers(0, 6, n)
        return np.select(
            [some == 0, some == 1, some == 2, some == 3],
            [of.type(0), -of.type(0), of.type(np.nan), -of.type(np.nan)],
            x,
        )
    return x


def check(x, mode: int, **options) -> None:
    order = np.argsort(x, kind="stable")
    found = sort(x, mode, **options)
    if mode == POSITIONS:
        assert np.array_equal(found, order)
        return
    keys = found if mode == NONE else found[0]
    there = slice(len(x) - int(np.isnan(x).sum())) if x.dtype.kind == "f" and mode == NONE else slice(None)
    # NaNs alone stand in the order of their bits; all else, and NaNs with values, as it stood.
    assert np.array_equal(keys[there].view(np.uint8), x[order][there].view(np.uint8))
    assert np.array_equal(keys, x[order], equal_nan=x.dtype.kind == "f")
    assert mode == NONE or np.array_equal(found[1], order)


SCALARS = ("uint8", "int16", "float16", "uint32", "float32", "int64", "float64")


@pytest.mark.parametrize(
    ("scalar", "mode"),
    rarely(
        [(scalar, mode) for scalar in SCALARS for mode in MODES],
        but=[("uint8", NONE), ("float32", NONE), ("float16", POSITIONS), ("int64", GIVEN)],
    ),
)
def test_numbers_of_all_kinds(scalar: str, mode: int) -> None:
    check(hard(scalar, 2 * TILE + 77), mode)


def test_sizes() -> None:
    for n in (1, 33, 1023, 1024, 1025, 2049):
        check(hard("uint8", n, n), NONE if n % 3 else POSITIONS)


@pytest.mark.parametrize("mode", MODES)
def test_a_falling_order_keeps_that_of_equals(mode: int) -> None:
    x = hard("float32", 1500)
    wide = np.where(np.isinf(x), np.float32(2), x).astype(np.float32)
    order = np.lexsort((np.arange(len(x)), -np.nan_to_num(wide).astype(np.float64), np.isnan(wide)))
    found = sort(wide, mode, descending=True)
    if mode == POSITIONS:
        assert np.array_equal(found, order)
    else:
        keys = found if mode == NONE else found[0]
        numbers = len(x) - int(np.isnan(wide).sum())
        assert np.array_equal(keys[:numbers].view(np.uint32), wide[order][:numbers].view(np.uint32))
        assert np.isnan(keys[numbers:]).all()


@pytest.mark.parametrize(("schedule", "seed"), rarely(SCHEDULES, but=SCHEDULES[1:3]))
def test_some_bits(schedule: str, seed: int) -> None:
    """What is equal in them keeps its order, though other bits differ, and digits without any are passed over."""
    for scalar, bits, descending in (("uint16", (3, 12), False), ("uint32", (8, 16), True), ("uint8", (5, 8), False)):
        x = hard(scalar, TILE + 300)
        field = (x >> bits[0]).astype(np.int64) & (1 << bits[1] - bits[0]) - 1
        order = np.argsort(-field if descending else field, kind="stable")
        keys, values = sort(x, GIVEN, bits=bits, descending=descending, schedule=schedule, seed=seed)
        assert np.array_equal(values, order) and np.array_equal(keys, x[order])


@pytest.mark.parametrize("share", [0.3, 0.6, 0.97, 1])
def test_one_number_very_often(share: float) -> None:
    random = np.random.default_rng(1)
    x = np.where(random.random(2500) < share, 77, random.integers(0, 256, 2500)).astype(np.uint16)
    for mode in MODES:
        check(x, mode)


@pytest.mark.parametrize("mode", MODES)
def test_the_largest_key_beside_what_fills_a_tile_up(mode: int) -> None:
    """What stands behind the last element has the largest key too, and must stay behind."""
    x = np.where(np.random.default_rng(3).random(TILE + 300) < 0.4, 255, 7).astype(np.uint8)
    for schedule in ("round-robin", "random"):
        check(x, mode, schedule=schedule, seed=4)
        check(np.full(TILE + 300, -1, np.int16), mode, schedule=schedule, seed=4)
    for low, high in ((255, 7), (7, 255), (255, 255)):  # its digit, of few, among them the last ones of a warp's row
        x = np.random.default_rng(5).integers(0, 200 << 8, TILE + 1000).astype(np.uint16)
        x[-20:] = high << 8 | low
        for schedule in ("reversed", "random"):
            for ahead in (False, True):
                check(x, mode, schedule=schedule, seed=4, ahead=ahead)


def test_digits_that_all_share_are_passed_over() -> None:
    for low, high in ((0, 1), (0, 256), (5 << 16, (5 << 16) + 9), (0, 1 << 24)):
        x = np.random.default_rng(2).integers(low, high, 1300).astype(np.int64)
        for mode in (NONE, POSITIONS):
            check(x, mode)


@functools.cache
def evenly(passes: int):
    return prism.check(pass_evenly, {"C": "uint32", "PASSES": passes})


@pytest.mark.parametrize("passes", [2, 4, 8])
def test_an_even_number_of_passes(passes: int) -> None:
    """Whichever digits are shared: of these as few as possible are counted once too seldom."""
    n, random = 1000, np.random.default_rng(passes)
    for shared_by_all in range(1 << passes) if passes < 8 else random.integers(0, 256, 20).tolist() + [255, 127]:
        counts = np.zeros((passes, 256), np.uint32)
        for p in range(passes):
            counts[p, random.integers(0, 256)] = n
            if not shared_by_all >> p & 1:
                counts[p, random.permutation(256)[:2]] = n // 4, n // 4
                counts[p] = np.where(counts[p] == n, n // 2, counts[p])
        before = counts.copy()
        run(evenly(passes), 1, 256, (counts.reshape(-1), n), check=True)
        left = (counts == n).any(axis=1)
        assert (passes - left.sum()) % 2 == 0 and not left[(before != n).all(axis=1)].any()
        changed = before - counts
        odd = shared_by_all.bit_count() % 2
        assert changed.sum() == (2 if shared_by_all == (1 << passes) - 1 else odd) and set(changed[before != n]) <= {0}


@pytest.mark.parametrize("schedule", interpret.SCHEDULES)
def test_an_even_number_of_passes_in_every_schedule(schedule: str) -> None:
    counts = np.zeros((4, 256), np.uint32)
    counts[0, 3] = counts[2, 200] = counts[3, 255] = 1000
    counts[1, [0, 9]] = 400, 600
    before = counts.copy()
    run(evenly(4), 1, 256, (counts.reshape(-1), 1000), check=True, schedule=schedule, seed=1)
    before[0, 3] = 999  # the first of three that all share: two are left
    assert np.array_equal(counts, before)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    """Lanes add in many orders: what stands wrong is mended."""
    for mode in MODES:
        check(hard("int16", 2100), mode, blocks=3, schedule=schedule, seed=seed)
    check(hard("float16", 1500), NONE, schedule=schedule, seed=seed)
    check(hard("int16", 2100), GIVEN, ahead=False, blocks=3, schedule=schedule, seed=seed)
    check(hard("int16", 2100), NONE, ahead=False, blocks=3, schedule=schedule, seed=seed)


def test_blocks_that_hold_one_tile() -> None:
    for n in (1, TILE, TILE + 1, 4 * TILE + 5):
        check(hard("uint32", n, n), GIVEN, ahead=False)
        check(hard("float32", n, n), NONE, ahead=False)


def test_nothing_is_cleared_between_launches() -> None:
    scratch = np.zeros(256 * 4, np.uint64), np.zeros(1, np.uint64)
    for number in range(1, 5):
        check(hard("uint16", 1000 * number, number), NONE, scratch=scratch)
        assert scratch[1][0] == 2 * number << 32


@pytest.mark.parametrize(
    ("scalar", "mode", "ahead"),
    rarely(
        [
            ("uint32", 0, True),
            ("float32", 0, True),
            ("uint32", 1, True),
            ("uint32", 2, True),
            ("uint32", 2, False),
            ("float32", 0, False),
        ],
        but=[("float32", 0, True)],
    ),
)
def test_each_inferred_barrier_is_needed(scalar: str, mode: int, ahead: bool) -> None:
    """Data for each way to rank, and three passes for each array that is read."""
    x = hard(scalar, 2500)
    often = np.where(np.random.default_rng(0).random(2500) < 0.5, x[7], x[::-1]).astype(scalar)
    many = [x, often]
    if scalar == "float32":  # without -0.0, with which ranks are in order from the start
        many += [np.abs(often), np.random.default_rng(1).random(2500).astype(scalar)]
    keys = keys_of(kind_of(scalar, mode))
    found = list(without_barriers(program(keys.type, keys.kind, mode, ahead=ahead)))
    assert found
    for barrier, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                for data in many:
                    check(data, mode, ahead=ahead, mutant=mutant, schedule=schedule, seed=seed)
            print(barrier.first.span, barrier.second.span)


@pytest.mark.parametrize("room", [227 << 10, 163 << 10, 99 << 10, 64 << 10, 48 << 10])
def test_tiles_fit_into_shared_memory(room: int) -> None:
    for key in (1, 2, 4, 8):
        assert 1024 * key * counting(key, room).copies + 128 <= room
        for mode in MODES:
            for value in (1, 4, 8):
                for c in configurations(key, value, mode, room):
                    each = key + (0 if mode == NONE else value + (2 if mode == GIVEN else 0))
                    assert (1 + c.ahead) * c.tile * each + 256 * (c.threads // 32) * 4 + 256 * 8 + 512 <= room
                    assert c.items % c.batch == 0 and c.items > 0


class Device:
    """A GPU, as far as plans look at it."""

    host, arch, multiprocessors = False, "sm_90a", 132

    def wave(self, instance, threads):
        return 264


SHIPPED = {one.request: one for one in ships.instances(Device())}


@pytest.mark.parametrize("number", rarely(range(len(SHIPPED)), but=[1, 10]))
def test_the_kernels_for_the_device_do_not_spill(number: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    one = [*SHIPPED.values()][number]
    known = shipped_kernels.SPILLS["sort_digit"] if one.kernel is sort_digit else 0
    assert prism.compile(one.kernel, dict(one.template)).spills <= known
