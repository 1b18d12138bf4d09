"""Calls that differed from NumPy's once, on CuPy's arrays: values, dtypes, kinds of errors, and the order of a result's axes.

tests/lib/test_numpy_alike.py is the same for NumPy's arrays; docs/numpy.md says what differs.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from prism import lib
from tests.lib import alike
from tests.lib.test_numpy_alike import CAUSES

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

NAMES = [name for name, call in CAUSES.items() if isinstance(call.x, np.ndarray) and not name.startswith("NaN to")]


@pytest.mark.parametrize("name", NAMES)
def test_what_differed_once(name: str) -> None:
    call = CAUSES[name]
    out = None if call.out is None else alike.room(call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = alike.outcome(lambda: call.numpy(out))

    x = cupy.asarray(call.x, order="K")  # what has gaps may be copied in C order
    lies = alike.order_of(x) == alike.order_of(call.x)

    def make() -> Any:
        options = dict(call.options) | ({} if out is None else {"out": cupy.asarray(out)})
        return getattr(lib, call.name)(x, *([call.op] if call.op else []), **options)

    found = alike.outcome(make)
    assert found.error == wanted.error, found.text
    for one, other in zip(found.arrays, map(np.asarray, wanted.arrays), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert np.array_equal(cupy.asnumpy(one), other, equal_nan=one.dtype.kind in "fc")
        assert out is not None or not lies or alike.order_of(one) == alike.order_of(other)
    if "ComplexWarning" in wanted.warned:
        assert "ComplexWarning" in found.warned


def test_warm_calls_give_results_that_lie_as_arrays_do() -> None:
    """The second call is looked up: its result has the same strides."""
    x = cupy.asfortranarray(cupy.arange(24.0).reshape(2, 3, 4))
    for function in (lib.sum, lib.max, lib.cumsum):
        first, second = function(x, axis=1), function(x, axis=1)
        assert first.strides == second.strides and cupy.array_equal(first, second)
        assert first.flags.f_contiguous


def test_axes_of_an_array_without_axes() -> None:
    x = cupy.array(5.0)
    for axis in (0, -1):
        assert lib.take(x, 0, axis=axis).shape == () and lib.take(x, cupy.array([0, -1]), axis=axis).tolist() == [5, 5]
        assert lib.repeat(x, 3, axis=axis).tolist() == [5, 5, 5] and lib.argpartition(x, 0, axis=axis).tolist() == [0]
        assert lib.compress(cupy.array([True]), x, axis=axis).tolist() == [5]
