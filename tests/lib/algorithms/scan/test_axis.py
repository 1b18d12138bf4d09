"""prism.lib.scan along axes, its options, and the cumulative functions, on NumPy arrays: against NumPy.

Tests of prism/lib/algorithms/cumulative/api.py; prism/lib/algorithms/scan/plan.py.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.exceptions import AxisError

import prism.lib as lib
from prism.host.machine import HOST, run_on_host
from prism.host.plan import OUT
from prism.kernels import scan as kernels
from prism.lib import scan
from prism.lib.algorithms.scan.plan import Shape, Task, columns, flat, on_device, plan, words_for
from prism.lib.operators import BY_NAME
from prism.runtime.arrays import describe
from tests.lib.oracles import AFFINE, CASES, Case
from tests.rarely import rarely

LAYOUTS = {
    "c": lambda x: x,
    "f": np.asfortranarray,
    "reversed": lambda x: x[::-1],
    "gaps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "swapped": lambda x: np.ascontiguousarray(x.swapaxes(0, -1)).swapaxes(0, -1),
    "other order": lambda x: x.astype(x.dtype.newbyteorder()),
}


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(0, 40), min_size=1, max_size=4).filter(lambda s: math.prod(s) < 4000),
    layout=st.sampled_from(list(LAYOUTS)),
    data=st.data(),
)
def test_axes(shape, layout, data) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    exclusive, reverse = data.draw(st.booleans()), data.draw(st.booleans())
    x = LAYOUTS[layout](np.random.default_rng(0).integers(-100, 100, shape).astype(np.int32))
    before = x.copy()
    y = scan(x, axis=axis, exclusive=exclusive, reverse=reverse, initial=3)
    z = np.flip(x, axis) if reverse else x
    wanted = np.cumsum(z, axis=axis, dtype=np.int32) + np.int32(3) - (z if exclusive else np.int32(0))
    assert np.array_equal(y, np.flip(wanted, axis) if reverse else wanted)
    assert y.shape == x.shape and y.dtype == np.int32 and np.array_equal(x, before)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("shape", [(3, 50, 4), (70, 7), (7, 70), (2, 2, 3, 5)])
def test_operators_along_axes(case: Case, shape) -> None:
    x = case.data(math.prod(shape)).reshape(shape)
    for axis in range(len(shape)):
        found = scan(x, case.operator, axis=axis)
        assert np.array_equal(found, np.apply_along_axis(case.inclusive, axis, x))


def test_an_operator_that_does_not_commute_from_the_end() -> None:
    case = Case(AFFINE, np.dtype("uint64"), CASES[-1].meaning)
    x = case.data(600).reshape(20, 30)
    for axis in (0, 1):
        found = scan(x, AFFINE, axis=axis, reverse=True)
        wanted = np.flip(np.apply_along_axis(case.inclusive, axis, np.flip(x, axis)), axis)
        assert np.array_equal(found, wanted)


def test_layouts_are_kept() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    assert scan(x.T, axis=0).flags.f_contiguous
    assert scan(x.swapaxes(0, 1), axis=0).strides == x.swapaxes(0, 1).strides
    assert scan(x[:, ::2], axis=0).flags.c_contiguous


def test_out_along_an_axis() -> None:
    x = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    for axis in range(3):
        out = np.empty_like(x)
        assert scan(x, axis=axis, out=out) is out and np.array_equal(out, np.cumsum(x, axis, dtype=np.int32))
        same = x.copy()
        scan(same, axis=axis, out=same)
        assert np.array_equal(same, out)
        assert np.array_equal(scan(x.T, axis=2 - axis, out=np.empty((5, 4, 3), np.int32)), out.T)
    with pytest.raises(ValueError, match=r"`out` must have shape \(3, 4, 5\)"):
        scan(x, axis=0, out=np.empty(60, np.int32))


def test_a_result_of_another_size_over_its_elements() -> None:
    room = np.zeros(8000, np.uint8)
    x = room[:1000].view(np.int8)
    x[:] = np.random.default_rng(0).integers(-100, 100, 1000)
    wanted = np.cumsum(x)
    assert np.array_equal(scan(x, dtype=np.int64, out=room.view(np.int64)), wanted)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_floats_of_16_bits_are_added_up_as_float32(kind: str) -> None:
    if kind == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = np.random.default_rng(0).random(3000).astype(np.float32).astype(kind)
    for axis, view in ((None, x), (0, x.reshape(60, 50)), (1, x.reshape(60, 50))):
        found = scan(view, axis=axis)
        exact = np.cumsum(view.astype(np.float64), axis=axis)
        half_ulp = 2.0**-11 if kind == "float16" else 2.0**-8
        assert found.dtype == x.dtype
        assert (np.abs(found.astype(np.float64) - exact) <= exact * (half_ulp + 3000 * 2.0**-24)).all()
    assert scan(x, dtype=np.float64).dtype == np.float64
    assert np.array_equal(scan(x, "maximum"), np.maximum.accumulate(x))


def test_bools() -> None:
    x = np.random.default_rng(0).random((6, 50)) < 0.1
    for name in ("maximum", "minimum", "bitwise_or", "bitwise_and", "bitwise_xor"):
        found = scan(x, name, axis=1)
        assert found.dtype == bool and np.array_equal(found, getattr(np, name).accumulate(x, axis=1))
    assert (
        scan(x[:, :1], "minimum", axis=1, exclusive=True).all()
        and not scan(x[:1], "maximum", axis=0, exclusive=True).any()
    )
    assert np.array_equal(scan(x, axis=0, dtype="int8"), np.cumsum(x, 0, dtype="int8"))


@pytest.mark.parametrize("initial", ["a", None, [1], 1.5, 2**40, 1j])
def test_initials_that_are_no_numbers_of_the_dtype(initial) -> None:
    if initial is None:
        assert np.array_equal(scan(np.arange(3), initial=None), [0, 1, 3])
    else:
        with pytest.raises(TypeError, match="`initial` must be a number of int32"):
            scan(np.zeros(3, np.int32), initial=initial)


def test_an_initial_of_bools_is_a_bool() -> None:
    """2 would be stored as a bool of that bit pattern."""
    x = np.array([False, True])
    assert scan(x, "maximum", initial=True).all() and scan(x, "bitwise_xor", initial=1).tolist() == [True, False]
    for initial in (2, -1, 0.5):
        with pytest.raises(TypeError, match=f"`initial` must be a number of bool, not {initial}"):
            scan(x, "maximum", initial=initial)


@pytest.mark.parametrize("axis", [2, -3, 1.0, "0", (0, 1), True])
def test_wrong_axes(axis) -> None:
    error = AxisError if type(axis) is int else TypeError
    for function in (lib.scan, lib.cumsum, lib.cumprod, lib.cummax, lib.cummin):
        with pytest.raises(error):
            function(np.zeros((2, 3)), axis=axis)


# -- cumsum and its kin ---------------------------------------------------------------------------------------------------

PAIRS = [
    (lib.cumsum, np.cumsum),
    (lib.cumprod, np.cumprod),
    (
        lib.cummax,
        lambda x, axis: np.maximum.accumulate(x.reshape(-1) if axis is None else x, 0 if axis is None else axis),
    ),
    (
        lib.cummin,
        lambda x, axis: np.minimum.accumulate(x.reshape(-1) if axis is None else x, 0 if axis is None else axis),
    ),
]
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("pair", "kind"),
    rarely(
        itertools.product(PAIRS, DTYPES),
        but=[
            (p, k)
            for p, k in itertools.product(PAIRS, DTYPES)
            if p is PAIRS[0] or k in ("bool", "uint8", "int64", "float32")
        ],
    ),
    ids=lambda value: value if isinstance(value, str) else value[0].__name__,
)
def test_promotion(kind: str, pair) -> None:
    x = np.random.default_rng(0).integers(0, 3, (5, 6)).astype(kind)  # exact, in float16 too
    for axis in (None, 0, 1, -1):
        with np.errstate(over="ignore"):
            found, wanted = pair[0](x, axis), pair[1](x, axis)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape and np.array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (2, 1, 3)])
def test_cumsum_of_odd_shapes(shape) -> None:
    x = np.ones(shape)
    for axis in (None, 0, -1):
        found, wanted = lib.cumsum(x, axis), np.cumsum(x, axis)
        assert found.shape == wanted.shape and np.array_equal(found, wanted)


def test_cumsum_with_dtype_and_out() -> None:
    x = np.random.default_rng(0).integers(-100, 100, (7, 9)).astype(np.int8)
    for axis in (None, 0, 1):
        shape = np.cumsum(x, axis).shape
        for dtype in (np.int8, "float32", float):
            assert np.array_equal(lib.cumsum(x, axis, dtype), np.cumsum(x, axis, dtype))
            assert lib.cumsum(x, axis, dtype).dtype == np.dtype(dtype)
        for out in (
            np.empty(shape, np.int64),
            np.empty(shape, np.int16),
            np.empty((*shape[:-1], 2 * shape[-1]))[..., ::2],
        ):
            wanted = np.cumsum(x, axis, dtype=out.dtype)
            assert lib.cumsum(x, axis, out=out) is out and np.array_equal(out, wanted)
    with pytest.raises(ValueError, match="`out` must have shape"):
        lib.cumsum(x, 0, out=np.empty(63))


def test_extrema_are_of_the_elements_and_then_cast() -> None:
    """As `numpy.minimum.accumulate`: 300 and -129 are taken for what they are, not for 44 and 127."""
    x = np.array([[300, 2], [-129, 5]])
    for found, wanted in ((lib.cummax, np.maximum), (lib.cummin, np.minimum)):
        out = np.empty((2, 2), np.int8)
        assert found(x, 0, out=out) is out and np.array_equal(out, wanted.accumulate(x, 0).astype(np.int8))


def test_nan_goes_on() -> None:
    x = np.array([[1.0, np.nan, 3.0], [np.nan, 0.0, 5.0]])
    for axis in (0, 1):
        for found, wanted in ((lib.cummax, np.maximum), (lib.cummin, np.minimum)):
            assert np.array_equal(found(x, axis), wanted.accumulate(x, axis), equal_nan=True)


@pytest.mark.parametrize("a", [{1}, None, "abc"])
def test_what_is_no_array(a) -> None:
    for function in (lib.cumsum, lib.cumprod, lib.cummax, lib.cummin, lib.cumulative_sum):
        with pytest.raises(TypeError):
            function(a)


@pytest.mark.parametrize("kind", ["clongdouble", "O", "M8[s]"])
@pytest.mark.parametrize("name", ["cumsum", "cummax", "cumulative_prod"])
def test_dtypes_that_are_not_supported(name: str, kind: str) -> None:
    """The message speaks of what the caller wrote: its function, and the argument's own name."""
    function, x, y = getattr(lib, name), np.zeros(3), np.zeros(3, kind)
    with pytest.raises(
        TypeError, match=rf"`{'x' if '_' in name else 'a'}` has dtype .*, which {name} does not support"
    ):
        function(y)
    with pytest.raises(TypeError, match=rf"`dtype` is dtype .*, which {name} does not support"):
        function(x, dtype=kind)
    if name != "cummax":  # whose result may be cast to anything
        with pytest.raises(TypeError, match=rf"`out` has dtype .*, which {name} does not support"):
            function(x, out=y)


@pytest.mark.parametrize("include_initial", [False, True])
@pytest.mark.parametrize("kind", ["int8", "uint16", "float32"])
def test_cumulative_sum(include_initial: bool, kind: str) -> None:
    x = np.random.default_rng(0).integers(0, 9, (3, 4, 5)).astype(kind)
    default = np.cumsum(x).dtype
    for axis in (0, 1, -1):
        sums, products = np.cumsum(x, axis), np.cumprod(x, axis)
        if include_initial:
            first = [(1, 0) if k == axis % 3 else (0, 0) for k in range(3)]
            sums, products = np.pad(sums, first), np.pad(products, first, constant_values=1)
        found = lib.cumulative_sum(x, axis=axis, include_initial=include_initial)
        assert found.dtype == default and np.array_equal(found, sums)
        assert np.array_equal(lib.cumulative_prod(x, axis=axis, include_initial=include_initial), products)
        out = np.empty(sums.shape, np.float64)
        assert lib.cumulative_sum(x, axis=axis, include_initial=include_initial, out=out) is out
        assert np.array_equal(out, sums)
    flat_ = x.reshape(-1)
    assert np.array_equal(lib.cumulative_sum(flat_), np.cumsum(flat_))
    with pytest.raises(ValueError, match="`axis` must be given"):
        lib.cumulative_sum(x)


def test_what_a_cumulative_sum_begins_with_is_written_last() -> None:
    """It may be an element of the array; and a call that is refused writes nothing."""
    x = np.arange(1, 6)
    assert lib.cumulative_sum(x[:-1], include_initial=True, out=x) is x and x.tolist() == [0, 1, 3, 6, 10]
    with pytest.raises(TypeError, match="`x` has dtype object"):
        lib.cumulative_sum(np.zeros(4, object), include_initial=True, out=x)
    assert x.tolist() == [0, 1, 3, 6, 10]


# -- Which kernel a GPU would run -----------------------------------------------------------------------------------------


SAME = ("int32", "int32")


def task(kind: str = "float32", given: str | None = None) -> Task:
    return Task(BY_NAME["add"], given or kind, kind)


@pytest.mark.parametrize("log", range(27))
@pytest.mark.parametrize("kind", ["int8", "float32", "int64"])
def test_every_shape_of_2_to_the_26_elements_has_work_for_the_whole_gpu(log: int, kind: str) -> None:
    for aligned in (True, False):
        shape = Shape(1, 1 << log, 1 << (26 - log), aligned)
        way = on_device(task(kind), shape, 132)
        assert way.blocks >= 0.9 * 132 and way.blocks >= way.multiple
        if way.kernel is kernels.scan_columns_shared:
            assert way.columns <= 32 and way.words * way.columns >= -(-shape.n * way.columns // (256 * 24))
        if "WIDTH" in way.template and way.kernel in (kernels.scan_columns, kernels.scan_columns_shared):
            assert shape.inner % way.template["WIDTH"] == 0


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("types", "multiprocessors"),
    [(types, n) for types in (SAME, ("int8", "int64"), ("int8", "int8")) for n in (1, 2, 8) if n == 8 or types == SAME],
    ids=lambda value: value if isinstance(value, int) else " to ".join(value),
)
@pytest.mark.parametrize(
    "shape",
    [(1, 900, 1), (1, 9000, 1), (1, 70_001, 1), (9, 700, 1), (700, 9, 1), (2, 1, 500), (1, 3000, 2), (2, 3000, 3), (1, 900, 16),
     (1, 900, 17), (1, 300, 64), (2, 50, 260), (1, 7, 3000), (2, 400, 33)],
)  # fmt: skip
def test_what_a_gpu_would_run(shape, multiprocessors: int, types) -> None:
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(types[0])
    ways = ((True, False), (False, True))
    for aligned, reverse in ways if multiprocessors == 2 else ways[multiprocessors % 2 :][:1]:
        y, what = np.empty(shape, types[1]), Task(BY_NAME["add"], *types, reverse=reverse)
        way = on_device(what, Shape(*shape, aligned), multiprocessors)
        if way.kernel in (
            kernels.scan_columns_shared,
            kernels.scan_whole_rows,
        ):  # as many blocks as share each strip where they are all resident
            way = replace(way, blocks=min(way.blocks, 3 * way.multiple))
        elif way.kernel is not kernels.scan_once:
            way = replace(way, blocks=min(way.blocks, 4))  # of columns: any number
        run_on_host(
            plan(way, what, what.identity(), HOST), {"x": describe(x), OUT: describe(y)}, check=way.blocks <= 64
        )
        z = np.flip(x, 1) if reverse else x
        wanted = np.cumsum(z, axis=1, dtype=types[1])
        assert np.array_equal(y, np.flip(wanted, 1) if reverse else wanted), way.kernel


def test_ways() -> None:
    assert flat(task(), Shape(1, 1000, 1, True)).kernel is kernels.scan_block
    assert flat(task(), Shape(1, 2**16, 1, True)).kernel is kernels.scan_once
    assert flat(task(), Shape(1, 2**16, 1, True)).blocks == 32
    assert flat(task(), Shape(1, 2**24, 1, True)).kernel is kernels.scan
    assert on_device(task(), Shape(10, 100, 1), 132).kernel is kernels.scan_segments
    assert (
        on_device(task(), Shape(10, 1, 100), 132).kernel is kernels.scan_segments
    )  # of one element each: such kernels ship
    assert columns(task(), Shape(1, 100, 2**20, True), 132).template["WIDTH"] == 4
    assert columns(task(), Shape(1, 100, 2**20 + 2, True), 132).template["WIDTH"] == 1
    assert columns(task(), Shape(1, 100, 2**20, False), 132).template["WIDTH"] == 1
    few = [columns(task(), Shape(1, n, 33, True), 132) for n in (1_000_003, 30_000)]
    assert all(way.kernel is kernels.scan_whole_rows for way in few)
    assert few[0].threads > few[1].threads and few[1].blocks > 132 and few[0].columns == few[1].columns == 64
    for way in ((1, 1_000_003, 5), (1, 1_000_003, 300), (1, 1_000_003, 32)):
        assert columns(task(), Shape(*way, True), 132).kernel is not kernels.scan_whole_rows
    assert words_for(1) == 4096 and words_for(4097) == 16384


def test_vectors_are_of_16_bytes_at_most() -> None:
    assert task("int64", "int8").width(16) == 2
    assert task("int32", "int64").width(32) == 2
    assert task("float16", "float16").width(32) == 8
    assert task("float32", "float16").width(32) == 4
