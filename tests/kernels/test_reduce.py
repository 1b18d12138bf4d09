"""The single-pass reduction on the reference machine, with all its checks: every schedule, any number of resident blocks."""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.reduce import DEVICE, HOST, HOST_WIDTH, Configuration, blocks_for, maps, middle, reduce, short
from prism.kernels.reduce.configurations import MIDDLE, SHORT, SHORT_LAST, SHORT_ROWS
from prism.lang import prefetch
from prism.lib.algorithms.reduce.api import COUNT
from prism.lib.algorithms.reduce.calls import work_of
from prism.lib.operators import BY_NAME
from prism.runtime.arrays import BFLOAT16
from prism.runtime.build import entry_of
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.mutation import without_barriers
from tests.rarely import rarely

SMALL = Configuration(threads=64, blocks=1, rows=2)
WIDTH = 2
ADD = CASES[0]


@functools.cache
def program(
    kind,
    function,
    ordered,
    configuration=SMALL,
    width=WIDTH,
    vectorized=False,
    given=None,
    part=None,
    map=maps.same,
    tensor=False,
):
    template = {
        "TI": given or kind,
        "P": part or kind,
        "T": kind,
        "TO": kind,
        "OP": function,
        "MAP": map,
        "ORDERED": ordered,
        "TENSOR": tensor,
    }
    return prism.check(reduce, {**template, "WIDTH": width, "VECTORIZED": vectorized, **configuration.template()})


class Scratch:
    """What launches leave to one another: the words, the counter and the number of launches, all zero at first."""

    def __init__(self, kind: str = "int32", capacity: int = 16) -> None:
        self.words = np.zeros(capacity * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64)
        self.control = np.zeros(2, np.uint32)
        self.capacity = capacity


def launch(code, x, blocks, kind, identity, *, initial=None, threads=64, head=0, scratch=None, **options):
    """The reduction of `x` by so many blocks, checked."""
    scratch = scratch or Scratch(str(kind))
    y = np.zeros(1, kind)
    numbers = (scratch.capacity, len(x), head, identity, identity if initial is None else initial)
    run(code, blocks, threads, (x, y, scratch.words, scratch.control, *numbers), check=True, **options)
    return y[0]


def total(x, blocks, **options):
    """The sum of int32 elements."""
    return launch(program("int32", ADD.function, False), x, blocks, "int32", 0, **options)


def expected(case: Case, x):
    return case.inclusive(x)[-1] if len(x) else case.identity


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("blocks", [1, 3])
def test_operators(case: Case, ordered: bool, blocks: int) -> None:
    if not ordered and not case.operator.commutative:
        pytest.skip("its order must be kept")
    code = program(str(case.dtype), case.function, ordered)
    for size in (0, 1, 5, 200, 1003):
        x = case.data(size)
        assert launch(code, x, blocks, case.dtype, case.identity) == expected(case, x)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("head", [0, 1])
def test_edges(ordered: bool, head: int) -> None:
    code = program("int32", ADD.function, ordered)
    trip = 64 * SMALL.rows * WIDTH
    for size in [head, head + 1, 31, 32, 33, *(k * trip + d for k in (1, 2, 3, 6) for d in (-1, 0, 1, 2))]:
        x = ADD.data(size)
        for blocks in (1, 2, 5):
            found = launch(code, x, blocks, "int32", 0, head=head)
            assert found == np.sum(x, dtype=np.int32), (size, blocks)


@pytest.mark.parametrize("ordered", [False, True])
def test_every_element_counts_once_wherever_it_stands(ordered: bool) -> None:
    code = program("int32", ADD.function, ordered)
    for at in range(0, 531, 7):
        x = np.zeros(531, np.int32)
        x[at] = 5
        assert launch(code, x, 2, "int32", 0, head=1) == 5


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.parametrize("blocks", [1, 2, 3, 8])
def test_schedules(schedule: str, seed: int, blocks: int) -> None:
    x = ADD.data(2000)
    assert total(x, blocks, schedule=schedule, seed=seed) == np.sum(x, dtype=np.int32)


@pytest.mark.parametrize("resident", [1, 2])
def test_any_number_of_resident_blocks_makes_progress(resident: int) -> None:
    """Where blocks begin in the order of their numbers, as they do on GPUs."""
    x = ADD.data(2000)
    for schedule in ("round-robin", "late", "ahead", "starved", "few"):
        assert total(x, 6, resident=resident, schedule=schedule) == np.sum(x, dtype=np.int32)


def test_more_words_than_threads() -> None:
    x = ADD.data(20_000)
    scratch = Scratch(capacity=256)
    assert total(x, 150, scratch=scratch, schedule="reversed") == np.sum(x, dtype=np.int32)


@pytest.mark.parametrize(("kind", "tensor"), [("float32", False), ("float64", False), ("float64", True)])
def test_float_sums_are_the_same_under_every_schedule(kind: str, tensor: bool) -> None:
    x = np.random.default_rng(0).standard_normal(3000).astype(kind)
    code = program(kind, BY_NAME["add"].function, False, tensor=tensor)
    found = {launch(code, x, 5, kind, -0.0, schedule=s, seed=n).tobytes() for s, n in SCHEDULES}
    assert len(found) == 1
    exact = math.fsum(x.tolist())
    # each sum of m numbers errs by at most (m - 1) eps sum|x| / 2; no chain of additions here is longer than 30
    assert abs(float(launch(code, x, 5, kind, -0.0)) - exact) <= 15 * np.finfo(kind).eps * np.abs(x).sum(dtype=float)


def test_floats_that_are_not_numbers() -> None:
    code = program("float32", BY_NAME["maximum"].function, False)
    x = np.arange(600, dtype=np.float32)
    for at in (0, 77, 599):
        holed = x.copy()
        holed[at] = np.nan
        assert np.isnan(launch(code, holed, 2, "float32", -np.inf))
    assert launch(code, x, 2, "float32", -np.inf) == 599


@pytest.mark.parametrize(("kind", "tensor"), [("float32", False), ("float64", False), ("float64", True)])
@pytest.mark.parametrize("blocks", [1, 3])
def test_the_sign_of_zero(kind: str, tensor: bool, blocks: int) -> None:
    code = program(kind, BY_NAME["add"].function, False, tensor=tensor)
    for size in (0, 1, 100, 1000):
        x = np.full(size, -0.0, kind)
        assert launch(code, x, blocks, kind, -0.0) == 0 and np.signbit(launch(code, x, blocks, kind, -0.0))
        x[size // 2 : size // 2 + 1] = 0.0
        assert np.signbit(launch(code, x, blocks, kind, -0.0)) == (size == 0)


# -- Sums of float64 by the tensor cores ----------------------------------------------------------------------------------

TENSOR = functools.partial(program, "float64", BY_NAME["add"].function, tensor=True)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_tensor_cores_add_up_each_element_once(ordered: bool, blocks: int) -> None:
    x = 2.0 ** np.arange(32)  # no two sets of these have one sum
    for before in (0, 1, 31, 32, 100, 224, 256, 501):
        y = np.concatenate([np.full(before, -0.0), x, np.zeros(3)])
        assert launch(TENSOR(ordered), y, blocks, "float64", -0.0, initial=2.0**40) == 2**40 + 2**32 - 1


@pytest.mark.parametrize("once", [False, True])
def test_the_error_of_sums_by_tensor_cores(once: bool) -> None:
    code, trip = TENSOR(False, configuration=replace(SMALL, once=once)), 64 * SMALL.rows * WIDTH
    random = np.random.default_rng(0)
    for size in (0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, *(k * trip + d for k in (1, 2, 5) for d in (-1, 0, 1))):
        x = random.standard_normal(size) * 2.0 ** random.integers(-30, 30, size)
        found = launch(code, x, max(1, -(-size // trip)), "float64", -0.0)
        assert abs(found - math.fsum(x)) <= 15 * np.finfo("float64").eps * np.abs(x).sum(), size


@pytest.mark.parametrize("at", [0, 1, 77, 255, 256, 599])
def test_tensor_cores_and_what_is_no_number(at: int) -> None:
    code, x = TENSOR(False), np.random.default_rng(0).standard_normal(600)
    for value in (np.inf, -np.inf):
        x[at] = value
        assert launch(code, x, 2, "float64", -0.0) == value
    x[300] = np.inf
    assert np.isnan(launch(code, x, 2, "float64", -0.0))
    x[at], x[300] = np.nan, 0
    assert np.isnan(launch(code, x, 2, "float64", -0.0))


def test_initial_comes_first() -> None:
    case = CASES[-1]
    code = program("uint64", case.function, True)
    x, start = case.data(300), np.uint64((3 << 32) + 7)
    wanted = case.inclusive(np.concatenate([[start], x]).astype(np.uint64))[-1]
    for blocks in (1, 3):
        assert launch(code, x, blocks, "uint64", case.identity, initial=start) == wanted


@pytest.mark.parametrize("given", ["int8", "uint16", "int32", "float32"])
def test_elements_that_are_mapped(given: str) -> None:
    x = np.random.default_rng(0).integers(0, 3, 700).astype(given)
    code = program("int64", ADD.function, False, given=given)
    if given != "float32":
        assert launch(code, x, 2, "int64", 0) == x.sum()
    code = program("int64", ADD.function, False, given=given, map=maps.nonzero)
    assert launch(code, x, 2, "int64", 0) == np.count_nonzero(x)


def test_what_is_not_zero_of_both_floats_of_16_bits() -> None:
    """One kernel looks at the bits: zeros of both signs are zero, and the smallest numbers, infinities and NaN are not."""
    bits = np.array([0, 0x8000, 1, 0x8001, 0x3C00, 0x7C00, 0xFF80, 0x7FC0, 0xFFFF] * 60, np.uint16)
    code = program("uint64", ADD.function, False, given="uint16", part="int32", map=maps.half_nonzero)
    assert launch(code, bits, 2, "uint64", 0) == np.count_nonzero(bits.view(np.float16)) == 7 * 60
    works = [work_of(COUNT, dtype) for dtype in (np.dtype(np.float16), BFLOAT16)]
    one, other = (work.template() for work in works if work is not None)
    assert one == other and one["MAP"] is maps.half_nonzero


def test_small_integers_are_added_up_in_int32_first() -> None:
    x = np.random.default_rng(0).integers(-128, 128, 2000).astype(np.int8)
    code = program("uint64", ADD.function, False, given="int8", part="int32")
    for blocks in (1, 3):
        assert launch(code, x, blocks, "uint64", 0).astype(np.int64) == x.sum(dtype=np.int64)


@pytest.mark.parametrize("case", [case for case in CASES if case.operator.commutative], ids=str)
@pytest.mark.parametrize("head", [0, 1])
def test_all_loads_at_once(case: Case, head: int) -> None:
    """As many blocks as it takes: sizes about one vector, one load of a block, and all loads of a block."""
    code = program(str(case.dtype), case.function, False, configuration=replace(SMALL, once=True))
    trip = 64 * SMALL.rows * WIDTH
    for size in (0, 1, 2, 3, 64, 127, 128, 129, trip, *(k * trip + d for k in (1, 2, 3) for d in (-1, 0, 1, 2))):
        x = case.data(size + head)
        found = launch(code, x, max(1, -(-size // trip)), case.dtype, case.identity, head=head)
        assert found == expected(case, x), size


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_all_loads_at_once_under_every_schedule(schedule: str, seed: int) -> None:
    code = program("float32", ADD.function, False, configuration=replace(SMALL, once=True))
    x = np.random.default_rng(0).standard_normal(5 * 64 * SMALL.rows * WIDTH).astype(np.float32)
    first = launch(code, x, 5, "float32", -0.0)
    assert launch(code, x, 5, "float32", -0.0, schedule=schedule, seed=seed).tobytes() == first.tobytes()


@pytest.mark.parametrize("size", SHORT_LAST)
def test_short_arrays_are_covered(size: int) -> None:
    threads, blocks = SHORT_LAST[size]
    end = threads * blocks * SHORT_ROWS
    for vectors in (*range(3000), 65_535, 65_536, 65_537, 1 << 17, (1 << 17) + 1, 1 << 18, end - 1, end):
        found = short(vectors, size)
        assert found is not None
        configuration, blocks = found
        most = configuration.threads * configuration.rows
        assert blocks * most >= vectors and (blocks - 1) * most < max(vectors, 1) and configuration.rows <= SHORT_ROWS
    assert short(end + 1, size) is None


@pytest.mark.parametrize("size", MIDDLE)
def test_longer_arrays_go_by_the_first_row_that_holds_them(size: int) -> None:
    limits = [most for most, _ in MIDDLE[size]]
    assert limits == sorted(set(limits)) and short(limits[0], size) is None
    for most, known in MIDDLE[size]:
        assert middle(most, size, size) == known != middle(most + 1, size, size)
    assert middle(limits[-1] + 1, size, size) == DEVICE[size]
    assert middle(1 << 19, 2, 8) == DEVICE[2]
    assert middle(1 << 19, 4, 8) == middle(1 << 19, 8, 8) != middle(1 << 19, 4, 4)


def test_blocks_share_equally_where_that_needs_nearly_all() -> None:
    for most in (1, 2, 7, 132, 264):
        for rows in (*range(1, 700), 1024, 2048, 4096, 131_072):
            blocks, longest = blocks_for(rows, most), -(-rows // most)
            assert 1 <= blocks <= most and blocks * longest >= rows
            assert blocks == min(rows, most) or blocks >= 0.94 * most and (blocks - 1) * longest < rows
    assert [blocks_for(rows, 132) for rows in (512, 1075, 2048, 2049, 3072, 8192)] == [128, 132, 128, 129, 128, 132]


def configurations(size: int, sums: int = 0) -> list[Configuration]:
    """What the tables have for elements of `size` bytes, added up in `sums`: of short arrays, longer ones, long ones."""
    places = [threads * SHORT_ROWS * blocks for threads, blocks in (*SHORT, SHORT_LAST[size])]
    found = [short(vectors, size) for vectors in (*places, places[-1] // 2 + 1)]
    rows = [known for _, known in MIDDLE.get(max(size, sums), ())] if size in MIDDLE else []
    return list(dict.fromkeys([*(each[0] for each in found if each is not None), *rows, DEVICE[size]]))


@pytest.mark.parametrize(
    ("kind", "configuration"),
    [(kind, each) for kind, size in (("uint32", 4), ("uint64", 8)) for each in configurations(size)],
    ids=lambda value: value if isinstance(value, str) else f"{value.threads}x{value.rows}a{value.ahead}o{value.once:d}",
)
def test_the_configurations_of_the_device(kind: str, configuration: Configuration) -> None:
    """Each in the tables as it is, with its vectors, by two blocks: whole trips, and parts of one."""
    width, threads = 16 // np.dtype(kind).itemsize, configuration.threads
    code = program(kind, ADD.function, False, configuration=configuration, width=width, vectorized=True)
    trip = threads * configuration.rows * width
    for size in (2 * trip - width - 1, *(() if configuration.once else (5 * trip + width + 1,))):
        room = np.random.default_rng(size).integers(0, 1 << 32, size + width, kind)
        x = room[-room.__array_interface__["data"][0] % 16 // room.itemsize :][:size]
        assert launch(code, x, 2, kind, 0, threads=threads) == np.sum(x, dtype=kind)


# -- What is asked for before the wait ------------------------------------------------------------------------------------


@pytest.fixture
def asked():
    """What the reference machine is told to prefetch: pairs of the first element and the number of them."""
    found: list[tuple[int, int]] = []

    def note(binding, memory, element, count):
        counts = np.broadcast_to(count, element.index.shape)
        found.extend((int(at), int(n)) for at, n in zip(element.index, counts, strict=True) if n > 0)

    before = prefetch.meaning
    object.__setattr__(prefetch, "meaning", note)  # frozen: monkeypatch can't
    yield found
    object.__setattr__(prefetch, "meaning", before)


@pytest.mark.parametrize("head", [0, 1])
@pytest.mark.parametrize(("once", "ahead"), [(True, 1), (False, 1), (False, 3)])
def test_what_is_asked_for_ahead(asked: list[tuple[int, int]], head: int, once: bool, ahead: int) -> None:
    """The first rows of vectors, each element once, and nothing beyond the array."""
    code = program.__wrapped__("int32", ADD.function, False, configuration=replace(SMALL, once=once, ahead=ahead))
    for blocks in (1, 3):
        held = 64 * blocks * (SMALL.rows if once else ahead)
        for vectors in (0, 1, 63, 64, 65, 64 * blocks - 1, held - 1, held, *(() if once else (held + 1, 3 * held))):
            x = ADD.data(head + vectors * WIDTH + 1)
            asked.clear()
            assert launch(code, x, blocks, "int32", 0, head=head) == np.sum(x, dtype=np.int32)
            elements = sorted(at + k for at, n in asked for k in range(n))
            assert elements == list(range(head, head + min(vectors, held) * WIDTH))


def test_nothing_is_asked_for_ahead_where_order_is_kept(asked: list[tuple[int, int]]) -> None:
    code = program.__wrapped__("int32", ADD.function, True, configuration=replace(SMALL, ahead=3))
    x = ADD.data(2000)
    assert launch(code, x, 3, "int32", 0) == np.sum(x, dtype=np.int32) and not asked


# -- The warp's instruction -----------------------------------------------------------------------------------------------

ONE_INSTRUCTION = [
    ("add", "int32", 1), ("add", "uint32", 1), ("maximum", "int32", 1), ("maximum", "uint32", 1), ("minimum", "int32", 1),
    ("minimum", "uint32", 1), ("add", "uint64", 3), ("add", "float32", 0), ("maximum", "float32", 0), ("maximum", "uint64", 2),
    ("multiply", "uint32", 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "times"), ONE_INSTRUCTION)
def test_a_warps_instruction_where_there_is_one(name: str, kind: str, times: int) -> None:
    """Of integers of 32 bits, signed or not, and of sums, which wrap, and maxima of 64; never of floats."""
    instruction = {"add": "__reduce_add_sync", "maximum": "__reduce_max_sync", "minimum": "__reduce_min_sync"}
    operator, meaning = BY_NAME[name], getattr(np, name)
    code = program(kind, operator.function, False, configuration=replace(SMALL, threads=96))
    text = entry_of(code, "sm_90a").source
    assert ("__reduce_" in text) == (times > 0)
    assert times == 0 or text.count(f"{instruction[name]}(") % times == 0
    integral = np.dtype(kind).kind in "iu"
    identity, random = operator.identity_of(np.dtype(kind)), np.random.default_rng(0)
    ends = [np.iinfo(kind).min, np.iinfo(kind).max] if integral else [-1.0, 1.0]
    for threads, size in ((32, 5), (64, 700), (96, 1000)):
        bounds, drawn_as = (ends, kind) if integral else ((-9, 9), "int64")
        drawn = random.integers(*bounds, size, drawn_as, endpoint=True).astype(kind)
        for x in (drawn, np.full(size, ends[0], kind), np.full(size, ends[1], kind)):
            for blocks in (1, 2):
                with np.errstate(over="ignore"):
                    assert launch(code, x, blocks, kind, identity, threads=threads) == meaning.reduce(x, dtype=kind)


def test_vectors() -> None:
    room = np.zeros(3000, np.int32)
    start = -(room.__array_interface__["data"][0] // 4) % 4
    for first in range(4):
        x = room[start + first : start + 2001]
        x[:] = ADD.data(x.size)
        code = program("int32", ADD.function, False, width=4, vectorized=True)
        assert launch(code, x, 3, "int32", 0, head=-first % 4) == np.sum(x, dtype=np.int32)


# -- What launches leave to one another -----------------------------------------------------------------------------------


def test_nothing_is_cleared_between_launches() -> None:
    scratch, launches = Scratch(), 0
    random = np.random.default_rng(0)
    for number in range(1, 12):
        x, blocks = ADD.data(int(random.integers(1, 3000)), seed=number), int(random.integers(1, 9))
        assert total(x, blocks, scratch=scratch) == np.sum(x, dtype=np.int32)
        launches += blocks > 1  # one block alone needs none of it
        assert scratch.control.tolist() == [0, launches]


def test_the_epoch_wraps_around() -> None:
    scratch = Scratch()
    scratch.control[1] = 2**32 - 3
    for number in range(6):
        x = ADD.data(900, seed=number)
        assert total(x, 3, scratch=scratch) == np.sum(x, dtype=np.int32)
    assert scratch.control.tolist() == [0, 3]


def test_words_that_are_not_used_are_marked_in_turn() -> None:
    scratch = Scratch(capacity=8)
    for number in range(1, 10):
        total(ADD.data(500, seed=number), 2, scratch=scratch)
    tags = scratch.words.view(np.uint32).reshape(8, 2)[:, 1]
    assert tags.tolist() == [9, 9, 2, 3, 4, 5, 6, 7]


def test_words_of_other_launches_are_not_taken() -> None:
    scratch = Scratch()
    scratch.words.view(np.uint32)[:] = np.random.default_rng(0).integers(2, 2**32, 2 * 16, dtype=np.uint32)
    x = ADD.data(2000)
    assert total(x, 8, scratch=scratch, schedule="reversed") == np.sum(x, dtype=np.int32)


# -- Barriers, and the compiled kernels -----------------------------------------------------------------------------------


def mutants():
    found = without_barriers(program("int32", ADD.function, False))
    return [pytest.param(mutant, id=f"{barrier.kind}:{barrier.before.span.line}") for barrier, mutant in found]


@pytest.mark.parametrize("mutant", mutants())
def test_each_inferred_barrier_is_needed(mutant) -> None:
    x = ADD.data(900)
    with pytest.raises(RaceError) as caught:
        for schedule, seed in SCHEDULES:
            launch(mutant, x, 2, "int32", 0, schedule=schedule, seed=seed)
    assert "barrier" in str(caught.value)


def test_which_barriers_there_are() -> None:
    found = program("int32", ADD.function, False)
    places = [
        (barrier.kind, barrier.first.kind, barrier.loop) for plan in found.plans.values() for barrier in plan.barriers
    ]
    assert places == [("block", "write", False)]  # block.reduce: the warps' results; what is drawn is written before it


SUMS = [("int8", "uint64"), ("uint8", "uint64"), ("int16", "uint64"), ("uint32", "uint32"), ("int32", "uint64"),
        ("float16", "float32"), ("bfloat16", "float32"), ("float32", "float32"), ("float64", "float64"),
        ("uint64", "uint64")]  # fmt: skip


HOW = [(False, "same"), (True, "same"), (False, "nonzero")]


@pytest.mark.parametrize(
    ("given", "kind", "ordered", "map"),
    rarely(
        [(*types, *how) for types in SUMS for how in HOW],
        but=[
            (*SUMS[8], False, "same"),
            ("float32", "float32", True, "same"),
            ("uint8", "uint64", False, "nonzero"),
        ],
    ),
)
def test_the_kernels_for_the_device_do_not_spill(given: str, kind: str, ordered: bool, map: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    size = 2 if given == "bfloat16" else np.dtype(given).itemsize
    template = {"TI": given, "T": kind, "TO": kind, "OP": ADD.function, "MAP": getattr(maps, map), "ORDERED": ordered}
    template |= {"P": "int32" if "int" in given and size < 4 else kind, "WIDTH": 16 // size, "VECTORIZED": True}
    template["TENSOR"] = kind == "float64"
    for each in [DEVICE[size]] if ordered else configurations(size, 8 if kind == "uint64" else 4):
        compiled = prism.compile(reduce, {**template, **each.template()})
        assert compiled.spills == 0
        assert compiled.registers * each.threads * each.blocks <= 65536


@pytest.mark.parametrize("kind", ["float32", "uint32"])
def test_one_block_a_multiprocessor_of_the_sums_of_2_to_the_22(kind: str) -> None:
    """With 32 registers or fewer two blocks of 1024 fit, which takes longer: 5.5 us for 5.1 of 2^22 elements on one H200."""
    pytest.importorskip("cuda.bindings.nvrtc")
    each = middle(1 << 20, 4, 4)
    assert (each.threads, each.blocks) == (1024, 1)
    template = {"TI": kind, "P": kind, "T": kind, "TO": kind, "OP": ADD.function, "MAP": maps.same, "ORDERED": False}
    template |= {"WIDTH": 4, "VECTORIZED": True, "TENSOR": False}
    compiled = prism.compile(reduce, {**template, **each.template()}, arch="sm_90a")
    assert 32 < compiled.registers <= 64


def test_the_configuration_of_the_reference_machine() -> None:
    x = ADD.data(100_000)
    code = program("int32", ADD.function, False, configuration=HOST, width=HOST_WIDTH)
    assert launch(code, x, 1, "int32", 0, threads=HOST.threads) == np.sum(x, dtype=np.int32)
