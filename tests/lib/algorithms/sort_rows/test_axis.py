"""Arrays sorted along an axis, on NumPy arrays: shapes, axes, strides, dtypes, hard data, and the errors.

Tests of prism/lib/algorithms/sort_rows: axis, pairs; prism/lib/algorithms/transform: ships, transposes.
"""

from __future__ import annotations

import numpy as np
import pytest

from prism import lib
from prism.host import call
from prism.lib.algorithms.sort import plan as digits
from prism.lib.algorithms.sort_rows import plan
from prism.lib.algorithms.sort_rows.axis import argsort_along, sort_along
from prism.lib.algorithms.sort_rows.pairs import sort_by_key_along
from prism.lib.algorithms.sort_rows.plan import SUPPORTED
from tests.kernels.test_sort_rows import order_of
from tests.lib.algorithms.sort_rows.test_api import hard

SHAPES = [
    ((5, 300), -1),
    ((3, 70), 0),
    ((2, 5, 9), 1),
    ((4, 1), -1),
    ((0, 5), -1),
    ((5, 0), 1),
    ((40,), 0),
    ((2, 600), 1),
]


@pytest.mark.covering(1)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("kind", [kind for kind in SUPPORTED if kind != "bfloat16"])
def test_shapes_and_axes(shape: tuple[int, ...], axis: int, kind: str) -> None:
    x = hard(kind, int(np.prod(shape))).reshape(shape)
    wanted = np.argsort(x, axis=axis, kind="stable")
    values = np.arange(x.size, dtype=np.int16).reshape(shape)
    found = sort_along(x, axis)
    assert np.array_equal(found, np.take_along_axis(x, wanted, axis), equal_nan=x.dtype.kind in "fc")
    if x.dtype.kind == "f":
        assert np.array_equal(np.signbit(found), np.signbit(np.take_along_axis(x, wanted, axis))) or np.isnan(x).any()
    assert np.array_equal(argsort_along(x, axis), wanted)
    keys, moved = sort_by_key_along(x, values, axis)
    assert np.array_equal(moved, np.take_along_axis(values, wanted, axis))
    assert np.array_equal(keys, np.take_along_axis(x, wanted, axis), equal_nan=x.dtype.kind in "fc")


@pytest.mark.parametrize("kind", ["float32", "int8", "uint64"])
def test_descending(kind: str) -> None:
    x = hard(kind, 600).reshape(6, 100)
    wanted = order_of(x, True)
    assert np.array_equal(argsort_along(x, descending=True), wanted)
    found = sort_along(x, descending=True)
    assert np.array_equal(found, np.take_along_axis(x, wanted, -1), equal_nan=x.dtype.kind == "f")
    moved = sort_by_key_along(x, wanted.astype(np.float64), descending=True)[1]
    assert np.array_equal(moved, np.take_along_axis(wanted.astype(np.float64), wanted, -1))


def test_rows_that_no_block_holds() -> None:
    x = hard("float64", 3 * 4099).reshape(3, 4099)
    assert np.array_equal(argsort_along(x), np.argsort(x, axis=-1, kind="stable"))
    assert np.array_equal(sort_along(x), np.sort(x), equal_nan=True)


def test_strides_and_out() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((40, 60)).astype(np.float32)
    for view in (x[::2, ::-3], x.T, x[:, 5:6], x[1:, 1:]):
        for axis in (0, 1):
            assert np.array_equal(sort_along(view, axis), np.sort(view, axis))
            out = np.zeros(view.shape[::-1], np.float32).T
            assert sort_along(view, axis, out=out) is out and np.array_equal(out, np.sort(view, axis))
            places = np.zeros(view.shape, np.int32)
            assert argsort_along(view, axis, dtype="int32", out=places) is places
            assert np.array_equal(places, np.argsort(view, axis, kind="stable"))
    assert sort_along(x, 0, out=x) is x and np.array_equal(x, np.sort(x, 0))


@pytest.mark.parametrize("given", ["C", "F", "gaps"])
@pytest.mark.parametrize(
    ("shape", "axis", "kind"), [((20, 70), 0, "float32"), ((2, 30, 5), 1, "int8"), ((9, 4), -2, "complex128")]
)
def test_results_lie_as_they_are_asked_for(shape: tuple[int, ...], axis: int, kind: str, given: str) -> None:
    """Rows that do not lie side by side are brought there, whichever way the array and the result lie."""
    x = hard(kind, int(np.prod(shape))).reshape(shape)
    wanted = np.argsort(x, axis=axis, kind="stable")
    elements, equal = np.take_along_axis(x, wanted, axis), {"equal_nan": x.dtype.kind in "fc"}
    lying = np.repeat(x, 2, axis=-1)[..., ::2] if given == "gaps" else np.asarray(x, order=given)  # type: ignore[call-overload]
    found = lib.sort(lying, axis)
    assert np.array_equal(found, elements, **equal) and (given != "C" or found.flags.c_contiguous)
    for order in ("C", "F"):
        out, places = np.empty_like(x, order=order), np.empty(shape, np.int64, order=order)  # type: ignore[call-overload]
        assert lib.sort(lying, axis, out=out) is out and lib.argsort(lying, axis, out=places) is places
        assert np.array_equal(out, elements, **equal) and np.array_equal(places, wanted)
    same = lying.copy(order="K")
    assert lib.sort(same, axis, out=same) is same and np.array_equal(same, elements, **equal)


def test_columns_of_bytes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row for row, each a part of the memory between the steps of the plan."""
    monkeypatch.setattr(digits, "_MANY", 1000)
    call.forget()
    x = hard("uint8", 18_000).reshape(9000, 2)
    assert np.array_equal(lib.sort(x, 0), np.sort(x, 0))
    call.forget()


def test_errors() -> None:
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(np.exceptions.AxisError):
        sort_along(x, 2)
    with pytest.raises(np.exceptions.AxisError):
        argsort_along(np.float32(1))
    with pytest.raises(TypeError, match="`a` has dtype"):
        sort_along(np.zeros((3, 4), "f4,f4"))
    with pytest.raises(TypeError, match="`dtype` must be int32 or int64"):
        argsort_along(x, dtype="uint8")
    with pytest.raises(ValueError, match="`out` must have shape"):
        sort_along(x, out=np.zeros((4, 3), np.float32))
    with pytest.raises(TypeError, match="`out` must be of float32"):
        sort_along(x, out=np.zeros((3, 4)))
    with pytest.raises(ValueError, match="`keys` and `values` must have one shape"):
        sort_by_key_along(x, x[:2])


def test_rows_sorted_by_digits_have_no_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are merged have one."""
    monkeypatch.setattr(plan, "LONGEST", 20_000)
    call.forget()
    x = np.random.default_rng(0).integers(0, 99, 20_001).astype(np.uint16)
    assert np.array_equal(lib.sort(x), np.sort(x))
    with pytest.raises(ValueError, match="`a` has 20001 elements along the axis, and 20000 are the most"):
        lib.sort(x.astype(np.complex64))
