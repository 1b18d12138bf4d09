"""Reductions along an axis, and the search for positions, on the reference machine with all its checks: every way to cut."""

import functools
import itertools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.reduce import find, maps, positions, reduce_axis
from prism.lib.algorithms.reduce.axis_plan import all_along, all_searches
from prism.lib.algorithms.reduce.steps import Search, Work
from prism.lib.operators import BY_NAME
from tests.lib.oracles import AFFINE, CASES, SCHEDULES, Case
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS = 64
ADD = CASES[0]
ORDERED = next(case for case in CASES if case.operator is AFFINE)
BOTH = [(True, True), (True, False), (False, True), (False, False)]
CUTS = list(itertools.product([True, False], [True, False], [1, 4, 32], [1, 3]))  # along, wide, lanes, splits


@functools.cache
def program(kind, function, ordered, along, units, rows, width, given=None):
    template = {
        "TI": given or kind, "P": kind, "T": kind, "TO": kind, "U": "int32", "OP": function, "MAP": maps.same, "THREADS": THREADS,
        "BLOCKS": 1, "UNITS": units, "ROWS": rows, "WIDTH": width, "ALONG": along, "ORDERED": ordered,
    }  # fmt: skip
    return prism.check(reduce_axis, template)


def geometry(x, along, wide, lanes, units, width, splits, chunk=None):
    """How many blocks there are, and the numbers that both kernels take first, for `x` of shape (outer, n, inner)."""
    outer, n, inner = x.shape
    across, pace = (inner, width) if along else (inner // width, 1)
    count = outer * across * splits
    each = 32 // lanes if wide else 32 // lanes * units * (THREADS // 32)
    chunk = chunk or -(-n // splits // pace) * pace
    strides = tuple(s // x.itemsize for s in x.strides)
    log = lanes.bit_length() - 1
    skew = -(x.__array_interface__["data"][0] // x.itemsize) % width
    numbers = (
        count,
        across,
        n,
        splits,
        chunk,
        skew,
        log,
        0 if along else 5 - log,
        wide,
        *strides,
        splits * inner,
        inner,
        1,
    )
    return -(-count // each), numbers


def along_axis(case: Case, x, along, wide, lanes, splits, *, units=1, rows=2, width=2, mutant=None, **options):
    """The reductions of `x` of shape (outer, n, inner) along `n`, of each of its splits."""
    ordered = not case.operator.commutative
    key = (str(x.dtype), case.function, ordered, along and width > 1, units, rows, width)
    code = mutant or program(*key)
    blocks, numbers = geometry(x, along, wide, lanes, units, width, splits)
    outer, _, inner = x.shape
    y = np.zeros(outer * splits * inner, x.dtype)
    arguments = (x.reshape(-1), y, *numbers, case.identity, case.identity)
    run(code, blocks, THREADS, arguments, check=True, **options)
    return y.reshape(outer, splits, inner)


def folded(case: Case, parts):
    """The operator along the middle axis, by the definition."""
    found = parts[:, 0].copy()
    with np.errstate(over="ignore"):
        for k in range(1, parts.shape[1]):
            found = case.meaning(found, parts[:, k])
    return found


@pytest.mark.covering(1)
@pytest.mark.parametrize("case", [ADD, ORDERED], ids=str)
@pytest.mark.parametrize(("along", "wide", "lanes", "splits"), CUTS)
def test_every_way_to_cut(case: Case, along: bool, wide: bool, lanes: int, splits: int) -> None:
    for outer, n, inner in [(5, 24, 6), (3, 2, 2), (18, 6, 4)] if case is ADD else [(5, 24, 6)]:
        x = case.data(outer * n * inner).reshape(outer, n, inner)
        units = 1 if wide or splits > 1 else 2
        width = 1 if along else 2
        y = along_axis(case, x, along, wide, lanes, splits, units=units, width=width)
        assert np.array_equal(folded(case, y), folded(case, x)), (outer, n, inner)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n", [2, 62, 64, 66, 1022])
def test_rows_of_vectors(wide: bool, n: int) -> None:
    x = ADD.data(7 * n).reshape(7, n, 1)
    for lanes in (1, 8, 32):
        y = along_axis(ADD, x, True, wide, lanes, 1, rows=4)
        assert np.array_equal(y[:, 0], folded(ADD, x))


@pytest.mark.covering(1)
@pytest.mark.parametrize("n", [1, 3, 61, 64, 67, 1021])
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_rows_that_begin_and_end_anywhere(n: int, shift: int) -> None:
    room = np.zeros(7 * n + 20, np.int32)
    start = -(room.__array_interface__["data"][0] // 4) % 4 + shift
    x = room[start : start + 7 * n].reshape(7, n, 1)
    x[...] = ADD.data(7 * n).reshape(7, n, 1)
    for lanes, wide in ((1, False), (8, False), (32, True)):
        y = along_axis(ADD, x, True, wide, lanes, 1, rows=2, width=4)
        assert np.array_equal(y[:, 0], folded(ADD, x))
        assert np.array_equal(located(x, True, True, wide, lanes, 1, width=4), x.argmax(axis=1))
    y = along_axis(ADD, x, True, True, 32, 3, rows=2, width=4)
    assert np.array_equal(folded(ADD, y), folded(ADD, x))


def test_schedules_and_where_results_go() -> None:
    x = ADD.data(6 * 50 * 10).reshape(6, 50, 10)
    for schedule, seed in SCHEDULES:
        y = along_axis(ADD, x, False, True, 8, 2, schedule=schedule, seed=seed)
        assert np.array_equal(y.sum(axis=1, dtype=np.int32), x.sum(axis=1, dtype=np.int32))


def mutants():
    code = program("int32", ADD.function, False, False, 1, 2, 2)
    return [pytest.param(mutant, id=f"{b.kind}:{b.before.span.line}") for b, mutant in without_barriers(code)]


@pytest.mark.parametrize("mutant", mutants())
def test_each_inferred_barrier_is_needed(mutant) -> None:
    x = ADD.data(5 * 24 * 6).reshape(5, 24, 6)
    with pytest.raises(RaceError):
        for schedule, seed in SCHEDULES:
            along_axis(ADD, x, False, True, 4, 1, mutant=mutant, schedule=schedule, seed=seed)


# -- Positions ------------------------------------------------------------------------------------------------------------


@functools.cache
def search(kind, beats, along, width, units=1):
    template = {
        "TI": kind, "T": kind, "U": "int32", "BEATS": beats, "THREADS": THREADS, "BLOCKS": 1, "UNITS": units, "ROWS": 2,
        "WIDTH": width, "ALONG": along and width > 1,
    }  # fmt: skip
    return prism.check(find, template)


def located(x, largest, along, wide, lanes, splits, width=2, units=1, **options):
    """Where the best element is along the middle axis; of several splits, found in two steps."""
    real = x.dtype.kind == "f"
    limits = np.array([-np.inf, np.inf]) if real else np.iinfo(x.dtype)
    weakest = (limits[0] if largest else limits[1]) if real else (limits.min if largest else limits.max)
    beats = getattr(positions, ("larger" if largest else "smaller") + ("_or_nan" if real else ""))
    blocks, numbers = geometry(x, along, wide, lanes, units, width, splits)
    outer, _, inner = x.shape
    code = search(str(x.dtype), beats, along, width, units)
    y, none = np.full(outer * splits * inner, -1), np.zeros(0, np.int64)
    bests = np.zeros(y.size if splits > 1 else 0, x.dtype)
    run(
        code,
        blocks,
        THREADS,
        (x.reshape(-1), none, bests, y, *numbers, weakest, splits > 1, False),
        check=True,
        **options,
    )
    if splits == 1:
        return y.reshape(outer, inner)
    code = search(str(x.dtype), beats, False, 1)
    blocks, numbers = geometry(bests.reshape(outer, splits, inner), False, wide, lanes, 1, 1, 1)
    found = np.full(outer * inner, -1)
    arguments = (bests, y, np.zeros(0, x.dtype), found, *numbers, weakest, False, True)
    run(code, blocks, THREADS, arguments, check=True, **options)
    return found.reshape(outer, inner)


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["int16", "float32"])
@pytest.mark.parametrize(("along", "wide", "lanes", "splits"), CUTS)
def test_positions(kind: str, along: bool, wide: bool, lanes: int, splits: int) -> None:
    random = np.random.default_rng(0)
    for outer, n, inner in [(5, 24, 6), (3, 2, 2)] if splits == 1 else [(5, 24, 6)]:
        x = random.integers(-5, 5, (outer, n, inner)).astype(kind)
        if kind == "float32":
            x[0, n // 2 :, 0] = np.nan
            x[1], x[2] = -np.inf, np.inf
        else:
            x[1], x[2] = np.iinfo(kind).min, np.iinfo(kind).max
        width = 1 if along else 2
        assert np.array_equal(located(x, True, along, wide, lanes, splits, width), x.argmax(axis=1))
        if kind == "float32" or splits > 1:
            assert np.array_equal(located(x, False, along, wide, lanes, splits, width), x.argmin(axis=1))


@pytest.mark.parametrize(("along", "width"), [(True, 1), (True, 4), (False, 1), (False, 2)])
@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_positions_of_several_short_units_a_thread(along: bool, width: int, lanes: int) -> None:
    random = np.random.default_rng(1)
    pace = width if along else 1
    for number, steps in enumerate(sorted({1, lanes, 2 * lanes - 1, 2 * lanes})):  # `ROWS` is 2
        x = random.integers(-3, 3, (29, steps * pace, 1 if along else 6)).astype(np.float32)
        x[0, -1:] = np.nan
        x[1], x[2] = -np.inf, np.inf
        largest = (number + lanes + width) % 2 == 1
        found = located(x, largest, along, False, lanes, 1, width, 3)
        assert np.array_equal(found, x.argmax(axis=1) if largest else x.argmin(axis=1))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.parametrize("wide", [False, True])
def test_schedules_of_searches(wide: bool, schedule: str, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-5, 5, (5, 24, 6)).astype(np.int32)
    for lanes, splits in ((1, 1), (8, 3), (32, 3)):
        found = located(x, True, False, wide, lanes, splits, schedule=schedule, seed=seed)
        assert np.array_equal(found, x.argmax(axis=1))


def test_the_first_of_equal_ones_across_everything_that_is_combined() -> None:
    for first, second in [(0, 1), (1, 2), (7, 8), (31, 32), (3, 700), (255, 256), (640, 641)]:
        x = np.zeros((1, 800, 1), np.int32)
        x[0, [first, second]] = 1
        for splits in (1, 5):
            assert located(x, True, True, True, 32, splits)[0, 0] == first


# -- The compiled kernels -------------------------------------------------------------------------------------------------


TYPES = [("uint8", "uint64"), ("int16", "uint64"), ("int32", "uint64"), ("float16", "float32"), ("float32", "float32"),
         ("float64", "float64")]  # fmt: skip


ARCHITECTURES = ("sm_90a", "sm_120")


QUARTERS = (0, 1, 2, 3)
"""Of what ships for a type: every fourth kernel. `make test` looks at one quarter of some, `make release-check` at all."""


@pytest.mark.parametrize(
    ("given", "kind", "arch", "quarter"),
    rarely(
        [(*types, arch, quarter) for types in TYPES for arch in ARCHITECTURES for quarter in QUARTERS],
        but=[("uint8", "uint64", "sm_90a", 0), ("float64", "float64", "sm_120", 1)],
    ),
)
def test_the_kernels_for_the_device_do_not_spill(given: str, kind: str, arch: str, quarter: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    zero = -0.0 if kind[0] == "f" else 0
    for instance in list(all_along(Work(BY_NAME["add"], given, kind, kind, zero, zero)))[quarter::4]:
        compiled = prism.compile(instance.kernel, dict(instance.template), arch=arch)
        assert compiled.spills == 0, instance.template


@pytest.mark.parametrize(
    ("kind", "arch", "quarter"),
    rarely(
        [
            (kind, arch, quarter)
            for kind in ("uint8", "int16", "int32", "float32", "float64")
            for arch in ARCHITECTURES
            for quarter in QUARTERS
        ],
        but=[("int16", "sm_120", 0), ("float64", "sm_90a", 1)],
    ),
)
def test_the_searches_for_the_device_do_not_spill(kind: str, arch: str, quarter: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    for instance in list(all_searches(Search(True, kind, kind, 0)))[quarter::4]:
        compiled = prism.compile(instance.kernel, dict(instance.template), arch=arch)
        widened = kind == "int16" and arch == "sm_120" and dict(instance.template)["UNITS"] == 2
        # Short rows alone: with one row a thread none would be spilled, and rows take 1.2 to 2.2 times as long on an H200.
        assert compiled.spills <= (68 if widened else 0), instance.template


@pytest.mark.parametrize("quarter", rarely(QUARTERS, but=[0]))
@pytest.mark.parametrize("kind", rarely(["complex64", "complex128"], but=["complex128"]))
def test_structs_have_kernels_for_the_device(kind: str, quarter: int) -> None:
    """What is not there is no zero: a struct has none."""
    pytest.importorskip("cuda.bindings.nvrtc")
    for instance in list(all_along(Work(BY_NAME["add"], kind, kind, kind, 0, 0)))[quarter::4]:
        assert prism.compile(instance.kernel, dict(instance.template), arch="sm_90a").spills == 0, instance.template
