"""Loops in pieces, on the GPU: the trips that are a piece's own, and products that follow each other across pieces."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from tests.examples.trimmed import SIDE, between, follow  # noqa: E402
from tests.lang.lower.test_split_loops import product_of, rows_between  # noqa: E402


@pytest.mark.parametrize("start", [-1, 1])
@pytest.mark.parametrize("step", [1, 3])
def test_each_piece_makes_the_trips_that_are_its_own(step: int, start: int) -> None:
    for stop, low, high in product((0, 1, 2, 9, 24), (-(2**31), 0, 1, 5, 20), (2**31 - 1, 0, 1, 5, 20)):
        x, wanted = rows_between(1, stop, step, low, high)
        y = cupy.zeros(64, np.int32)
        between[1, 96](cupy.asarray(x), y, 1, stop, low, high, template={"STEP": step, "START": start})
        assert np.array_equal(y.get(), wanted), (stop, low, high)


@pytest.mark.parametrize("claims", [False, True])
def test_products_that_follow_each_other(claims: bool) -> None:
    if cupy.cuda.Device().compute_capability != "90":
        pytest.skip("wgmma is Hopper's")
    for end, near in product((1, 64, 100, 640, 1000), (0, 65, 321, 2000)):
        *given, wanted = product_of(end, near)
        o = cupy.zeros((SIDE, SIDE), np.float32)
        follow[1, 256](*map(cupy.asarray, given), o, end, near, template={"CLAIMS": claims, "STEP": SIDE})
        assert np.array_equal(o.get(), wanted), (end, near)
