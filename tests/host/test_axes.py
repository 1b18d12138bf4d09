"""Axes: which are meant, and whether the collapsed array has the same elements in the same places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.exceptions import AxisError
from numpy.lib.stride_tricks import as_strided

from prism.host.axes import Collapsed, c_strides, collapse, drop_axes, merge, normal_axes


@pytest.mark.parametrize(
    ("axis", "axes"),
    [(None, (0, 1, 2)), (0, (0,)), (-1, (2,)), ((2, 0), (0, 2)), ((-1, -3), (0, 2)), ((), ()), (np.int64(1), (1,))],
)
def test_axes_that_are_meant(axis: object, axes: tuple[int, ...]) -> None:
    assert normal_axes(axis, 3) == axes


@pytest.mark.parametrize(
    ("axis", "error", "words"),
    [
        (3, AxisError, "axis 3 is out of bounds for array of dimension 3"),
        (-4, AxisError, "axis -4 is out of bounds"),
        ((0, 5), AxisError, "axis 5 is out of bounds"),
        ((0, -3), ValueError, "duplicate value in 'axis'"),
        (1.0, TypeError, "`axis` must be an integer, a tuple of integers or None, not float"),
        ([0], TypeError, "`axis` must be .* not list"),
        (("0",), TypeError, "`axis` must be .* not str"),
    ],
)
def test_axes_that_are_none(axis: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        normal_axes(axis, 3)


def test_no_axis_of_a_scalar() -> None:
    assert normal_axes(None, 0) == ()
    with pytest.raises(AxisError):
        normal_axes(0, 0)


def test_shapes_without_axes() -> None:
    assert drop_axes((2, 3, 4), (1,)) == (2, 4)
    assert drop_axes((2, 3, 4), (0, 2), keepdims=True) == (1, 3, 1)


@pytest.mark.parametrize(
    ("shape", "axes", "found"),
    [
        ((2, 3, 4), (0,), (1, 2, 12)),
        ((2, 3, 4), (1,), (2, 3, 4)),
        ((2, 3, 4), (2,), (6, 4, 1)),
        ((2, 3, 4), (0, 1), (1, 6, 4)),
        ((2, 3, 4), (1, 2), (2, 12, 1)),
        ((2, 3, 4), (0, 1, 2), (1, 24, 1)),
        ((2, 3, 4), (), (1, 1, 24)),
        ((), (), (1, 1, 1)),
        ((2, 1, 4), (1,), (1, 1, 8)),
        ((1, 5), (0,), (1, 1, 5)),
    ],
)
def test_contiguous_arrays(shape: tuple[int, ...], axes: tuple[int, ...], found: tuple[int, int, int]) -> None:
    collapsed = collapse(shape, c_strides(shape), axes)
    assert collapsed is not None
    assert (collapsed.outer, collapsed.n, collapsed.inner) == found


def test_what_three_axes_cannot_say() -> None:
    shape = (3, 4, 5, 6)
    assert collapse(shape, c_strides(shape), (0, 2)) is None  # two runs along the axes
    assert collapse(shape, (960, 120, 12, 1), (0,)) is None  # three runs of the others


def test_columns_of_a_fortran_array_are_rows() -> None:
    assert collapse((5, 7), (1, 5), (0,)) == Collapsed(7, 5, 1, 5, 1, 0, 1, 1)
    assert collapse((5, 7), (1, 5), (1,)) == Collapsed(1, 7, 5, 0, 5, 1, 5, 1)
    # the first axis is the one of neighbours in memory: it is the inner one, and steps far in the result
    assert collapse((2, 3, 4), (1, 2, 6), (1,)) == Collapsed(4, 3, 2, 6, 2, 1, 1, 4)


def test_no_elements() -> None:
    for shape, axes in [((0, 3), (0,)), ((0, 3), (1,)), ((2, 0, 3), (0,)), ((0,), ())]:
        found = collapse(shape, c_strides(shape), axes)
        assert found is not None
        assert found.n == np.prod([shape[k] for k in axes], dtype=int)
        assert found.results == np.prod(drop_axes(shape, axes), dtype=int)


@st.composite
def views(draw):
    """A view of an array with distinct elements: axes permuted, sliced, reversed, broadcast."""
    shape = draw(st.lists(st.integers(1, 4), min_size=0, max_size=5))
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    x = x.transpose(draw(st.permutations(range(x.ndim))))
    x = x[tuple(draw(st.sampled_from([slice(None), slice(None, None, 2), slice(None, None, -1)])) for _ in shape)]
    if draw(st.booleans()):
        x = np.broadcast_to(x, (draw(st.integers(1, 3)), *x.shape))
    axes = tuple(k for k in range(x.ndim) if draw(st.booleans()))
    return x, axes


@given(views())
def test_the_same_elements_in_the_same_places(case) -> None:
    x, axes = case
    strides = tuple(s // x.itemsize for s in x.strides)
    found = collapse(x.shape, strides, axes)
    if found is None:
        kept = [k for k in range(x.ndim) if k not in axes]
        assert len(axes) > 1 or len(kept) > 2
        return
    extents = (found.outer, found.n, found.inner)
    steps = (found.outer_stride, found.n_stride, found.inner_stride)
    cube = as_strided(x, extents, tuple(8 * s for s in steps))
    kept = [k for k in range(x.ndim) if k not in axes]
    wanted = x.transpose(*kept, *axes).reshape(found.results, found.n)
    for o in range(found.outer):
        for i in range(found.inner):
            assert np.array_equal(cube[o, :, i], wanted[o * found.outer_step + i * found.inner_step])


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-9, 9)), max_size=5))
def test_merged_runs_reach_the_same(runs) -> None:
    def reached(runs):
        at = np.zeros(1, int)
        for extent, stride in runs:
            at = (at[:, None] + stride * np.arange(extent)).ravel()
        return at.tolist()

    assert reached(merge(runs)) == reached(runs)
    assert all(extent > 1 for extent, _ in merge(runs))
