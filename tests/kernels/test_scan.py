"""The single-pass scan on the reference machine, with all its checks: every schedule, any number of resident blocks."""

import functools
import itertools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.scan import DEVICE, UNPACKED, Configuration, scan
from prism.lib.algorithms.scan.api import NATIVE
from prism.lib.operators import BY_NAME
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.mutation import without_barriers
from tests.rarely import rarely

SMALL = Configuration(threads=64, items=4, width=2, blocks=1)
WIDE = Configuration(threads=96, items=2, width=1, blocks=1, words=2)
FOUR = Configuration(threads=64, items=8, width=4, blocks=1)
ODD = Configuration(threads=64, items=3, width=1, blocks=1, words=2)  # as elements of 16 bytes are scanned
ADD = CASES[0]


@functools.cache
def program(kind, function, exclusive, configuration, reverse=False, stable=False, given=None, result=None):
    template = {"T": kind, "TI": given or kind, "TO": result or kind, "OP": function}
    template |= {"EXCLUSIVE": exclusive, "REVERSE": reverse, "STABLE": stable}
    return prism.check(scan, {**template, **configuration.template()})


class Scratch:
    """What launches leave to one another: the words and the control block, zero at first."""

    def __init__(self, kind: str, capacity: int = 64) -> None:
        self.words = np.zeros(capacity * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64)
        self.control = np.zeros(1, np.uint64)
        self.capacity = capacity


def launch(
    case: Case,
    x,
    blocks,
    *,
    exclusive=False,
    configuration=SMALL,
    scratch=None,
    mutant=None,
    vectorized=False,
    before=0,
    out=None,
    reverse=False,
    stable=False,
    initial=None,
    **options,
):
    """The scan of `x` by so many blocks, checked."""
    scratch = scratch or Scratch(str(case.dtype))
    y = aligned(np.zeros_like(x)) if out is None else out
    y_vectorized = vectorized if out is None else before >= 0
    before = max(before, 0)
    code = mutant or program(str(case.dtype), case.function, exclusive, configuration, reverse, stable)
    begin = case.identity if initial is None else initial
    pointers = (scratch.words, scratch.capacity, scratch.control)
    arguments = (x, y, len(x), before, 0 if vectorized else -1, y_vectorized, case.identity, begin, *pointers)
    run(code, blocks, configuration.threads, arguments, check=True, **options)
    return y


def expected(case: Case, x, exclusive=False):
    return case.exclusive(x) if exclusive else case.inclusive(x)


@pytest.mark.covering(2)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("configuration", [SMALL, WIDE], ids=["small", "wide"])
def test_operators(case: Case, exclusive: bool, configuration: Configuration) -> None:
    x = case.data(5 * configuration.tile - 3)
    y = launch(case, x, 3, exclusive=exclusive, configuration=configuration)
    assert np.array_equal(y, expected(case, x, exclusive))


@pytest.mark.parametrize("edge", [0, 1, 2, 4, 9])
@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_tile_edges(edge: int, beside: int) -> None:
    size = edge * SMALL.tile + beside
    if size < 0:
        pytest.skip("no array is that small")
    x = ADD.data(size)
    for blocks in (1, 2, 4):
        assert np.array_equal(launch(ADD, x, blocks), np.cumsum(x, dtype=np.int32))


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.parametrize(
    ("configuration", "blocks"), [(SMALL, 1), (SMALL, 2), (SMALL, 3), (SMALL, 8), (WIDE, 3), (ODD, 3)]
)
def test_schedules(schedule: str, seed: int, configuration: Configuration, blocks: int) -> None:
    x = ADD.data(7 * configuration.tile + 5)
    y = launch(ADD, x, blocks, configuration=configuration, schedule=schedule, seed=seed)
    assert np.array_equal(y, np.cumsum(x, dtype=np.int32))


@pytest.mark.parametrize("resident", [1, 2])
def test_any_number_of_resident_blocks_makes_progress(resident: int) -> None:
    x = ADD.data(6 * SMALL.tile)
    for schedule in ("round-robin", "reversed", "random"):
        y = launch(ADD, x, 4, resident=resident, schedule=schedule)
        assert np.array_equal(y, np.cumsum(x, dtype=np.int32))


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("case", "size"),
    [(case, size) for case in CASES for size in (1, 255, 256, 257, 1300) if size == 257 or case in (ADD, CASES[-1])],
    ids=str,
)
@pytest.mark.parametrize("vectorized", [False, True])
def test_from_the_end(case: Case, size: int, vectorized: bool) -> None:
    x = aligned(case.data(size))
    for exclusive in (False, True):
        y = launch(
            case, x, 3, exclusive=exclusive, reverse=True, vectorized=vectorized, initial=case.data(1, seed=9)[0]
        )
        whole = case.inclusive(np.concatenate([case.data(1, seed=9), x[::-1]]))
        assert np.array_equal(y, (whole[:-1] if exclusive else whole[1:])[::-1])


@pytest.mark.covering(1)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_unaligned(case: Case, reverse: bool) -> None:
    """The first tile begins before the result, where that is aligned; nothing before it is read or written."""
    width = FOUR.width
    room = aligned(np.full(3 * FOUR.tile + 64, case.identity, case.dtype))
    for shift, y_shift, more in ((0, 1, -1), (1, 1, 0), (3, 2, 1), (2, 3, -3), (1, 3, -FOUR.tile)):
        x = aligned(case.data(2 * FOUR.tile + more + shift))[shift:]
        room[:] = case.identity
        y = room[y_shift : y_shift + x.size]
        launch(
            case, x, 2, configuration=FOUR, vectorized=shift == y_shift, before=y_shift % width, out=y, reverse=reverse,
            exclusive=y_shift == 2,
        )  # fmt: skip
        ordered = x[::-1].copy() if reverse else x.copy()
        wanted = expected(case, ordered, y_shift == 2)
        assert np.array_equal(y, wanted[::-1] if reverse else wanted)
        assert np.all(room[:y_shift] == case.identity) and np.all(room[y_shift + x.size :] == case.identity)
        if shift == y_shift:
            launch(case, x, 3, configuration=FOUR, vectorized=True, before=shift, out=x, reverse=reverse)
            assert np.array_equal(x, y)


@pytest.mark.covering(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("configuration", [SMALL, WIDE], ids=["small", "wide"])
def test_stable(case: Case, configuration: Configuration) -> None:
    many = (150 * configuration.tile + 1,) if case in (ADD, CASES[-1]) else ()
    for size in (1, 5 * configuration.tile, *many):
        x, scratch = case.data(size), Scratch(str(case.dtype), 256)
        y = launch(case, x, 3, configuration=configuration, stable=True, scratch=scratch)
        assert np.array_equal(y, case.inclusive(x))


@pytest.mark.parametrize("configuration", [SMALL, ODD], ids=["small", "odd"])
def test_stable_sums_have_the_same_bits_however_they_are_made(configuration: Configuration) -> None:
    case = next(case for case in CASES if str(case) == "add-float64")
    x = np.random.default_rng(0).standard_normal(150 * configuration.tile - 7)

    def made(blocks: int, **options) -> bytes:
        scratch = Scratch("float64", 256)
        return launch(case, x, blocks, configuration=configuration, stable=True, scratch=scratch, **options).tobytes()

    wanted = made(1)
    for (schedule, seed), blocks in zip(SCHEDULES[configuration is SMALL :: 2], (2, 7), strict=True):
        assert made(blocks, schedule=schedule, seed=seed) == wanted


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_complex_numbers(stable: bool, reverse: bool) -> None:
    code = program("complex128", ADD.function, False, ODD, reverse, stable)
    random = np.random.default_rng(0)
    size = (150 if stable else 20) * ODD.tile - 7  # stable: more than one group has
    x = random.integers(-8, 8, size) + 1j * random.integers(-8, 8, size)  # sums are exact
    ways = [(SCHEDULES[1], stable), (SCHEDULES[2], not stable)]
    for (schedule, seed), vectorized in [ways[reverse]] if stable else ways:
        y, words = np.zeros_like(x), np.zeros(4 * 256, np.uint64)
        arguments = (x, y, x.size, 0, 0 if vectorized else -1, vectorized, 0j, 0j, words, 256, np.zeros(1, np.uint64))
        run(code, 3, ODD.threads, arguments, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x))


def aligned(x):
    """A copy at a multiple of 16 bytes."""
    room = np.zeros(x.size + 16, x.dtype)
    start = -(room.__array_interface__["data"][0] // x.itemsize) % (16 // x.itemsize)
    room[start : start + x.size] = x
    return room[start : start + x.size]


@pytest.mark.parametrize(("given", "kind", "result"), [("int8", "int64", "int64"), ("float16", "float32", "float16")])
def test_types_that_differ(given: str, kind: str, result: str) -> None:
    x = np.random.default_rng(0).integers(-100, 100, 1300).astype(given)
    y, scratch = np.zeros(1300, result), Scratch(kind)
    code = program(kind, ADD.function, False, SMALL, given=given, result=result)
    arguments = (x, y, len(x), 0, -1, False, 0, 0, scratch.words, scratch.capacity, scratch.control)
    run(code, 3, SMALL.threads, arguments, check=True)
    assert np.array_equal(y, np.cumsum(x, dtype=kind).astype(result))


def test_more_tiles_to_look_back_at_than_one_round_asks_for() -> None:
    x = ADD.data(200 * SMALL.tile)
    scratch = Scratch("int32", 256)
    y = launch(ADD, x, 70, scratch=scratch, schedule="reversed")
    assert np.array_equal(y, np.cumsum(x, dtype=np.int32))


def test_in_place() -> None:
    x = ADD.data(5 * SMALL.tile + 7)
    wanted = np.cumsum(x, dtype=np.int32)
    scratch = Scratch("int32")
    arguments = (x, x, len(x), 0, -1, False, 0, 0, scratch.words, scratch.capacity, scratch.control)
    run(program("int32", ADD.function, False, SMALL), 3, SMALL.threads, arguments, check=True)
    assert np.array_equal(x, wanted)


def test_vectors() -> None:
    room = np.zeros(3000, np.int32)
    start = -(room.__array_interface__["data"][0] // 4) % 4
    x = room[start : start + 2001]
    x[:] = ADD.data(2001)
    y = np.zeros(3000, np.int32)
    out = y[-(y.__array_interface__["data"][0] // 4) % 4 :][:2001]
    scratch = Scratch("int32")
    arguments = (x, out, len(x), 0, 0, True, 0, 0, scratch.words, scratch.capacity, scratch.control)
    run(program("int32", ADD.function, False, SMALL), 3, SMALL.threads, arguments, check=True)
    assert np.array_equal(out, np.cumsum(x, dtype=np.int32))


def test_nothing_is_cleared_between_launches() -> None:
    scratch = Scratch("int32")
    random = np.random.default_rng(0)
    for number in range(1, 12):
        x = ADD.data(int(random.integers(1, 12 * SMALL.tile)), seed=number)
        assert np.array_equal(launch(ADD, x, int(random.integers(1, 6)), scratch=scratch), np.cumsum(x, dtype=np.int32))
        assert scratch.control[0] == number << 32


def test_the_epoch_wraps_around() -> None:
    scratch = Scratch("int32")
    scratch.control[0] = (2**32 - 3) << 32
    for number in range(6):
        x = ADD.data(3 * SMALL.tile, seed=number)
        assert np.array_equal(launch(ADD, x, 2, scratch=scratch), np.cumsum(x, dtype=np.int32))
    assert scratch.control[0] == 3 << 32


def test_words_that_are_not_used_are_marked_in_turn() -> None:
    scratch = Scratch("int32", 8)
    for number in range(1, 10):
        launch(ADD, ADD.data(2 * SMALL.tile, seed=number), 2, scratch=scratch)
    tags = scratch.words.view(np.uint32).reshape(8, 2)[:, 1]
    assert tags.tolist() == [9, 9, 2, 3, 4, 5, 6, 7]


def test_words_of_other_launches_are_not_taken() -> None:
    scratch = Scratch("int32")
    scratch.words.view(np.uint32)[:] = np.random.default_rng(0).integers(
        2, 2**32, 2 * scratch.capacity, dtype=np.uint32
    )
    x = ADD.data(9 * SMALL.tile)
    assert np.array_equal(launch(ADD, x, 4, scratch=scratch), np.cumsum(x, dtype=np.int32))


def mutants():
    for stable, configuration in ((False, SMALL), (True, SMALL), (True, ODD)):
        for barrier, mutant in without_barriers(program("int32", ADD.function, False, configuration, stable=stable)):
            name = f"{'stable-' if stable else ''}{configuration.items}-{barrier.kind}:{barrier.before.span.line}"
            tiles = (1, 150) if stable else (9,)  # stable: more than one group has, and none
            yield pytest.param(mutant, configuration, tiles, id=name)


@pytest.mark.parametrize(("mutant", "configuration", "tiles"), list(mutants()))
def test_each_inferred_barrier_is_needed(mutant, configuration: Configuration, tiles: tuple[int, ...]) -> None:
    given = {"configuration": configuration, "mutant": mutant}
    with pytest.raises(RaceError) as caught:
        for number, (schedule, seed) in itertools.product(tiles, SCHEDULES):
            x = ADD.data(number * configuration.tile)
            launch(ADD, x, 2, **given, scratch=Scratch("int32", 256), schedule=schedule, seed=seed)
    assert "barrier" in str(caught.value)


def test_which_barriers_there_are() -> None:
    found = program("int32", ADD.function, False, SMALL)
    places = [
        (plan.function.bound.code.level.name, barrier.kind, barrier.first.kind, barrier.second.kind, barrier.loop)
        for plan in found.plans.values()
        for barrier in plan.barriers
    ]
    assert sorted(places) == [
        ("BLOCK", "block", "write", "read", False),  # block.reduce: the warps' results
        ("BLOCK", "block", "write", "read", False),  # block.scan: likewise
        ("GRID", "block", "write", "read", False),  # the block's first ticket
        ("GRID", "block", "write", "read", False),  # its next one
    ]


@pytest.mark.parametrize(
    ("kind", "name"),
    rarely(
        [*itertools.product(NATIVE, ("add", "minimum")), ("complex128", "add"), ("complex128", "multiply")],
        but=[("int8", "add"), ("int32", "minimum"), ("float64", "add"), ("complex128", "multiply")],
    ),
)
def test_the_kernels_for_the_device_do_not_spill(kind: str, name: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    configuration = {**DEVICE, **UNPACKED}[np.dtype(kind).itemsize]
    template = {"T": kind, "TI": kind, "TO": kind, "OP": BY_NAME[name].function}
    template |= {"EXCLUSIVE": False, "REVERSE": False, "STABLE": kind.startswith(("float", "complex"))}
    compiled = prism.compile(scan, {**template, **configuration.template()})
    assert compiled.spills == 0
    assert compiled.registers * configuration.threads * configuration.blocks <= 65536
