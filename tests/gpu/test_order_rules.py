"""NaN, zeros of both signs, and errors of what puts elements in order, on CuPy's arrays: CuPy's, or NumPy's where they differ."""

from __future__ import annotations

import numpy as np
import pytest

from prism import lib
from tests.lib.order_rules import VALUES, WRONG, kind_of, outcome

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


LIBRARIES = {
    "numpy": (np, np.asarray, np.asarray),
    "cupy": (cupy, getattr(cupy, "asarray", None), getattr(cupy, "asnumpy", None)),
}
DEPARTS: set[str] = set()
"""Calls of which CuPy's result is another than NumPy's, or none: ours is NumPy's."""


@pytest.mark.parametrize("whose", LIBRARIES)
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values(name: str, whose: str) -> None:
    if whose == "cupy" and name in DEPARTS:
        pytest.skip("CuPy departs from NumPy")
    found, wanted = outcome(VALUES[name], lib, cupy.asarray, cupy.asnumpy), outcome(VALUES[name], *LIBRARIES[whose])
    assert found.error is wanted.error is None
    assert found.value.shape == wanted.value.shape
    assert whose == "cupy" or found.value.dtype == wanted.value.dtype
    assert np.array_equal(found.value, wanted.value, equal_nan=found.value.dtype.kind in "fc")


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    """CuPy's, or NumPy's: CuPy lets some of them pass."""
    found = outcome(WRONG[name], lib, cupy.asarray, cupy.asnumpy)
    wanted = [outcome(WRONG[name], *one) for one in LIBRARIES.values()]
    assert kind_of(found.error) in [kind_of(one.error) for one in wanted if one.error is not None]
