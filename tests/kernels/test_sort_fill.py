"""Sorts by counting on the reference machine, with all its checks.

Tests of kernels/sort: fill, key_counts, zeros; prism/lib/algorithms/sort/fill.py.
"""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.sort import INTEGER, add_keys, begin_keys, count_keys, fill_keys, order_zeros
from prism.lib.algorithms.sort import fill, plan
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from tests.kernels.test_sort import Device
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely


@functools.cache
def counter(threads: int = 256):
    return prism.check(count_keys, {"C": "uint32", "THREADS": threads, "ITEMS": 16, "WIDTH": 8})


def count(x, blocks: int = 2, one=None, threads: int = 256, skew: int = -1, **options):
    counts, parts = np.zeros(1 << 16, np.uint32), np.zeros(blocks << 15, np.uint32)
    run(one or counter(threads), blocks, threads, (x, counts, parts, len(x), skew), check=True, **options)
    counts += parts.view(np.uint16).reshape(blocks, -1).sum(0, dtype=np.uint32)
    return counts


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_what_blocks_have_counted_is_added_up_in_every_schedule(schedule: str, seed: int) -> None:
    random = np.random.default_rng(5)
    parts, counts = (
        random.integers(0, 1 << 16, (5, 1 << 16)).astype(np.uint16),
        random.integers(0, 99, 1 << 16).astype(np.uint32),
    )
    wanted = counts + parts.sum(0, dtype=np.uint32)
    one = prism.check(add_keys, {"C": "uint32", "THREADS": 1024, "SHARES": 2})
    run(one, 64, 1024, (parts.view(np.uint32).ravel(), counts, 5), check=True, schedule=schedule, seed=seed)
    assert np.array_equal(counts, wanted)


DATA = {
    "uniform": lambda random, n: random.integers(0, 1 << 16, n),
    "equal": lambda random, n: np.full(n, 40_001),
    "half": lambda random, n: np.where(random.random(n) < 0.5, 7, random.integers(0, 1 << 16, n)),
    "two": lambda random, n: random.integers(8, 10, n),
    "sorted": lambda random, n: np.sort(random.integers(0, 1 << 16, n)),
    "low zeros": lambda random, n: random.integers(0, 16, n) << 12,
}


@pytest.mark.parametrize("data", DATA)
def test_keys_are_counted(data: str) -> None:
    for n in (1, 100, 4096, 4096 * 4 + 77):
        x = DATA[data](np.random.default_rng(n), n).astype(np.uint16)
        assert np.array_equal(count(x), np.bincount(x, minlength=1 << 16))


@pytest.mark.parametrize("data", ["equal", "two"])
def test_more_of_a_key_than_16_bits_hold(data: str) -> None:
    """Both halves of a word go over, and whole tiles of 16384 fill one up."""
    n = 140_000
    x = DATA[data](np.random.default_rng(1), n).astype(np.uint16)
    assert np.array_equal(count(x, blocks=1, threads=1024), np.bincount(x, minlength=1 << 16))


@pytest.mark.parametrize("key", [40_000, 40_001])
def test_more_of_a_key_than_the_first_tile_tells(key: int) -> None:
    """What has gone over is seen by the sum, and all is counted once more."""
    random = np.random.default_rng(2)
    x = np.concatenate([DATA["uniform"](random, 4096), np.full(66_000, key), DATA["uniform"](random, 99)]).astype(
        np.uint16
    )
    assert np.array_equal(count(x, blocks=1), np.bincount(x, minlength=1 << 16))


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_counting_in_every_schedule(schedule: str, seed: int) -> None:
    x = DATA["half"](np.random.default_rng(3), 9000).astype(np.uint16)
    assert np.array_equal(count(x, schedule=schedule, seed=seed), np.bincount(x, minlength=1 << 16))


@pytest.mark.parametrize(("keys", "threads"), [(256, 256), (1 << 16, 1024)])
def test_where_keys_begin(keys: int, threads: int) -> None:
    counts = np.random.default_rng(0).integers(0, 9, keys).astype(np.uint32)
    starts = np.zeros(keys, np.uint32)
    key = np.dtype(f"uint{keys.bit_length() - 1}").type
    one = prism.check(begin_keys, {"K": key.__name__, "C": "uint32", "KIND": INTEGER, "THREADS": threads})
    run(one, keys // threads, threads, (counts, starts, key(0), key(0)), check=True)
    assert np.array_equal(starts, np.cumsum(counts) - counts)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_filling_in_every_schedule(schedule: str, seed: int) -> None:
    counts = np.random.default_rng(1).integers(0, 40, 256).astype(np.uint32)
    starts, n = np.zeros(256, np.uint32), int(counts.sum())
    one, zero = prism.check(begin_keys, {"K": "uint8", "C": "uint32", "KIND": INTEGER, "THREADS": 256}), np.uint8(0)
    run(one, 1, 256, (counts, starts, zero, zero), check=True, schedule=schedule, seed=seed)
    y = np.zeros(n, np.uint8)
    run(filler("uint8"), 3, 64, (starts, y, n, False, zero, zero), check=True, schedule=schedule, seed=seed)
    assert np.array_equal(y, np.repeat(np.arange(256), counts))


@functools.cache
def filler(key: str):
    width = 16 // np.dtype(key).itemsize
    return prism.check(
        fill_keys, {"K": key, "C": "uint32", "KIND": INTEGER, "THREADS": 64, "ITEMS": 2 * width, "WIDTH": width}
    )


@pytest.mark.parametrize("key", ["uint8", "uint16"])
@pytest.mark.parametrize("few", [1, 3, 200, 1 << 16])
def test_numbers_are_written_as_often_as_they_occur(key: str, few: int) -> None:
    """Of few keys and of many, side by side and far apart; in vectors, and where the result is not aligned."""
    most = 1 << 8 * np.dtype(key).itemsize
    for n, blocks in ((1, 2), (15, 1), (1024, 3), (5000, 2)):
        random = np.random.default_rng(n)
        some = random.integers(0, most, min(few, most))
        x = np.sort(random.choice(some, n)).astype(key)
        counts = np.bincount(x, minlength=most)
        starts = (np.cumsum(counts) - counts).astype(np.uint32)
        for shift in (0, 1):
            room = np.zeros(n + 80, key)
            begin = (-room.__array_interface__["data"][0] % 16) // room.itemsize + shift
            y = room[begin : begin + n]
            run(filler(key), blocks, 64, (starts, y, n, shift == 0, y.dtype.type(0), y.dtype.type(0)), check=True)
            assert np.array_equal(y, x) and room.astype(int).sum() == x.astype(int).sum()


def zeros_program():
    return prism.check(order_zeros, {"K": "uint16", "C": "uint32", "THREADS": 64, "ITEMS": 16, "WIDTH": 8})


def order(bits, one, blocks: int = 2, **options):
    """Return what the zeros' kernel makes of sorted numbers."""
    n = len(bits)
    keys = plan.keys_of(Kind("float16"))
    key = ((bits ^ np.where(bits >> 15, 0xFFFF, 0x8000)).astype(int) - keys.lowest & 0xFFFF).astype(np.uint16)
    counts = np.bincount(key, minlength=1 << 16)
    starts = (np.cumsum(counts) - counts).astype(np.uint32)
    y = bits[np.argsort(key, kind="stable")].copy()
    words, control = np.zeros(-(-n // 1024), np.uint64), np.zeros(1, np.uint64)
    arguments = (bits, starts, y, n, -1, np.uint16(keys.lowest), words, len(words), control)
    run(one, blocks, 64, arguments, check=True, **options)
    return y


def check_zeros(one, share: float, **options) -> None:
    random = np.random.default_rng(5)
    x = np.where(random.random(3000) < share, random.choice([0.0, -0.0], 3000), random.standard_normal(3000))
    x = x.astype(np.float16)
    found = order(x.view(np.uint16), one, **options)
    assert np.array_equal(found, x[np.argsort(x, kind="stable")].view(np.uint16))


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_zeros_keep_their_order_in_every_schedule(schedule: str, seed: int) -> None:
    for share in (0.01, 0.5, 1):
        check_zeros(zeros_program(), share, schedule=schedule, seed=seed)


def test_zeros_of_one_kind_are_left_alone() -> None:
    for x in (np.zeros(3000), -np.zeros(3000), np.ones(3000)):
        bits = x.astype(np.float16).view(np.uint16)
        assert np.array_equal(order(bits, zeros_program()), np.sort(bits))


def test_each_inferred_barrier_is_needed() -> None:
    """Of blocks with many tiles, with a part of one, and with none."""
    found = 0
    x = DATA["half"](np.random.default_rng(7), 40_000).astype(np.uint16)
    x[:33_000] = 7
    late = np.concatenate([np.arange(4096), np.full(66_000, 9)]).astype(np.uint16)  # which the first tile does not tell
    for _barrier, mutant in without_barriers(counter()):
        found += 1
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                for some, blocks in ((x, 1), (x[:100], 3), (late, 1)):
                    counts = count(some, blocks, mutant, schedule=schedule, seed=seed)
                    assert np.array_equal(counts, np.bincount(some, minlength=1 << 16))
    for _barrier, mutant in without_barriers(zeros_program()):
        found += 1
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                check_zeros(mutant, 0.5, schedule=schedule, seed=seed)
    assert found > 3


KINDS = ("bool", "uint8", "int8", "uint16", "int16", "float16", "bfloat16")


@pytest.mark.parametrize(
    ("scalar", "descending"), rarely([(s, d) for s in KINDS for d in (False, True)], but=[("float16", True)])
)
def test_whole_sorts(scalar: str, descending: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fill.FEWEST, 2, 1)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(ml_dtypes.bfloat16 if scalar == "bfloat16" else scalar)
    random = np.random.default_rng(2)
    for n in (66_000, 66_001):
        x = random.integers(0, 256, n * dtype.itemsize, dtype=np.uint8)
        x = (x % 2).astype(bool) if scalar == "bool" else x.view(dtype)
        if dtype.itemsize == 2:
            x = np.where(random.random(n) < 0.3, random.choice(np.array([0, -0.0]).astype(dtype), n), x)
        wide = x.astype(np.float64)
        order = np.argsort(-wide if descending else wide, kind="stable")  # NaN last
        found = prism.lib.sort(x, descending=descending)
        numbers = n - int(np.isnan(wide).sum())
        assert np.array_equal(found[:numbers].view(np.uint8), x[order][:numbers].view(np.uint8))
        assert np.isnan(found[numbers:].astype(np.float64)).all()
        y = x.copy()  # what is counted is written where it was read
        assert prism.lib.sort(y, descending=descending, out=y) is y and y.tobytes() == found.tobytes()


def test_which_sorts_count() -> None:
    sort = lambda scalar, n, **more: plan.radix(Kind(scalar, **more), 1, n, Device(), Names(), aligned=True)
    names = lambda found: {step.instance.kernel.__name__ for step in found.steps if hasattr(step, "instance")}
    assert "fill_keys" in names(sort("uint8", 1 << 17)) & names(sort("int16", 1 << 28))
    assert "order_zeros" in names(sort("bfloat16", 1 << 28)) and "order_zeros" not in names(sort("int16", 1 << 28))
    assert "sort_digit" in names(sort("int16", 1 << 17)) & names(sort("uint8", 1 << 28, values="uint32")) & names(
        sort("int32", 1 << 28)
    )
    parts = Device().wave(None, 768) << 17  # of each block that counts
    assert sort("int16", 1 << 28).scratch == (2 * 4 << 16) + parts
    assert sort("int16", 1 << 32).scratch == (2 * 8 << 16) + parts
    many = plan.radix(Kind("int16"), 4, 1 << 28, Device(), Names(), aligned=True)
    assert many.scratch == sort("int16", 1 << 28).scratch
