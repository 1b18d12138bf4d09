"""The collectives on the GPU: every bit as the reference machine leaves it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lib.launches import LAUNCHES

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


@pytest.mark.parametrize("name", LAUNCHES)
def test_as_the_reference_machine(name: str) -> None:
    wanted = LAUNCHES[name].run()
    for _ in range(3):
        for found, array in zip(LAUNCHES[name].run(cupy.asarray), wanted, strict=True):
            assert np.array_equal(found.get(), array)
