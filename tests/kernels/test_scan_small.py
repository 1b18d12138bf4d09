"""Scans of short arrays on the reference machine, with all its checks: by one block, and by blocks of one tile each."""

import functools
import itertools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.scan import scan_block, scan_once
from prism.lang import dtype, requires, template, thread
from prism.lib.algorithms.scan.plan import Shape
from prism.lib.thread import operators
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.mutation import without_barriers

ADD = CASES[0]
THREADS, ITEMS = 64, 4
TILE = THREADS * ITEMS


@prism.device
@template(T=dtype)
@requires(thread[1])
def take_last(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The last of two that is not 0."""
    return b if b.real != 0.0 or b.imag != 0.0 else a


@functools.cache
def program(kernel, kind: str, function, exclusive=False, reverse=False):
    template = {"T": kind, "TI": kind, "TO": kind, "OP": function, "THREADS": THREADS, "ITEMS": ITEMS, "WIDTH": 2}
    template |= {"EXCLUSIVE": exclusive, "REVERSE": reverse}
    return prism.check(kernel, template | ({"WORDS": 1, "BLOCKS": 1} if kernel is scan_once else {}))


def compare(case: Case, x, *, once=True, exclusive=False, reverse=False, mutant=None, scratch=None, **options):
    kind, y = str(case.dtype), np.zeros_like(x)
    words, control = scratch or fresh(kind)
    begin = case.data(1, seed=9)
    values = (x, y, len(x), 0, -1, False, case.identity, begin[0], *((words, 64, control) if once else ()))
    code = mutant or program(scan_once if once else scan_block, kind, case.function, exclusive, reverse)
    run(code, -(-len(x) // TILE), THREADS, values, check=True, **options)
    whole = case.inclusive(np.concatenate([begin, x[::-1] if reverse else x]))
    wanted = whole[:-1] if exclusive else whole[1:]
    assert np.array_equal(y, wanted[::-1] if reverse else wanted)


def aligned(x):
    """A copy at a multiple of 16 bytes."""
    room = np.zeros(x.size + 16, x.dtype)
    start = -(room.__array_interface__["data"][0] // x.itemsize) % (16 // x.itemsize)
    room[start : start + x.size] = x
    return room[start : start + x.size]


@pytest.mark.covering(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("kind", ["uint8", "int16", "float16", "int32", "float64"])
def test_unaligned(kind: str, once: bool, reverse: bool) -> None:
    """Tiles begin where results are aligned; nothing before the array or behind it is read as part of it, or written."""
    width = 16 // np.dtype(kind).itemsize
    tile, random = THREADS * 2 * width, np.random.default_rng(0)
    computed = {"float16": "float32"}.get(kind, kind)
    template = {
        "TI": kind,
        "T": computed,
        "TO": kind,
        "OP": ADD.function,
        "THREADS": THREADS,
        "ITEMS": 2 * width,
        "WIDTH": width,
    }
    template |= {"EXCLUSIVE": False, "REVERSE": reverse} | ({"WORDS": 1, "BLOCKS": 1} if once else {})
    code = prism.check(scan_once if once else scan_block, template)
    shifts = ((0, 0), (1, 1), (1, 0), (0, width - 1), (width - 1, width // 2), (width // 2, width - 1))
    for (shift, y_shift), more in itertools.product(shifts, (0, -1, -tile // 2)):
        size = (3 * tile if once else tile - y_shift) + more
        x = aligned(random.integers(0, 3, size + shift).astype(kind))[shift:]
        room = aligned(np.full(size + y_shift + 2 * width, 77, kind))
        y = room[y_shift : y_shift + size]
        tiled = Shape(1, size, 1, past=(shift, y_shift)).tile(width)
        assert tiled[0] == y_shift and tiled[1] >= 0 and tiled[2]
        words, control = fresh(computed)
        values = (x, y, size, *tiled, 0, 5, *((words, 64, control) if once else ()))
        run(code, -(-(size + y_shift) // tile), THREADS, values, check=True)
        wanted = np.cumsum(x[::-1] if reverse else x, dtype=computed) + np.array(5, computed)
        assert np.array_equal(y, (wanted[::-1] if reverse else wanted).astype(kind))
        assert np.all(room[:y_shift] == 77) and np.all(room[y_shift + size :] == 77)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("width", [2, 16])
def test_what_is_not_there_is_the_identity_as_computed(width: int, reverse: bool) -> None:
    """It is no element: of bytes the least is -128, of what they are computed in far less."""
    template = {
        "TI": "int8",
        "T": "int32",
        "TO": "int8",
        "OP": operators.maximum,
        "THREADS": THREADS,
        "ITEMS": 2 * width,
    }
    template |= {"WIDTH": width, "EXCLUSIVE": False, "REVERSE": reverse, "WORDS": 1, "BLOCKS": 1}
    code, tile = prism.check(scan_once, template), THREADS * 2 * width
    for (shift, y_shift), more in itertools.product(((0, 0), (1, 1), (1, 0)), (-1, -tile + 1, -tile // 2)):
        size = 2 * tile + more
        x = aligned(np.random.default_rng(0).integers(-128, -90, size + shift).astype(np.int8))[shift:]
        y = aligned(np.zeros(size + y_shift, np.int8))[y_shift:]
        begin, (words, control) = Shape(1, size, 1, past=(shift, y_shift)).tile(width), fresh("int32")
        # An identity whose lowest 8 bits, taken for an element, would be the largest of all.
        values = (x, y, size, *begin, -(2**31) + 127, -129, words, 64, control)
        run(code, -(-(size + begin[0]) // tile), THREADS, values, check=True)
        wanted = np.maximum.accumulate(x[::-1] if reverse else x)
        assert np.array_equal(y, wanted[::-1] if reverse else wanted)


@pytest.mark.covering(2)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_elements_of_16_bytes(reverse: bool, exclusive: bool, last: bool) -> None:
    """Threads have adjacent ones, which they hand round; sums are exact, and the last one that is not 0 does not commute."""
    random, kind = np.random.default_rng(0), "complex128"
    template = {
        "T": kind,
        "TI": kind,
        "TO": kind,
        "OP": take_last if last else ADD.function,
        "THREADS": THREADS,
        "ITEMS": ITEMS,
    }
    template |= {"WIDTH": 1, "EXCLUSIVE": exclusive, "REVERSE": reverse, "WORDS": 1, "BLOCKS": 1}
    code = prism.check(scan_once, template)
    for size, skew in itertools.product((1, TILE - 1, TILE, 3 * TILE + 5), (0, -1)):
        x = random.integers(-2, 3, size) * (random.random(size) < 0.3) + 1j * random.integers(-2, 3, size)
        y, words, control = np.zeros_like(x), np.zeros(4 * 64, np.uint64), np.zeros(1, np.uint64)
        values = (x, y, size, 0, skew, skew == 0, 0j, 5 + 1j, words, 64, control)
        run(code, -(-size // TILE), THREADS, values, check=True)
        wanted = [5 + 1j]
        for one in x[::-1] if reverse else x:
            wanted.append((one if one != 0 else wanted[-1]) if last else wanted[-1] + one)
        found = y[::-1] if reverse else y
        assert np.array_equal(found, wanted[:-1] if exclusive else wanted[1:])


def fresh(kind: str):
    return np.zeros(64 * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64), np.zeros(1, np.uint64)


@pytest.mark.covering(2)
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
