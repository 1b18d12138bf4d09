"""Numbers of classes and enums, types of NumPy's, `cdiv` and `is_inf` on the GPU."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lang.parse.test_constants import numbers

cupy = pytest.importorskip("cupy")


def test_numbers_of_classes_and_enums() -> None:
    y = cupy.zeros(8, np.int32)
    numbers[1, 1](y, 9, 0.0)
    assert y.tolist() == [3, 6, 7, 77, 4, 33, 1, 0]
