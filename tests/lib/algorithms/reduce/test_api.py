"""prism.lib.reduce and the reductions that NumPy names, on NumPy arrays: against NumPy, and the errors that it raises.

Tests of prism/lib/algorithms/reduce: calls, where.
"""

import itertools
import math
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.exceptions import AxisError

from prism import lib
from prism.lib import Operator
from prism.lib.thread import operators as functions
from tests.lib.oracles import AFFINE, CASES, LAST, Case
from tests.rarely import rarely

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, "float16", "float32", "float64"]
NAMES = ["sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "count_nonzero"]


def numbers(shape, kind: str, seed: int = 0):
    """Random elements; floats are small integers, whose sums are exact in any order."""
    random = np.random.default_rng(seed)
    if kind == "bool":
        return np.asarray(random.random(shape) < 0.5)
    if kind.startswith("float"):
        return np.asarray(random.integers(-4, 5, shape)).astype(kind)
    return np.asarray(random.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind, endpoint=True))


def check(name: str, x, **options) -> None:
    """Compare a reduction with NumPy's: value, dtype, shape, and whether it is a scalar."""
    if name == "prod" and x.dtype.kind == "f":
        x = np.asarray(np.sign(x))
    found = getattr(lib, name)(x, **options)
    with np.errstate(over="ignore"):
        wanted = getattr(np, name)(x, **options)
    if name == "count_nonzero":
        wanted = np.asarray(wanted, np.int64)[()]
    assert type(found) is type(wanted), (type(found), type(wanted))
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f"), (x, found, wanted)


FEW = ["bool", "int8", "uint64", "float32"]
GRID = [(name, kind) for name in NAMES for kind in (DTYPES if name in ("sum", "max", "argmin") else FEW)]


@pytest.mark.parametrize(("name", "kind"), GRID)
def test_whole_arrays(name: str, kind: str) -> None:
    for size in (1, 2, 31, 32, 33, 4097):
        check(name, numbers(size, kind))


OFTEN = [(n, k) for n, k in GRID if k in (FEW if n in ("sum", "max", "argmin") else FEW[::3])]
"""What an axis adds to a function is its kernel, which is one for all that accumulate: `test_whole_arrays` has all dtypes."""


@pytest.mark.parametrize(("name", "kind"), rarely(GRID, but=OFTEN))
def test_axes(name: str, kind: str) -> None:
    for shape in [(5, 7), (3, 40, 5)]:
        for axis in range(-1, len(shape) - 1):
            check(name, numbers(shape, kind), axis=axis)


@pytest.mark.parametrize("name", ["sum", "max", "any", "count_nonzero"])
def test_several_axes(name: str) -> None:
    x = numbers((3, 4, 5, 6), "int32")
    for axis in [(0, 1), (1, 3), (0, 2), (-1, 0, 1), (), (0, 1, 2, 3)]:
        for keepdims in (False, True):
            check(name, x, axis=axis, keepdims=keepdims)


@st.composite
def cases(draw):
    shape = draw(st.lists(st.integers(1, 6), min_size=0, max_size=4))
    x = numbers(tuple(shape), draw(st.sampled_from(["int8", "uint16", "int32", "float32"])), draw(st.integers(0, 9)))
    x = x.transpose(draw(st.permutations(range(x.ndim))))
    steps = [slice(None), slice(None, None, 2), slice(None, None, -1)]
    x = x[(..., *(draw(st.sampled_from(steps)) for _ in shape))]
    axes = [k for k in range(x.ndim) if draw(st.booleans())]
    return x, axes, draw(st.booleans())


@given(cases())
@settings(max_examples=60, deadline=None)
def test_any_view_any_axes(case) -> None:
    x, axes, keepdims = case
    check("sum", x, axis=tuple(axes), keepdims=keepdims)
    check("min", x, axis=tuple(a - x.ndim for a in axes), keepdims=keepdims)
    if len(axes) == 1:
        check("argmax", x, axis=axes[0], keepdims=keepdims)
    check("argmin", x, keepdims=keepdims)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case) -> None:
    op = case.operator if case.operator in (LAST, AFFINE) else case.operator.name
    for size in (1, 33, 5000):
        x = case.data(size)
        found = lib.reduce(x, op)
        assert found.dtype == x.dtype and found == case.inclusive(x)[-1]
        assert lib.reduce(x.reshape(1, -1), op, axis=1) == found
        assert lib.reduce(np.stack([x, x], axis=1), op, axis=0).tolist() == [found, found]


def test_an_operator_that_does_not_commute_goes_in_c_order() -> None:
    x = np.zeros((4, 5, 6), np.int32)
    x[2, 1], x[1, 4, 5], x[3, 0, 0] = 7, 8, 9
    assert lib.reduce(x, LAST) == 9 and lib.reduce(x.T, LAST) == 8
    assert np.array_equal(lib.reduce(x, LAST, axis=(0, 2)), [9, 7, 0, 0, 8])
    assert lib.reduce(np.asfortranarray(x), LAST) == 9


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_float_sums(kind: str) -> None:
    for size in (1, 33, 1000, 100_003):
        x = np.random.default_rng(size).standard_normal(size).astype(kind)
        exact = math.fsum(x.tolist())
        eps = np.finfo("float32" if kind == "float16" else kind).eps
        bound = 4 * eps * math.log2(size + 2) * math.fsum(np.abs(x).tolist())  # KERNELS: grouped sums, c = 4
        bound += np.finfo(kind).eps * abs(exact) if kind == "float16" else 0  # rounded once more, to the result
        for found in (lib.sum(x), lib.sum(x.reshape(-1, 1), axis=0)[0], lib.reduce(x)):
            assert found.dtype == x.dtype and abs(float(found) - exact) <= bound


def test_sums_are_the_same_from_run_to_run() -> None:
    x = np.random.default_rng(0).standard_normal(30_000).astype(np.float32)
    assert len({lib.sum(x).tobytes() for _ in range(5)}) == 1


def test_small_integers_are_added_in_64_bits_and_wrap_by_reduce() -> None:
    x = np.full(1000, 100, np.int8)
    assert lib.sum(x) == 100_000 and lib.sum(x).dtype == np.int64
    assert lib.sum(x.astype(np.uint8)).dtype == np.uint64 and lib.prod(x[:4]) == 10**8
    assert lib.reduce(x) == np.int8(100_000 % 256 - 256) and lib.reduce(x, dtype="int16").dtype == np.int16
    assert lib.sum(x > 0) == 1000 and lib.sum(x, dtype=np.float32) == 100_000


def test_not_a_number() -> None:
    x = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, np.nan], [7.0, 8.0, 9.0]])
    for name in NAMES:
        for axis in (None, 0, 1):
            if name != "prod":
                check(name, x, axis=axis)
    assert np.isnan(lib.prod(x)) and lib.argmax(x) == 1 and lib.argmin(x) == 1


WHERE = [("sum", None), ("prod", None), ("any", None), ("all", None), ("max", 1), ("min", 1)]


@pytest.mark.parametrize(("name", "initial"), rarely(WHERE, but=[("sum", None), ("max", 1)]))
@pytest.mark.parametrize("kind", rarely(["bool", "int8", "uint64", "float64"], but=["int8"]))
def test_where(name: str, initial, kind: str) -> None:
    x, random = numbers((7, 30), kind), np.random.default_rng(0)
    for mask in (random.random((7, 30)) < 0.5, random.random(30) < 0.5, np.zeros((7, 1), bool), np.bool_(True)):
        for axis in (None, 0, 1):
            options = {"axis": axis, "where": mask, **({} if initial is None else {"initial": initial})}
            found, wanted = getattr(lib, name)(x, **options), getattr(np, name)(x, **options)
            assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


def test_where_of_complex_and_lazy_masks_and_what_is_refused() -> None:
    x = np.arange(12).reshape(3, 4) * (1 + 2j)
    assert lib.sum(x, where=lib.lazy.of(x.real) > 5) == x[x.real > 5].sum()
    with pytest.raises(ValueError, match="one has to specify 'initial'"):
        lib.max(x.real, where=x.real > 3)
    with pytest.raises(ValueError, match="`where` of shape"):
        lib.sum(x, where=np.ones((2, 4), bool))
    with pytest.raises(TypeError, match="`where` must be of bool"):
        lib.sum(x, where=np.ones(4))


def test_infinities_and_extremes() -> None:
    for x in (np.full(40, -np.inf), np.full(40, np.inf), np.array([np.inf, -np.inf, np.nan]), np.full(9, np.nan)):
        for name in ("max", "min", "argmax", "argmin", "sum"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(name, x)
    for kind in INTEGERS:
        for extreme in (np.iinfo(kind).min, np.iinfo(kind).max):
            for name in ("max", "min", "argmax", "argmin"):
                check(name, np.full(40, extreme, kind))


# -- Empty arrays, scalars, initial ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_no_results(name: str) -> None:
    for shape, axis in [((0, 3), 1), ((3, 0), 0), ((2, 0, 4), 2)]:
        check(name, np.zeros(shape, np.int32), axis=axis)


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "count_nonzero"])
@pytest.mark.parametrize("kind", ["bool", "int8", "float32"])
def test_results_of_no_elements(name: str, kind: str) -> None:
    check(name, np.zeros(0, kind))
    check(name, np.zeros((3, 0), kind), axis=1)
    check(name, np.zeros((0, 3), kind), axis=0, keepdims=True)


def test_no_elements_without_an_identity() -> None:
    for name in ("argmax", "argmin"):  # even where there are no results
        for function in (getattr(np, name), getattr(lib, name)):
            with pytest.raises(ValueError, match=f"attempt to get {name} of an empty sequence"):
                function(np.zeros((0, 0)), axis=1)
    for x, axis in [(np.zeros(0), None), (np.zeros((0, 3)), 0)]:
        for name in ("max", "min"):
            with pytest.raises(ValueError) as wanted:
                getattr(np, name)(x, axis=axis)
            with pytest.raises(ValueError, match=str(wanted.value)):
                getattr(lib, name)(x, axis=axis)
        for name in ("argmax", "argmin"):
            with pytest.raises(ValueError) as wanted:
                getattr(np, name)(x, axis=axis)
            with pytest.raises(ValueError, match=str(wanted.value)):
                getattr(lib, name)(x, axis=axis)
    with pytest.raises(ValueError, match="reduction operation maximum which has no identity"):
        lib.reduce(np.zeros(0), "maximum")
    assert lib.reduce(np.zeros(0, np.uint64), AFFINE) == 1 << 32


def test_initial() -> None:
    x = numbers((4, 5), "int32")
    for name in ("sum", "prod", "max", "min"):
        for start in (0, 7, -3):
            for axis in (None, 0, 1):
                check(name, x, axis=axis, initial=start)
    check("max", np.zeros(0), initial=3.5)
    check("min", np.zeros((2, 0)), axis=1, initial=3.5)
    assert lib.sum(np.zeros(0, np.int8), initial=5) == 5
    assert lib.reduce(np.array([0, 0], np.int32), LAST, initial=4) == 4
    check("sum", x, initial=2.5)  # cut, as NumPy does
    for wrong, error in (("x", TypeError), ([1], TypeError), (2**80, OverflowError), (1j, TypeError)):
        with pytest.raises(error, match="`initial`"):
            lib.sum(x, initial=wrong)
    with pytest.raises(TypeError, match="`initial` must be a number of float64, not '3'"):
        lib.sum(np.zeros(3), initial="3")


@pytest.mark.parametrize("axis", [None, 0])
def test_an_initial_of_bools_is_a_bool(axis: int | None) -> None:
    """2 would be stored as a bool of that bit pattern."""
    x = np.array([[False], [True]])
    for initial in (False, True, 1, 2, -1, 0.5):
        check("max", x, axis=axis, initial=initial)
    assert lib.reduce(x, axis=axis, dtype=np.uint8, initial=2).max() == 3


@pytest.mark.parametrize("name", NAMES)
def test_bfloat16_of_ml_dtypes(name: str) -> None:
    x = np.array([[1, -2, 3], [4, 5, -6]], ml_dtypes.bfloat16)
    for axis in (None, 0, 1):
        found = getattr(lib, name)(x, axis=axis)
        wanted = np.asarray(getattr(np, name)(x.astype(np.float32), axis=axis))
        assert found.dtype == (x.dtype if wanted.dtype == np.float32 else wanted.dtype)
        assert np.array_equal(found.astype(wanted.dtype), wanted)
    if name in ("sum", "max"):
        out, wanted = np.zeros(2, np.float32), getattr(np, name)(x.astype(np.float32)[:, ::-1], axis=1)
        assert getattr(lib, name)(x[:, ::-1], axis=1, out=out) is out and np.array_equal(out, wanted)
        out = np.zeros(2, x.dtype)
        assert np.array_equal(getattr(lib, name)(x.astype(np.float32), axis=1, out=out).astype(np.float32), wanted)
    if name == "sum":
        for asked in (ml_dtypes.bfloat16, x.dtype, "bfloat16"):
            assert lib.sum(np.ones(257, np.float32), dtype=asked) == 256
            assert lib.sum(np.ones(3, np.float32), dtype=asked).dtype == x.dtype


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_no_axes(name: str) -> None:
    check(name, np.asarray(np.float32(-1)))
    if name != "count_nonzero":  # NumPy takes axis 0 of a scalar, but there
        check(name, np.asarray(np.float32(3)), axis=0)
        check(name, np.asarray(np.float32(3)), axis=np.int64(-1))


def test_broadcast_and_other_byte_orders() -> None:
    x = np.broadcast_to(np.arange(5, dtype=np.int32), (4, 5))
    check("sum", x, axis=0)
    check("argmax", x, axis=1)
    check("sum", np.arange(100).astype(">i4"))
    raw = np.zeros(4001, np.uint8)
    odd = raw[1:].view(np.int32)
    odd[:] = numbers(1000, "int32")
    check("sum", odd)


# -- out ------------------------------------------------------------------------------------------------------------------


def test_out() -> None:
    x = numbers((6, 7), "int32")
    for name in ("sum", "max", "any", "argmin"):
        for axis, shape in [(None, ()), (0, (7,)), (1, (6,))]:
            kind = getattr(np, name)(x, axis=axis).dtype
            for out in (np.zeros(shape, kind), np.zeros((*shape, 2), kind)[..., 0]):
                assert getattr(lib, name)(x, axis=axis, out=out) is out
                assert np.array_equal(out, getattr(np, name)(x, axis=axis))
    out = np.zeros((1, 7), np.int64)
    assert lib.sum(x, axis=0, keepdims=True, out=out) is out and np.array_equal(out[0], x.sum(axis=0))


def test_the_dtype_of_out_is_what_sums_are_made_in() -> None:
    x = np.full(300, 100, np.int8)
    out = np.zeros((), np.int16)
    lib.sum(x, out=out)
    assert out == np.sum(x, out=np.zeros((), np.int16))
    wide = np.zeros((), np.float64)
    lib.sum(x, out=wide)
    assert wide == 30_000
    half = np.zeros((), np.float32)
    lib.max(np.array([1, 5], np.float16), out=half)
    assert half == 5


@pytest.mark.parametrize("kind", ["f4", "i8", "c8"])
def test_an_out_of_another_byte_order(kind: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(kind)
    for there in (x, x.astype(f">{kind}")):
        for order in "<>":
            out = np.zeros(3, f"{order}{kind}")
            assert lib.sum(there, axis=0, out=out) is out and out.tolist() == [3, 5, 7]
            assert kind == "c8" or lib.max(there, axis=0, out=out).tolist() == [3, 4, 5]


def test_out_may_overlap() -> None:
    x = numbers((40, 40), "int64")
    wanted = x.sum(axis=0)
    lib.sum(x, axis=0, out=x[3])
    assert np.array_equal(x[3], wanted)
    y = numbers(1000, "int32")
    wanted = y.max()
    lib.max(y, out=y[500:501].reshape(()))
    assert y[500] == wanted


def test_wrong_out() -> None:
    x = numbers((4, 5), "int32")
    frozen = np.zeros(5, np.int64)
    frozen.flags.writeable = False
    for out, error, words in [
        (np.zeros(4, np.int64), ValueError, r"`out` must have shape \(5,\), the result's, not \(4,\)"),
        (np.zeros((1, 5), np.int64), ValueError, r"`out` must have shape \(5,\)"),
        (np.zeros(5, "M8[s]"), TypeError, "`out` is of datetime64"),
        (frozen, ValueError, "`out` is read-only"),
        ([0] * 5, TypeError, "`out`"),
    ]:
        with pytest.raises(error, match=words):
            lib.sum(x, axis=0, out=out)
    with pytest.raises(TypeError, match="`out` must be of int64, as positions are"):
        lib.argmax(x, axis=0, out=np.zeros(5, np.uint64))


# -- Wrong arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_wrong_axes(name: str) -> None:
    x, function = np.zeros((2, 3)), getattr(lib, name)
    for axis in (2, -3):
        with pytest.raises(AxisError, match=f"axis {axis} is out of bounds for array of dimension 2"):
            function(x, axis=axis)
    for axis in (1.0, "0", [0], True):
        with pytest.raises(TypeError, match="`axis` must be"):
            function(x, axis=axis)
    if name.startswith("arg"):
        with pytest.raises(TypeError, match="`axis` must be one axis"):
            function(x, axis=(0, 1))
    else:
        with pytest.raises(ValueError, match="duplicate value in 'axis'"):
            function(x, axis=(0, -2))


@pytest.mark.parametrize("x", ["abc", None, {1}, range(4)])
def test_what_is_no_array(x: object) -> None:
    with pytest.raises(TypeError, match="`a` must be"):
        lib.sum(x)
    with pytest.raises(TypeError, match="`x` must be"):
        lib.reduce(x)


@pytest.mark.parametrize("kind", ["O", "U3", "M8[s]", "V4", "longdouble", "clongdouble"])
def test_dtypes_that_are_not_supported(kind: str) -> None:
    for name in NAMES:
        with pytest.raises(TypeError, match=rf"`a` has dtype .*, which {name} does not support"):
            getattr(lib, name)(np.zeros(3, kind))
    with pytest.raises(TypeError, match="`dtype` is dtype .*, which sum does not support"):
        lib.sum(np.zeros(3, np.int32), dtype=kind)


FLOATS, ASKED = ["float16", "float32", "float64"], ["int64", "int32", "int16", "int8", "uint64", "uint32"]


@pytest.mark.parametrize(
    ("source", "kind"),
    rarely(
        itertools.product(FLOATS, ASKED),
        but=[*itertools.product(["float64"], ["int64", "int8"]), *zip(FLOATS * 2, ASKED, strict=True)],
    ),
)
def test_floats_are_added_up_as_integers_where_asked(source: str, kind: str) -> None:
    """Each element is converted, toward zero, as NumPy does: negative ones to signed integers."""
    random = np.random.default_rng(0)
    for shape, axes in (((700,), (None,)), ((37, 53), (None, 0, 1)), ((2, 3, 50), (1, (0, 2)))):
        x = (random.random(shape) * 40 - (0 if kind.startswith("u") else 20)).astype(source)
        for axis in axes:
            result, expected = lib.sum(x, axis=axis, dtype=kind), np.sum(x, axis=axis, dtype=kind)
            assert result.dtype == expected.dtype and np.array_equal(result, expected)
    powers = np.where(random.random(200) < 0.2, -2.75, 1.5).astype(source)
    if not kind.startswith("u"):
        assert lib.prod(powers, dtype=kind) == np.prod(powers, dtype=kind)


def test_conversions_that_are_refused() -> None:
    with pytest.raises(TypeError, match="`op`: `last` is not for bools: pass dtype="):
        lib.reduce(np.zeros(3, bool), LAST)
    with pytest.raises(TypeError, match="`dtype`"):
        lib.sum(np.zeros(3), dtype="nonsense")
    with pytest.raises(TypeError, match="`op`: `bitwise_or` is for integers"):
        lib.reduce(np.zeros(3), "bitwise_or")
    with pytest.raises(TypeError, match="identity of `multiply`"):
        lib.reduce(np.zeros(3, np.int32), Operator(functions.multiply, 1.5))


def test_operators_that_are_refused() -> None:
    with pytest.raises(ValueError, match="`op` must be one of"):
        lib.reduce(np.zeros(3), "sum")
    for wrong in (functions.add, np.add, 3, [1]):
        with pytest.raises(TypeError, match="`op`"):
            lib.reduce(np.zeros(3), wrong)


def test_a_stream_is_for_the_gpu() -> None:
    with pytest.raises(ValueError, match="`stream` is for arrays on a GPU, and `a` is on the host"):
        lib.sum(np.zeros(3), stream=0)


def test_the_input_is_not_modified() -> None:
    x = numbers((50, 20), "int32")
    before = x.copy()
    x.flags.writeable = False
    for name in NAMES:
        getattr(lib, name)(x)
        getattr(lib, name)(x.T, axis=0)
    assert np.array_equal(x, before)
