"""Launches by tuples on the GPU."""

from __future__ import annotations

import numpy as np
import pytest

from prism.lang import cdiv
from tests.interpret.axis_kernels import added, indices, numbers, places
from tests.interpret.test_launch_axes import GRIDS, expected

cupy = pytest.importorskip("cupy")


@pytest.mark.parametrize(("blocks", "threads"), GRIDS)
def test_indices_along_three_axes(blocks: object, threads: object) -> None:
    y = cupy.zeros((24 * 64, 8), np.int32)
    places[blocks, threads](y)
    assert np.array_equal(y[:, :7].get(), expected(blocks, threads))


def test_indices_in_the_grid_of_an_array_of_two_axes() -> None:
    y = cupy.zeros((370, 291), np.int32)[::-1]
    indices[(cdiv(291, 8), cdiv(370, 4)), (8, 4)](y)
    r, c = np.indices(y.shape)
    assert np.array_equal(y.get(), 1000 * r + c)


@pytest.mark.parametrize(("blocks", "threads"), GRIDS)
def test_numbers_along_three_axes(blocks: object, threads: object) -> None:
    y = cupy.zeros((24 * 64, 16), np.int32)
    numbers[blocks, threads](y.ravel())
    b, t = ((*(n if isinstance(n, tuple) else (n,)), 1, 1)[:3] for n in (blocks, threads))
    assert (y[:, :9].get() == [*b, *(p * q for p, q in zip(b, t, strict=True)), *t]).all()


def test_steps_of_the_whole_grid() -> None:
    y = cupy.arange(370 * 291, dtype=np.int32).reshape(370, 291)
    added[(3, 5), (32, 4)](y, 3)
    assert np.array_equal(y.get().ravel(), np.arange(y.size) + 3)
