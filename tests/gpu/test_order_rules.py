"""NaN, zeros of both signs, and errors of what puts elements in order, on CuPy's arrays.

Values are NumPy's: CuPy tells NaN by its sign, and -0.0 from 0.0, in some of its sorts. Errors are CuPy's, or NumPy's where CuPy
lets a wrong argument pass.
"""

from __future__ import annotations

import numpy as np
import pytest

from prism import lib
from tests.lib.order_rules import VALUES, WRONG, kind_of, outcome

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values(name: str) -> None:
    found = outcome(VALUES[name], lib, cupy.asarray, cupy.asnumpy)
    wanted = outcome(VALUES[name], np, np.asarray, np.asarray)
    assert found.error is wanted.error is None
    assert (found.value.dtype, found.value.shape) == (wanted.value.dtype, wanted.value.shape)
    assert np.array_equal(found.value, wanted.value, equal_nan=found.value.dtype.kind in "fc")


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    found = outcome(WRONG[name], lib, cupy.asarray, cupy.asnumpy)
    wanted = outcome(WRONG[name], cupy, cupy.asarray, cupy.asnumpy), outcome(WRONG[name], np, np.asarray, np.asarray)
    assert kind_of(found.error) in [kind_of(one.error) for one in wanted if one.error is not None]
