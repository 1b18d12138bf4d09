"""Arrays with axes on the reference machine: any strides, their own shapes, indices that are inside each axis.

Tests of prism/lang/check/axes.py.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import BoundsError
from prism.lang import cdiv
from prism.lang.safety import PROVED, verdicts
from prism.launcher import host_entry
from prism.runtime.entry import Entry
from tests.interpret.array_kernels import TILE, facts, row_sums, scaled, transposed


def layouts(shape: tuple[int, int], dtype: str) -> Iterator[Any]:
    """Arrays of one shape, of every kind of strides."""
    rows, columns = shape
    yield np.zeros(shape, dtype)
    yield np.zeros(shape[::-1], dtype).T
    yield np.zeros((2 * rows, 3 * columns), dtype)[::2, ::3]
    yield np.zeros(shape, dtype)[::-1, ::-1]
    yield np.zeros((columns, rows + 2), dtype).T[1:-1, ::-1]


def filled(like: Any) -> Any:
    """The same memory, with numbers in it."""
    like[...] = np.arange(like.size).reshape(like.shape)
    return like


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_any_strides(dtype: str) -> None:
    for x in map(filled, layouts((5, 7), dtype)):
        for y in layouts((5, 7), dtype):
            scaled[cdiv(35, 8), 8](x, y, np.dtype(dtype).type(2), check=True)
            assert np.array_equal(y, (2 * x).astype(dtype))


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (19, 13), (3, 24)])
def test_tiles_of_an_array(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).random(shape[::-1]).astype(np.float32).T
    y = np.zeros(shape[::-1], np.float32)[:, ::-1]
    transposed[cdiv(shape[0], TILE) * cdiv(shape[1], TILE), 64](x, y, check=True)
    assert np.array_equal(y, x.T)


def test_a_device_function_takes_an_array_and_its_shape() -> None:
    x = np.random.default_rng(2).integers(0, 9, (40, 7)).astype(np.int64)
    y = np.zeros(80, np.int64)[::-2]
    row_sums[2, 32](x[:, ::-1], y, check=True)
    assert np.array_equal(y, x.sum(axis=1))


def test_shapes_and_strides_are_the_launch_s() -> None:
    y, x = np.zeros(7, np.int64), np.zeros((6, 8, 10), np.float32)[::-2, :, ::3]
    facts[1, 1](y, x)
    assert y.tolist() == [3, 3, 8, 4, -160, 10, 3]


def test_what_is_broadcast_is_read_and_not_written() -> None:
    one, y = np.broadcast_to(np.float32(3), (5, 7)), np.zeros((5, 7), np.float32)
    scaled[1, 35](one, y, 2.0, check=True)
    assert (y == 6).all()
    with pytest.raises(ValueError, match="`y` is written by the kernel, and elements of it share memory"):
        scaled[1, 35](y, np.lib.stride_tricks.as_strided(np.zeros(9, np.float32), (5, 7), (4, 0)), 2.0)


def test_an_index_beyond_its_axis_is_found_where_memory_goes_on() -> None:
    """In C order the element after a row is the next row's first."""
    with pytest.raises(BoundsError, match="index 6 is outside axis 1 of `y`, of 6 elements"):
        scaled[1, 35](np.zeros((5, 7), np.float32), np.zeros((6, 6), np.float32), 2.0, check=True)


@pytest.mark.parametrize(
    ("x", "y", "fault"),
    [
        (np.zeros(4, np.float32), np.zeros((2, 2), np.float32), "`x` must have 2 axes, not 1"),
        (np.zeros((2, 2), np.float32), np.zeros((2, 2, 1), np.float32), "`y` must have 2 axes, not 3"),
        (np.zeros((2, 2, 3), np.uint8)[..., 0].view(np.uint8), np.zeros((2, 2), np.float32), "`y` must be an array of uint8"),
        (np.zeros((2, 6), np.uint8)[:, 1:5].view(np.float32), np.zeros((2, 1), np.float32), "no multiples of its elements'"),
    ],
    ids=["one axis", "three axes", "dtypes", "strides that cut elements"],
)  # fmt: skip
def test_what_is_refused(x: Any, y: Any, fault: str) -> None:
    with pytest.raises((TypeError, ValueError), match=fault):
        scaled[1, 4](x, y, x.dtype.type(1))


def test_empty_arrays() -> None:
    y = np.zeros((0, 7), np.float32)
    scaled[1, 32](np.zeros((0, 7), np.float32), y, 2.0, check=True)
    sums = np.zeros(3, np.float32)
    row_sums[1, 32](np.zeros((3, 0), np.float32), sums, check=True)
    assert not sums.any()


def test_parts_of_several_axes_are_proved_apart() -> None:
    for kernel in (scaled, row_sums, transposed):
        found = verdicts(prism.check(kernel, {"T": "float32"}))
        assert all(verdict.status == PROVED for verdict in found if verdict.kind == "partition")


def test_a_launch_counts_what_it_is_given_and_an_entry_keeps_the_rest() -> None:
    with pytest.raises(prism.LaunchError, match=r"`scaled` takes 3 arguments \(x, y, a\), 1 given"):
        scaled[1, 1](np.zeros((1, 1), np.float32))
    entry = host_entry(prism.check(scaled, {"T": "float32"}))
    assert [p.name for p in entry.parameters][3:5] == ["x.shape[0]", "x.shape[1]"] and len(entry.parameters) == 11
    assert Entry.from_json(json.loads(json.dumps(entry.to_json()))) == entry


def test_a_command_makes_arrays_of_several_axes() -> None:
    from prism.interpret import explore, shapes

    assert [explore._shape(size, axes) for size, axes in ((128, 2), (35, 1), (7, 2), (64, 3), (0, 2))] == [
        (8, 16), (35,), (1, 7), (4, 4, 4), (1, 0),
    ]  # fmt: skip
    told = explore.parse_arguments(["x=float32[64],y=float32[64]"])
    program = prism.check(transposed, {"T": "float32"})
    assert not explore.explore(program, shapes.shape_of(program, (4,), (64,)), told, 2, 0).findings


def test_the_element_of_a_message_has_its_indices() -> None:
    from prism.interpret.regions import array_region
    from prism.lang.types import FLOAT32, Pointer

    for like in layouts((5, 7), "float32"):
        region, begin, axes = array_region("x", like, Pointer(FLOAT32, axes=2))
        for r, c in np.ndindex(5, 7):
            assert region.element(begin + r * axes[2] + c * axes[3]) == f"{r}, {c}"
    assert math.prod(axes[:2]) == 35
