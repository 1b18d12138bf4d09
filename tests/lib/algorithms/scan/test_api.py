"""prism.lib.scan on NumPy arrays: against NumPy, and the errors that CuPy would raise.

Tests of prism/lib/__init__.py.
"""

import doctest
import importlib

import numpy as np
import pytest

import prism
from prism.lib import Operator, scan
from prism.lib.thread import operators as functions
from tests.lib.oracles import AFFINE, CASES, LAST, Case

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def numbers(size: int, kind: str, seed: int = 0):
    random = np.random.default_rng(seed)
    if np.dtype(kind).kind == "f":
        return random.standard_normal(size).astype(kind)
    return random.integers(np.iinfo(kind).min, np.iinfo(kind).max, size, dtype=kind, endpoint=True)


def test_the_example_in_the_readme() -> None:
    x = np.ones(1_000_000, dtype=np.int32)
    assert np.array_equal(prism.lib.scan(x), np.cumsum(x))


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 16385, 70_001])
def test_sums(kind: str, size: int) -> None:
    x = numbers(size, kind)
    before = x.copy()
    y = scan(x)
    assert y.dtype == x.dtype and y.shape == (size,)
    assert np.array_equal(x, before)
    if y.dtype.kind == "f":
        exact, eps = np.cumsum(x, dtype=np.float64), np.finfo(kind).eps
        bound = 4 * eps * np.log2(size + 2) * np.cumsum(np.abs(x), dtype=np.float64)
        assert (np.abs(y - exact) <= bound).all()
    else:
        assert np.array_equal(y, np.cumsum(x, dtype=kind))


@pytest.mark.covering(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
def test_operators(case: Case, exclusive: bool) -> None:
    for size in (1, 5000, 20_000):
        x = case.data(size)
        name = case.operator.name
        op = case.operator if case.operator in (LAST, AFFINE) else name
        assert np.array_equal(scan(x, op, exclusive=exclusive), case.exclusive(x) if exclusive else case.inclusive(x))


def test_floats_that_are_not_numbers() -> None:
    x = np.array([1.0, np.inf, 2.0, np.nan, 3.0])
    assert np.array_equal(scan(x), [1, np.inf, np.inf, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(scan(x, "maximum"), [1, np.inf, np.inf, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(scan(x, "minimum"), [1, 1, 1, np.nan, np.nan], equal_nan=True)


def test_the_sign_of_zero() -> None:
    assert np.signbit(scan(np.array([-0.0, -0.0]))).all()
    assert not np.signbit(scan(np.array([-0.0, 0.0])))[1]
    assert not np.signbit(scan(np.array([-0.0]), exclusive=True))[0]


def test_the_example_in_the_docstring_of_operators() -> None:
    module = importlib.import_module("prism.lib.operators")
    found = doctest.testmod(module, globs={**vars(module), "prism": prism, "np": np})
    assert found.attempted and not found.failed


# -- Shapes, layouts, dtypes ----------------------------------------------------------------------------------------------


def test_several_dimensions_are_taken_in_c_order() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for view in (x, x.T, x[:, ::2], x[::-1], np.asfortranarray(x)):
        assert np.array_equal(scan(view), np.cumsum(view, dtype=np.int32))
    assert np.array_equal(scan(np.array(5)), [5])


def test_strided_and_misaligned() -> None:
    x = numbers(10_000, "int32")
    assert np.array_equal(scan(x[::3]), np.cumsum(x[::3], dtype=np.int32))
    raw = np.zeros(4001, np.uint8)
    odd = raw[1:].view(np.int32)
    odd[:] = x[:1000]
    assert np.array_equal(scan(odd), np.cumsum(x[:1000], dtype=np.int32))


def test_other_byte_orders() -> None:
    x = np.arange(100).astype(">i4")
    y = scan(x)
    assert y.dtype == np.dtype("int32") and y.dtype.isnative
    assert np.array_equal(y, np.cumsum(x))


def test_dtype_converts() -> None:
    x = numbers(5000, "int8")
    assert np.array_equal(scan(x, dtype=np.int64), np.cumsum(x))
    assert np.array_equal(scan(x > 0, dtype="int32"), np.cumsum(x > 0))
    assert np.array_equal(scan(x.astype(np.float16), dtype=np.float32), np.cumsum(x.astype(np.float32)))
    assert scan(x, dtype=float).dtype == np.float64


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("given", "kind"), [("float16", "int64"), ("float32", "int8"), ("float64", "int32"), ("float64", "uint32")]
)
@pytest.mark.parametrize("op", ["add", "multiply"])
def test_floats_become_integers_one_by_one(given: str, kind: str, op: str) -> None:
    """Toward zero, as NumPy's: negative ones were 0 where the kernel computed in unsigned integers."""
    signs = 1 if kind.startswith("u") else np.array([-1, 1, -1])
    x = (signs * np.array([[3.75, 2.5, 1.0], [2.0, 0.5, 4.25]])).astype(given)
    meant = getattr(np, op).accumulate
    assert np.array_equal(scan(x, op, axis=1, dtype=kind), meant(x.astype(kind), axis=1, dtype=kind))
    row, wanted = x.ravel(), meant(x.ravel().astype(kind), dtype=kind)
    assert np.array_equal(scan(row, op, dtype=kind), wanted)
    assert np.array_equal(prism.lib.segmented_scan(row, np.array([0, 6]), op, dtype=kind), wanted)
    assert np.array_equal(prism.lib.segmented_reduce(row, np.array([0, 6]), op, dtype=kind), wanted[-1:])
    assert np.array_equal(prism.lib.scan_by_key(np.zeros(6, int), row, op, dtype=kind), wanted)


def test_a_read_only_input_is_fine() -> None:
    x = numbers(100, "int32")
    x.flags.writeable = False
    assert np.array_equal(scan(x), np.cumsum(x, dtype=np.int32))


# -- out ------------------------------------------------------------------------------------------------------------------


def test_out() -> None:
    x = numbers(9000, "int32")
    out = np.empty_like(x)
    assert scan(x, out=out) is out
    assert np.array_equal(out, np.cumsum(x, dtype=np.int32))


def test_in_place_and_overlapping() -> None:
    x = numbers(9000, "int64")
    wanted = np.cumsum(x)
    assert np.array_equal(scan(x.copy(), out=None), wanted)
    same = x.copy()
    scan(same, out=same)
    assert np.array_equal(same, wanted)
    for shift in (1, 3, 4000):
        room = np.concatenate([x, np.zeros(shift, x.dtype)])
        scan(room[: x.size], out=room[shift:])
        assert np.array_equal(room[shift:], wanted)
        room = np.concatenate([np.zeros(shift, x.dtype), x])
        scan(room[shift:], out=room[: x.size])
        assert np.array_equal(room[: x.size], wanted)


def test_wrong_out() -> None:
    x = numbers(10, "int32")
    frozen = np.empty(10, np.int32)
    frozen.flags.writeable = False
    for out, error, words in [
        (np.empty(9, np.int32), ValueError, r"`out` must have shape \(10,\)"),
        (np.empty((2, 5), np.int32), ValueError, r"`out` must have shape \(10,\)"),
        (np.empty(10, np.int64), TypeError, "`out` must be of int32, .*not of int64"),
        (np.empty(10, ">i4"), TypeError, "`out` must be of int32, .*not of >i4, in another byte order"),
        (np.empty(20, np.int32)[::2], ValueError, "`out` must be C-contiguous"),
        (frozen, ValueError, "`out` is read-only"),
        ([0] * 10, TypeError, "`out`"),
    ]:
        with pytest.raises(error, match=words):
            scan(x, out=out)


# -- Wrong arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", ["abc", None, {1}, range(4)])
def test_what_is_no_array(x: object) -> None:
    with pytest.raises(TypeError, match="`x`"):
        scan(x)


@pytest.mark.parametrize("kind", ["longdouble", "clongdouble", "O", "U3", "M8[s]", "V4"])
def test_dtypes_that_are_not_supported(kind: str) -> None:
    with pytest.raises(TypeError, match="`x` has dtype"):
        scan(np.zeros(3, kind))
    with pytest.raises(TypeError, match="`dtype` is dtype"):
        scan(np.zeros(3, np.int32), dtype=kind)


def test_what_is_no_dtype() -> None:
    with pytest.raises(TypeError, match="`dtype`"):
        scan(np.zeros(3), dtype="nonsense")


def test_operators_that_are_refused() -> None:
    x = np.zeros(3)
    with pytest.raises(TypeError, match="`op`: `add` has no identity"):
        scan(x, functions.add)
    with pytest.raises(ValueError, match="`op` must be one of"):
        scan(x, "sum")
    with pytest.raises(TypeError, match="`op`: `bitwise_or` is for integers"):
        scan(x, "bitwise_or")
    with pytest.raises(TypeError, match="identity of `multiply`"):
        scan(x.astype(np.int32), Operator(functions.multiply, 1.5))


def test_a_stream_is_for_the_gpu() -> None:
    with pytest.raises(ValueError, match="`stream`"):
        scan(np.zeros(3), stream=0)


def test_only_x_and_op_go_by_position() -> None:
    with pytest.raises(TypeError):
        scan(np.zeros(3), "add", True)  # type: ignore[misc]
