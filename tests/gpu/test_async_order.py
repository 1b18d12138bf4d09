"""Asynchronous writes to one place, and what is under way when a block ends, on the GPU: many times, for a race to show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lang.rings import test_async_order as order

cupy = pytest.importorskip("cupy")

AGAIN = 200
BLOCKS = 264


@pytest.mark.parametrize("apart", [0, 4])
def test_stores_to_one_place_have_the_last_trip_s_value(apart: int) -> None:
    trips = 50
    wanted = np.zeros(32 + 4 * trips, np.int32)
    for k in range(trips):
        wanted[apart * k : apart * k + 32] = k
    for _ in range(AGAIN):
        y = cupy.zeros(wanted.size, np.int32)
        order.stored[1, 32](y, trips, 0, template={"APART": apart, "SAID": False})
        assert np.array_equal(y.get(), wanted)


@pytest.mark.parametrize(("down", "right"), [(0, 0), (4, 0), (0, 8)])
def test_tiles_that_overlap_have_the_last_trip_s_value(down: int, right: int) -> None:
    trips = 6
    wanted = np.zeros((40, 80), np.int32)
    for k in range(trips):
        wanted[down * k : down * k + 8, right * k : right * k + 16] = k
    for _ in range(AGAIN):
        y = cupy.zeros(wanted.shape, np.int32)
        order.tiled[1, 32](y, trips, template={"DOWN": down, "RIGHT": right, "BY_BLOCK": 0})
        assert np.array_equal(y.get(), wanted)


def test_the_second_of_two_copies_to_one_place_stays() -> None:
    x = cupy.arange(4096, dtype=np.int32)
    for _ in range(AGAIN):
        y = cupy.zeros(32, np.int32)
        order.twice[1, 32](x, y, template={"APART": 0})
        assert y.get().tolist() == list(range(63, 31, -1))


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_thread_patches_what_it_has_copied(copies: int) -> None:
    rows = order.X[:160].reshape(5, 32) + (np.arange(32) % 2 == 0)
    for _ in range(AGAIN):
        y = cupy.zeros(32, np.int32)
        order.patched[1, 32](cupy.asarray(order.X), y, 5, template={"COPIES": copies})
        assert np.array_equal(y.get(), rows.sum(axis=0)[::-1])


@pytest.mark.parametrize(("kernel", "threads", "arguments", "constants"), order.LEFT)
def test_what_nobody_reads_harms_nobody(kernel: Any, threads: int, arguments: Any, constants: dict[str, Any]) -> None:
    """Many blocks, one after the other in each place: what came in late would be in another's shared memory."""
    x = cupy.arange(4096, dtype=np.int32)
    for _ in range(AGAIN):
        given = [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments()]
        kernel[1, threads](*given, template=constants)
        wide = cupy.arange(BLOCKS * 64, dtype=np.int32)
        many = [wide if a is order.X else cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments()]
        kernel[BLOCKS, threads](*many, template=constants)
        y = cupy.zeros(32, np.int32)
        order.twice[1, 32](x, y, template={"APART": 32})
        assert y.get().tolist() == list(range(31, -1, -1))


def test_shared_objects_that_nobody_uses() -> None:
    y = cupy.zeros(32, np.int32)
    order.unused[1, 32](y)
    assert (y == 1).all()
    order.opened[1, 32](y, 3)
    assert y.get().tolist() == [3] + [2] * 31  # the last trip stores 2; one thread adds 1
