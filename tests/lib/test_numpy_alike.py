"""Small cases by the thousand: results, dtypes, shapes and kinds of exceptions are NumPy's; `prism/host/floats.py`: warnings."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from prism import lib
from tests.lib import alike
from tests.rarely import rarely

SHAPES = [(), (0,), (1,), (3,), (0, 0), (0, 3), (3, 0), (2, 3), (2, 0, 3), (0, 2, 0)]
DTYPES = ["bool", "int8", "uint64", "float16", "float32"]
CUMULATIVE = ("cumsum", "cumprod")
SEARCHES = ("argmax", "argmin")
NAMES = ["sum", "prod", "max", "min", "any", "all", "count_nonzero", *SEARCHES, *CUMULATIVE]


def outcome(function: Callable[[], Any]) -> Any:
    """A result as it is compared, or the kind of the exception."""
    try:
        found = np.asarray(function())
    except (TypeError, ValueError, IndexError) as error:  # an AxisError is one of the two last
        return type(error).__name__
    return found.dtype, found.shape, found.tolist()


def cases(name: str, shape: tuple[int, ...]) -> list[dict[str, Any]]:
    """Axes, there and not there, and whether they are kept."""
    axes: list[Any] = [None, *range(len(shape)), -1, 5]
    if name not in (*SEARCHES, *CUMULATIVE):
        axes += [(), tuple(range(len(shape))), (0, 0)]
    kept = [{}] if name in CUMULATIVE else [{"keepdims": False}, {"keepdims": True}]
    return [{"axis": axis, **more} for axis, more in itertools.product(axes, kept)]


@pytest.mark.parametrize("dtype", rarely(DTYPES, but=["float32"]))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_shapes_axes_and_dtypes(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = (np.arange(np.prod(shape, dtype=int)) % 3).reshape(shape).astype(dtype)
        for case in cases(name, shape):
            found = outcome(lambda x=x, case=case: getattr(lib, name)(x, **case))
            assert found == outcome(lambda x=x, case=case: getattr(np, name)(x, **case)), (shape, case)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_no_elements_to_take_the_largest_of(op: str, shape: tuple[int, ...]) -> None:
    """Along an axis of no elements, even where there are no results: they were an empty array."""
    x = np.zeros(shape, np.int32)
    for axis in range(len(shape)):
        wanted = outcome(lambda axis=axis: getattr(np, op).reduce(x, axis=axis))
        assert outcome(lambda axis=axis: lib.reduce(x, op, axis=axis)) == wanted
        assert outcome(lambda axis=axis: getattr(lib, op[:3])(x, axis=axis, initial=1)) == outcome(
            lambda axis=axis: getattr(np, op).reduce(x, axis=axis, initial=1)
        )


# A call for each cause of a difference that there was, and may be again.
Z = np.array([[3 + 1j, 1 - 2j], [3 - 1j, complex(np.nan, 1)]])
F = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
CAUSES = {
    "to complex": alike.Call("sum", np.arange(6, dtype=np.float16).reshape(2, 3), {"axis": 0, "dtype": "complex64"}),
    "to a wider complex": alike.Call("cumprod", Z[:1].astype("complex64"), {"axis": 1, "dtype": "complex128"}),
    "from complex, with a warning": alike.Call("cumsum", Z[0], {"dtype": "int16"}),
    "complex into a real out": alike.Call("sum", Z[:1], {"axis": 1}, out=("float32", "C")),
    "complex into bool": alike.Call("prod", Z, {"axis": 0, "dtype": "bool"}),
    "sum of bools": alike.Call("sum", np.arange(6).reshape(2, 3), {"axis": 0, "dtype": "bool"}),
    "running product of bools": alike.Call("cumprod", np.array([2, 1, 0, 3]), {"dtype": "bool"}),
    "reduction of bools": alike.Call("reduce", np.array([True, True, False]), {"keepdims": True}, "bitwise_xor"),
    "largest complex": alike.Call("max", Z[:, :1], {"axis": 0}),
    "smallest complex, by columns": alike.Call("min", np.ascontiguousarray(Z), {"axis": 0}),
    "running complex": alike.Call("cummax", Z, {"axis": 1}),
    "first complex NaN": alike.Call("argmin", Z.astype("complex64")),
    "where the largest complex is": alike.Call("argmax", np.ascontiguousarray(Z), {"axis": 0}),
    "imaginary parts count": alike.Call("count_nonzero", np.array([1j, 0, 2]), {"keepdims": True}),
    "all complex": alike.Call("all", np.array([[1j, 1], [0, 2]]), {"axis": 1}),
    "sum in F order": alike.Call("sum", F, {"axis": 1}),
    "running sum in the order of an array with gaps": alike.Call("cumsum", F[:, ::2], {"axis": 0}),
    "longer sum in F order": alike.Call("cumulative_sum", F, {"axis": 0, "include_initial": True}),
    "positions in int32": alike.Call("argmax", F, {"axis": 2}, out=("int32", "F")),
    "a maximum cut to integers": alike.Call("max", F, {"axis": 2}, out=("int8", "gaps")),
    "the common type of argument and out": alike.Call("sum", np.array([0.5, 0.5, 0.7]), out=("int32", "C")),
    "overflow of halves": alike.Call("sum", np.full(3, 60000, np.float16)),
    "overflow on the way": alike.Call("cumprod", np.full(3, 1e200), {"axis": 0}),
    "infinities that cancel": alike.Call("cumsum", np.array([np.inf, -np.inf, 1])),
    "NaN to integers": alike.Call("sum", np.array([np.nan, 1]), {"dtype": "int32"}),
    "a list": alike.Call("compress", [3, 1, 4], mask=[True, False, True]),
    "a number": alike.Call("cumsum", 3.5),
    "a number of NumPy's": alike.Call("any", np.int8(3)),
    "initial, cut": alike.Call("max", np.array([1, 2]), {"initial": 2.5}),
    "initial, too large": alike.Call("min", np.array([1, 2], np.int8), {"initial": 300}),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_what_differed_once(cause: str) -> None:
    assert alike.compare(CAUSES[cause]) == "", CAUSES[cause]


def test_overflow_is_an_error_where_numpy_makes_it_one() -> None:
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in reduce"):
        lib.sum(np.full(3, 60000, np.float16))
    with np.errstate(over="ignore"):
        assert lib.sum(np.full(3, 60000, np.float16)) == np.inf


LARGE = np.array([-3e38, 3e38, 3e38], np.float32)
INFINITE = np.array([np.inf, np.inf, -np.inf])
WARNING: dict[str, Callable[[Any], Any]] = {
    "differences": lambda of: of.diff(LARGE),
    "differences of float16": lambda of: of.diff(np.array([-6e4, 6e4], np.float16)),
    "second differences": lambda of: of.diff(np.array([1e308, -1e308, 1e308]), 2, prepend=0),
    "no number": lambda of: of.diff(INFINITE),
    "differences of NaN": lambda of: of.diff(np.array([np.nan, 1])),
    "differences in C order": lambda of: of.ediff1d(LARGE, to_begin=1),
    "a median": lambda of: of.median(LARGE[[1, 2, 1, 2]]),
    "a median of infinities": lambda of: of.median(INFINITE[[0, 2]]),
    "a median of nothing": lambda of: of.median(np.zeros(0)),
    "a quantile": lambda of: of.quantile(np.array([-1.7e308, 1.7e308]), 0.5),
    "a percentile": lambda of: of.percentile(INFINITE, [30, 50]),
    "a median of NaN alone": lambda of: of.nanmedian(np.full((2, 3), np.nan), 1),
    "quantiles of NaN alone": lambda of: of.nanquantile(np.full(3, np.nan), [0.1, 0.5]),
    "percentiles of NaN alone": lambda of: of.nanpercentile(np.full(3, np.nan), 50),
    "a product of matrices": lambda of: of.matmul(np.full((4, 4), 3e38, np.float32), np.ones((4, 4), np.float32)),
}


@pytest.mark.parametrize("name", WARNING)
def test_warnings_of_functions_that_are_no_sums(name: str) -> None:
    """Of what is computed in kernels nothing is said: NumPy's own call is made where a result is not finite."""
    said = []
    for library in (np, lib, lib):  # the second of ours is a call that was made before
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            WARNING[name](library)
        said.append([(one.category, str(one.message)) for one in caught])
    assert said[0] == said[1] == said[2] and bool(said[0]) == (name != "differences of NaN")


def test_an_overflow_of_differences_is_an_error_where_numpy_makes_it_one() -> None:
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in subtract"):
        lib.diff(LARGE)
    with np.errstate(over="ignore"):
        assert lib.diff(LARGE)[0] == np.inf


def test_scan_of_bools_is_of_bools() -> None:
    """NumPy's `add.accumulate` counts them; a scan keeps the dtype, in which `+` is or."""
    x = np.array([False, True, False])
    assert lib.scan(x).tolist() == [False, True, True] and lib.scan(x).dtype == bool
    assert lib.scan(~x, "multiply").tolist() == [True, False, False]
    assert lib.segmented_reduce(x, np.array([0, 1, 3])).tolist() == [False, True]


class Metres(np.ndarray):
    """A subclass that NumPy's hooks keep."""

    unit = "m"


class Asked(np.ndarray):
    """A subclass that wants to be asked."""

    def __array_function__(self, *arguments: Any) -> Any:  # type: ignore[override]
        return NotImplemented


def test_kernels_read_numbers_of_subclasses() -> None:
    """What is read of a subclass is one too: the reference machine took it for no array, and wrapped it as a Python number."""
    x = np.random.default_rng(0).integers(0, 9, (30, 20)).astype(float)
    given = x.view(Metres)
    assert np.array_equal(lib.unique(given, axis=1), np.unique(x, axis=1))
    assert np.array_equal(lib.take(given, given[0].astype(int).view(Metres), axis=1), x.take(x[0].astype(int), axis=1))


def test_subclasses_are_kept_or_refused() -> None:
    x = np.arange(6.0).reshape(2, 3).view(Metres)
    for found in (
        lib.cumsum(x, axis=0),
        lib.sum(x, axis=0),
        lib.sum(x),
        lib.argmax(x, axis=1),
        lib.compress([1, 0, 1], x),
    ):
        assert isinstance(found, Metres) and found.unit == "m"
    assert lib.sum(x) == 15
    with pytest.raises(
        TypeError, match="`a` is a Asked, which has a hook `__array_function__` that Prism does not call"
    ):
        lib.sum(np.arange(3).view(Asked))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sum", "cumsum", "segmented_reduce", "reduce_by_key"])
def test_sums_of_16_bits_are_rounded_once(name: str, dtype: str) -> None:
    """They are made in float32: the error is half of the last place of the result."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.random.default_rng(1).random(5000).astype(kind)
    given = (
        (x, np.array([0, x.size]))
        if name == "segmented_reduce"
        else (np.zeros(x.size, int), x)
        if "key" in name
        else (x,)
    )
    found = getattr(lib, name)(*given)
    found = found[1] if isinstance(found, tuple) else found
    exact = np.cumsum(x.astype(np.float64))
    here = np.asarray(found).astype(np.float64).ravel()
    exact = exact[-here.size :]
    place = np.spacing(exact.astype(np.float32)) * 2.0 ** (23 - ml_dtypes.finfo(kind).nmant)
    assert (np.abs(here - exact) <= 0.502 * place).all()


FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "10000"))


@pytest.mark.fuzz
def test_random_calls() -> None:
    """Values, dtypes, shapes, order in memory, kinds of errors and warnings are NumPy's, but for what `docs/numpy.md` lists."""
    found = {seed: text for seed in range(FUZZ) if (text := alike.compare(alike.random_call(seed)))}
    assert not found, [(seed, str(alike.random_call(seed)), text) for seed, text in [*found.items()][:20]]


@pytest.mark.parametrize("seed", range(12))
def test_some_random_calls(seed: int) -> None:
    assert alike.compare(alike.random_call(seed)) == "", alike.random_call(seed)


ONE_ELEMENT: dict[str, Any] = {
    **{
        name: lambda library, x, axis, name=name: getattr(library, name)(x, axis=axis)
        for name in ("sum", "max", "any", "argmax", "cumsum", "sort", "argsort", "median", "count_nonzero", "diff")
    },
    "take": lambda library, x, axis: library.take(x, 0, axis=axis),
    "take of some": lambda library, x, axis: library.take(x, np.array([0, -1]), axis=axis),
    "repeat": lambda library, x, axis: library.repeat(x, 3, axis=axis),
    "compress": lambda library, x, axis: library.compress(np.array([True]), x, axis=axis),
    "partition": lambda library, x, axis: library.partition(x, 0, axis=axis),
    "argpartition": lambda library, x, axis: library.argpartition(x, 0, axis=axis),
}


@pytest.mark.parametrize("axis", [0, -1, 1, -2])
@pytest.mark.parametrize("name", ONE_ELEMENT)
def test_axes_of_an_array_without_axes(name: str, axis: int) -> None:
    """NumPy takes 0 and -1 in some functions, as reductions and `take`, and not in others, as `sort`."""
    x = np.array(5.0)
    found, wanted = (alike.outcome(lambda of=of: ONE_ELEMENT[name](of, x, axis)) for of in (lib, np))
    assert found.error == wanted.error, found.text
    for one, other in zip(map(np.asarray, found.arrays), map(np.asarray, wanted.arrays), strict=True):
        assert one.shape == other.shape and np.array_equal(one, other)
