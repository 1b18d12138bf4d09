"""The plans that reductions make for a GPU, run on the reference machine: vectors, splits, several stages, all that is cut.

Tests of prism/lib/algorithms/reduce: axis_plan, steps.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.host.axes import c_strides, collapse, drop_axes
from prism.host.machine import run_on_host
from prism.host.plan import OUT
from prism.kernels.reduce import AXIS
from prism.lib.algorithms.reduce.axis_plan import cut
from prism.lib.algorithms.reduce.plan import plan_reduction, plan_search, stages
from prism.lib.algorithms.reduce.steps import Search, Work, word_bytes
from prism.lib.operators import BY_NAME
from prism.runtime.arrays import describe
from tests.lib.oracles import LAST
from tests.rarely import rarely

ADD = BY_NAME["add"]


class Small:
    """A GPU of few multiprocessors, so that small arrays are cut as large ones are on a large one."""

    host = False

    def __init__(self, multiprocessors: int = 2, arch: str = "sm_90a") -> None:
        self.multiprocessors, self.arch = multiprocessors, arch

    def wave(self, instance: Any, threads: int) -> int:
        return int(dict(instance.template)["BLOCKS"]) * self.multiprocessors  # as many as the launch bounds ask for


def sum_of(given: str, result: str) -> Work:
    real = given.startswith("float")
    kind = "float32" if given == "float16" else given if real else "uint64"
    return Work(ADD, given, kind, result if real else "uint64", -0.0 if real else 0, -0.0 if real else 0)


def perform(plan, x, results: int, kind: str, check: bool = False):
    """What a plan makes of an array's elements, from the first one on."""
    y = np.zeros(results, kind)
    run_on_host(plan, {"x": describe(x), OUT: describe(y)}, check=check)
    return y


def aligned(elements: int, kind: str, shift: int = 0):
    """Random numbers whose first is `shift` elements past a multiple of 16 bytes."""
    size = np.dtype(kind).itemsize
    room = np.zeros(elements + 64, kind)
    start = (-room.__array_interface__["data"][0] % 16) // size + shift
    x = room[start : start + elements]
    x[...] = np.random.default_rng(elements).integers(-9, 9, elements)
    return x


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_whole_arrays(kind: str, shift: int) -> None:
    for n in (1, 3, 31, 33, 1000, 100_003):
        x = aligned(n, kind, shift)
        work = sum_of(kind, kind)
        plan = plan_reduction(work, stages((n,), (1,), (0,), True), x.__array_interface__["data"][0] % 16, Small(1))
        found = perform(plan, x, 1, work.result).view("int64" if kind.startswith("i") else kind)[0]
        wanted = x.sum(dtype=float)
        assert found == (wanted if x.dtype.kind == "i" else wanted.astype(kind))


def test_tensor_cores_add_up_float64_where_there_are_many_units() -> None:
    def tensor(work: Work, arch: str = "sm_90a") -> bool:
        (step,) = plan_reduction(work, stages((70_000,), (1,), (0,), True), 0, Small(132, arch)).steps
        return bool(dict(step.instance.template)["TENSOR"])

    doubles = sum_of("float64", "float64")
    assert all(tensor(doubles, arch) for arch in ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a"))
    assert not any(tensor(doubles, arch) for arch in ("", "sm_75", "sm_86", "sm_89", "sm_103a", "sm_120a"))
    assert tensor(doubles) and tensor(replace(doubles, given="float32")) and tensor(replace(doubles, given="int8"))
    for other in (
        sum_of("float32", "float32"),
        sum_of("int64", "int64"),
        replace(doubles, operator=BY_NAME["multiply"]),
    ):
        assert not tensor(other)


def test_small_arrays_take_one_block_and_tiny_ones_a_warp() -> None:
    def shape(n: int, kind: str = "int32") -> tuple[int, int]:
        step = plan_reduction(sum_of(kind, kind), stages((n,), (1,), (0,), True), 0, Small(132)).steps[0]
        return step.blocks, step.threads

    assert shape(1) == shape(128) == (1, 32)
    assert shape(260) == (1, 96)
    assert shape(8192) == (1, 512)
    assert shape(8196) == (5, 128)
    assert shape(1 << 18) == (128, 128)
    assert shape(1 << 20) == (128, 512)
    assert shape((1 << 20) + 4) == (129, 1024)  # 257 rows of vectors: two a block, but for one of them
    assert shape(1 << 22) == shape(1 << 23) == shape(3 << 22) == (128, 1024)
    assert shape((3 << 22) + 4) == (257, 512)
    assert shape(1 << 28) == (264, 512)
    assert shape(1 << 20, "int64") == (256, 512)
    assert shape(1 << 21, "int64") == shape(1 << 22, "int64") == (128, 1024)
    assert shape(1 << 23, "int64") == (264, 512)  # 32 rows a block: equal shares gain nothing
    assert shape(1 << 23, "int8") == (256, 512)


# -- Columns in one launch ------------------------------------------------------------------------------------------------


def test_columns_that_one_launch_reduces() -> None:
    def launches(n: int, inner: int, kind: str = "float32", misaligned: int = 0) -> list[tuple[int, int]]:
        stage = collapse((n, inner), (inner, 1), (0,))
        plan = plan_reduction(sum_of(kind, kind), [stage], misaligned, Small(132))
        assert (plan.scratch > 0) == (len(plan.steps) > 1)
        return [(step.blocks, step.threads) for step in plan.steps]

    assert launches(64, 256) == [(8, 128)]
    assert launches(1024, 1024) == [(64, 512)]
    assert launches(4096, 1024) == [(64, 512)]
    assert len(launches(4096, 256)) == 2  # longer, and of few results
    assert len(launches(1024, 1024, misaligned=4)) == 2  # no whole vectors
    assert len(launches(1 << 20, 64)) == 2
    assert len(launches(1024, 1024, "int8")) == 2


@pytest.mark.parametrize("kind", ["float32", "int64"])
@pytest.mark.parametrize("shape", [(100, 36), (256, 16), (300, 20), (512, 24), (1000, 8), (700, 64)], ids=str)
def test_columns_in_one_launch(kind: str, shape: tuple[int, int]) -> None:
    x = aligned(shape[0] * shape[1], kind)
    work = sum_of(kind, kind)
    plan = plan_reduction(work, [collapse(shape, (shape[1], 1), (0,))], 0, Small(132))
    assert len(plan.steps) == 1
    found = perform(plan, x, shape[1], work.result, check=True).view(kind)
    assert np.array_equal(found, x.reshape(shape).sum(axis=0))


SHAPES = [
    ((3, 4096), (1,)), ((4096, 3), (0,)), ((700, 16), (1,)), ((700, 16), (0,)), ((5, 33, 7), (1,)), ((5, 33, 7), (0, 2)),
    ((64, 4), (1,)), ((2000, 4), (1,)), ((4, 2000), (0,)), ((1, 50_000), (1,)), ((50_000, 1), (0,)), ((3, 5000, 2), (1,)),
    ((129, 130), (0,)), ((130, 129), (1,)), ((4, 6, 8, 10), (0, 2)), ((4, 6, 8, 10), (1, 3)), ((9, 9), ()),
]  # fmt: skip


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["int8", "int32", "float64"])
@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_axes(kind: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = aligned(int(np.prod(shape)), kind)
    work = sum_of(kind, kind)
    plan = plan_reduction(work, stages(shape, c_strides(shape), axes, True), 0, Small())
    wanted = x.reshape(shape).sum(axis=axes, dtype=float)
    found = perform(plan, x, wanted.size, work.result, check=x.size < 3000).view("int64" if kind[0] == "i" else kind)
    assert np.array_equal(found, wanted.ravel())


@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_axes_in_order(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = aligned(int(np.prod(shape)), "int32")
    x[np.random.default_rng(0).random(x.size) < 0.9] = 0
    work = Work(LAST, "int32", "int32", "int32", 0, 0)
    plan = plan_reduction(work, stages(shape, c_strides(shape), axes, False), 0, Small())
    found = perform(plan, x, int(np.prod(drop_axes(shape, axes))), "int32")
    kept = [k for k in range(len(shape)) if k not in axes]
    rows = x.reshape(shape).transpose(*kept, *axes).reshape(found.size, -1)
    wanted = [next((v for v in row[::-1] if v), 0) for row in rows]
    assert found.tolist() == wanted


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", rarely(["int8", "int32", "float64"], but=["int8", "float64"]))
@pytest.mark.parametrize(
    "shape", [(3, 4096), (4096, 3), (700, 16), (64, 4), (5, 33, 7), (1, 50_000), (3, 5000, 2)], ids=str
)
def test_searches(kind: str, shape: tuple[int, ...]) -> None:
    x = aligned(int(np.prod(shape)), kind)
    for axis in range(len(shape)):
        for largest in (True, False):
            weakest = (
                (-np.inf if largest else np.inf)
                if kind[0] == "f"
                else getattr(np.iinfo(kind), "min" if largest else "max")
            )
            stage = collapse(shape, c_strides(shape), (axis,))
            plan = plan_search(Search(largest, kind, kind, weakest), stage, 0, Small())
            wanted = (np.argmax if largest else np.argmin)(x.reshape(shape), axis=axis)
            assert np.array_equal(perform(plan, x, wanted.size, "int64"), wanted.ravel())


def searching(kind: str, size: int, largest: bool, misaligned: int, multiprocessors: int):
    """How a GPU finds a position in a whole array."""
    real = kind.startswith("float")
    dtype = "float32" if kind == "float16" else kind
    limits = (-np.inf, np.inf) if real else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    search = Search(largest, kind, dtype, limits[0] if largest else limits[1])
    return plan_search(search, collapse((size,), (1,), (0,)), misaligned, Small(multiprocessors))


def positions(x, largest: bool, shift: int = 0, multiprocessors: int = 2):
    """Where a GPU's plan finds the largest or the smallest element of an array, whose first is `shift` past 16 bytes."""
    kind = x.dtype.name
    room = aligned(x.size, kind, shift)
    room[:] = x
    plan = searching(kind, x.size, largest, shift * x.itemsize, multiprocessors)
    assert len(plan.steps) == 1
    return int(perform(plan, room, 1, "int64")[0])


def check_both_positions(x, shift: int = 0) -> None:
    assert positions(x, True, shift) == x.argmax()
    assert positions(x, False, shift) == x.argmin()


SEARCHED = ["uint8", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("kind", SEARCHED)
def test_the_first_position_of_a_whole_array(kind: str) -> None:
    n = 2500 * (8 // np.dtype(kind).itemsize)
    check_both_positions(np.ones(n, kind))
    check_both_positions((np.arange(n) * 100 // n).astype(kind))  # each value many times: a new best in most vectors
    check_both_positions((np.arange(n)[::-1] * 100 // n).astype(kind))
    lowest = np.full(n, -np.inf if kind[0] == "f" else np.iinfo(kind).min).astype(kind)
    check_both_positions(lowest)  # beaten by nothing, and no better than what is not there
    for at in (0, 1, 7, 8, 15, n // 2, n - 9, n - 1):
        lowest[at] = 1
        assert positions(lowest, True) == min(np.flatnonzero(lowest == 1))
        lowest[at] = lowest[at - 1 if at else 1]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_the_first_nan_of_a_whole_array(kind: str) -> None:
    random = np.random.default_rng(0)
    for base in (random.standard_normal(3000).astype(kind), np.full(3000, np.inf, kind), np.full(3000, -np.inf, kind)):
        for at in (0, 2999, *range(1024, 1032)):  # each place of a vector
            x = base.copy()
            x[[at, 2999]] = np.nan
            check_both_positions(x)
    zeros = np.where(np.arange(3000) % 3 == 1, 0.0, -0.0).astype(kind)
    check_both_positions(zeros)  # equal ones
    check_both_positions(np.full(3000, np.nan, kind))


@pytest.mark.parametrize("kind", SEARCHED)
@pytest.mark.parametrize("shift", [1, 3])
def test_positions_before_vectors_and_behind_them(kind: str, shift: int) -> None:
    for at in (0, 1, 2, 15, 1500, 2996, 2998, 2999):
        x = np.full(3000, 5, kind)
        x[at] = 6
        x[-1] = max(x[-1], 6)
        assert positions(x, True, shift) == at
        x = np.full(3000, 5, kind)
        x[at] = 4
        assert positions(x, False, shift) == at


@pytest.mark.parametrize("kind", SEARCHED)
def test_positions_found_by_several_blocks(kind: str) -> None:
    n = 160_000 // np.dtype(kind).itemsize + 1
    x = np.full(n, 3, kind)
    for at in (n - 1, n // 2, 5):  # the last block, one between, and the first one
        x[at] = 4
        assert positions(x, True, multiprocessors=2) == positions(x, True, multiprocessors=132) == at


# Of 132 multiprocessors, by elements of 2^log: the launches whose times on one H200 are in docs/measurements/reductions.md.
SHARED = [
    ("float32", 20, 128, 512), ("float32", 22, 128, 1024), ("float32", 24, 132, 1024), ("int64", 18, 128, 256),
    ("int64", 19, 128, 512), ("int64", 20, 128, 1024), ("int64", 22, 128, 1024), ("int16", 20, 128, 256), ("int16", 24, 256, 512),
    ("uint8", 18, 64, 128), ("uint8", 22, 512, 256), ("uint8", 24, 391, 256),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "log", "blocks", "threads"), SHARED)
def test_how_many_blocks_search(kind: str, log: int, blocks: int, threads: int) -> None:
    (step,) = searching(kind, 1 << log, True, 0, 132).steps
    assert (step.blocks, step.threads) == (blocks, threads)


def test_units_that_int32_does_not_count() -> None:
    stage = collapse((2**31, 2), (2, 1), (1,))
    plan = plan_reduction(sum_of("int8", "int8"), [stage], 0, Small(132))
    (step,) = plan.steps
    assert step.instance.program.entry.parameters[2].type.name == "int64"
    assert step.blocks * step.threads * 4 >= 2**31


# -- How an axis is cut ---------------------------------------------------------------------------------------------------


@given(
    outer=st.integers(1, 5000), n=st.integers(1, 300_000), inner=st.integers(1, 5000), size=st.sampled_from([1, 2, 4, 8]),
    misaligned=st.sampled_from([0, 8]), wave=st.sampled_from([1, 64, 528]), along=st.booleans(), ordered=st.booleans(),
)  # fmt: skip
@settings(max_examples=300)
def test_cuts_cover_everything(
    outer: int, n: int, inner: int, size: int, misaligned: int, wave: int, along: bool, ordered: bool
) -> None:
    shape = (outer, n) if along else (outer, n, inner)
    stage = collapse(shape, c_strides(shape), (1,))
    configuration = AXIS[size]
    how = cut(stage, size, misaligned, configuration, wave, ordered=ordered)
    each = 1 if how.along else how.width
    assert how.across * each == stage.inner
    assert (how.splits - 1) * how.chunk < n <= how.splits * how.chunk
    whole = misaligned % (how.width * size) == 0 and stage.n % how.width == 0
    if how.along and (ordered or how.kernel.units > 1):
        assert how.width == 1 or (whole and (how.chunk % how.width == 0 or how.splits == 1))
    elif not how.along and how.width > 1:
        assert misaligned % (how.width * size) == 0
    units = stage.outer * how.across * how.splits
    block = 32 // how.lanes * (1 if how.wide else how.kernel.units * how.threads // 32)
    assert (how.blocks - 1) * block < units <= how.blocks * block
    assert how.kernel.units == 1 or (how.splits == 1 and not how.wide)
    assert how.width * size <= 16 and 1 <= how.lanes <= 32 and how.lanes & (how.lanes - 1) == 0
    assert how.threads <= how.kernel.threads


def test_cuts_of_the_usual_shapes() -> None:
    def of(outer: int, n: int, inner: int):
        return cut(collapse((outer, n, inner), c_strides((outer, n, inner)), (1,)), 4, 0, AXIS[4], 660)

    rows = of(8192, 8192, 1)
    assert (rows.along, rows.lanes, rows.width, rows.wide, rows.splits) == (True, 32, 4, False, 1)
    columns = of(1, 8192, 8192)
    assert (columns.along, columns.lanes, columns.width, columns.wide, columns.splits) == (False, 1, 4, True, 10)
    short = of(1 << 24, 4, 1)
    assert (short.lanes, short.kernel.units) == (1, 4)  # a row is one load of a lane
    long = of(4, 1 << 24, 1)
    assert long.wide and long.splits * 4 == 660
    narrow = of(1, 1 << 24, 4)
    assert (narrow.lanes, narrow.wide, narrow.splits) == (32, True, 660)  # eight rows a quarter-warp, side by side


def test_words() -> None:
    assert [word_bytes(kind) for kind in ("int8", "float32", "uint64")] == [8, 8, 16]
