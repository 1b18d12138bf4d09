"""Small cases by the thousand: results, dtypes, shapes and kinds of exceptions are NumPy's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism import lib
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


BOOLS, FLOATS = np.ones(3, bool), np.ones(3, np.float32)
BLAMED: dict[str, tuple[Callable[[], Any], str]] = {
    "out, cumsum": (lambda: lib.cumsum(BOOLS, out=np.zeros(3, bool)), "`out` has dtype bool, which cumsum does not support"),
    "dtype, cumsum": (lambda: lib.cumsum(BOOLS, dtype=bool), "`dtype` is dtype bool, which cumsum does not support"),
    "out, sum": (lambda: lib.sum(BOOLS, out=np.zeros((), bool)), "`out` is of bool, in which sum does not compute"),
    "dtype, sum": (lambda: lib.sum(FLOATS, dtype=bool), "`dtype` is bool, in which sum does not compute"),
    "argument": (lambda: lib.reduce(BOOLS), "`x` is of bool, in which reduce does not compute"),
    "complex dtype": (
        lambda: lib.sum(FLOATS, dtype=np.complex128), "`dtype` is dtype complex128, to which sum does not convert float32"
    ),
    "complex out": (
        lambda: lib.sum(FLOATS, out=np.zeros((), np.complex64)), "`out` is of complex64, to which sum does not convert float32"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BLAMED)
def test_the_argument_that_is_wrong_is_named(case: str) -> None:
    call, text = BLAMED[case]
    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value)
