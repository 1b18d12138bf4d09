"""NaN, zeros of both signs, and errors of what puts elements in order: NumPy's. tests/gpu/test_order_rules.py is CuPy's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from prism import lib
from tests.lib.order_rules import VALUES, WRONG, kind_of, outcome


def same(x: Any) -> Any:
    return x


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values(name: str) -> None:
    found, wanted = (outcome(VALUES[name], library, same, same) for library in (lib, np))
    assert found.error is wanted.error is None
    assert (found.value.dtype, found.value.shape) == (wanted.value.dtype, wanted.value.shape)
    assert np.array_equal(found.value, wanted.value, equal_nan=found.value.dtype.kind in "fc")


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, wanted = (outcome(WRONG[name], library, same, same) for library in (lib, np))
    assert wanted.error is not None
    assert kind_of(found.error) == kind_of(wanted.error)
