"""sort, argsort and sort_by_key on NumPy arrays: dtypes, axes, long rows, hard data, and the errors.

Tests of prism/lib/algorithms/sort: api, plan, cases, ships.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.lib import argsort, sort, sort_by_key
from prism.lib.algorithms.sort import plan as plans
from prism.lib.algorithms.sort_rows import axis as along
from prism.lib.algorithms.sort_rows import pairs
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from tests.kernels.test_sort import hard
from tests.rarely import rarely

LONG = 17_000  # no block of the reference machine holds a row of it
DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32", "int64", "uint64", "float64",
]  # fmt: skip


def check(x: Any, axis: int | None = -1, **options: Any) -> None:
    wanted = np.argsort(x, axis=axis, kind="stable")
    flat, last = (x.reshape(-1), -1) if axis is None else (x, axis)
    assert np.array_equal(argsort(x, axis, **options), wanted)
    found = sort(x, axis, **options)
    sorted_ = np.take_along_axis(flat, wanted, last)
    assert found.dtype == x.dtype and np.array_equal(found, sorted_, equal_nan=x.dtype.kind == "f")
    numbers = ~np.isnan(sorted_) if x.dtype.kind == "f" else np.ones(sorted_.shape, bool)
    assert np.array_equal(
        np.signbit(found[numbers]) if x.dtype.kind == "f" else 0,
        np.signbit(sorted_[numbers]) if x.dtype.kind == "f" else 0,
    )
    values = np.arange(flat.size, dtype=np.int16).reshape(flat.shape)
    keys, moved = sort_by_key(flat, values, last)
    assert np.array_equal(moved, np.take_along_axis(values, wanted, last))
    assert np.ascontiguousarray(keys).tobytes() == np.ascontiguousarray(sorted_).tobytes()


@pytest.mark.parametrize("dtype", rarely(DTYPES, but=["bool", "float16", "int32"]))
def test_long_rows(dtype: str) -> None:
    x = hard("uint8" if dtype == "bool" else dtype, LONG + 5000)
    check(x % 2 == 0 if dtype == "bool" else x)


@pytest.mark.parametrize("shape", [(0,), (1,), (5, 0), (0, 5), (3, 4), (2, 3, 5)])
def test_shapes_and_axes(shape: tuple[int, ...]) -> None:
    x = hard("int32", int(np.prod(shape))).reshape(shape)
    for axis in (None, *range(-len(shape), len(shape))):
        check(x, axis)
    check(x.T)


@pytest.mark.parametrize("axis", rarely([1, 0], but=[0]))
def test_few_long_rows_and_strides(axis: int) -> None:
    x = hard("int16", (2 + axis) * 2 * 70_000).reshape(2 + axis, -1)[:, ::2]
    check(x if axis else x.T, axis)


@pytest.mark.parametrize("dtype", rarely(["int16", "float32"], but=["float32"]))
def test_a_falling_order(dtype: str) -> None:
    x = hard(dtype, LONG)
    numbers = np.nan_to_num(x.astype(np.float64), posinf=1e300, neginf=-1e300)
    wanted = np.lexsort((np.arange(len(x)), -numbers, np.isnan(x)))
    assert np.array_equal(argsort(x, descending=True), wanted)
    assert np.array_equal(sort(x, descending=True), x[wanted], equal_nan=x.dtype.kind == "f")
    assert np.array_equal(sort_by_key(x, wanted, descending=True)[1], wanted[wanted])


def test_bfloat16() -> None:
    x = hard("float32", LONG).astype(ml_dtypes.bfloat16)
    assert np.array_equal(argsort(x), np.argsort(x.astype(np.float32), kind="stable"))


@pytest.mark.parametrize("data", ["equal", "sorted", "reversed", "few", "skewed", "narrow"])
def test_data_of_all_kinds(data: str) -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 1 << 62, LONG)
    x = {
        "equal": np.full(LONG, 7), "sorted": np.sort(x), "reversed": np.sort(x)[::-1].copy(), "few": x % 3,
        "skewed": np.where(random.random(LONG) < 0.7, 5, x), "narrow": x % (1 << 24) - 99,
    }[data]  # fmt: skip
    check(x)


def test_results_where_they_are_asked_for() -> None:
    x = hard("int32", LONG)
    y, places = np.empty_like(x), np.empty(LONG, np.int32)
    assert sort(x, out=y) is y and np.array_equal(y, np.sort(x))
    assert argsort(x, dtype="int32", out=places) is places and np.array_equal(places, np.argsort(x, kind="stable"))
    again = prism.lib.plan(sort, x, out=y)
    x[:] = x[::-1].copy()
    y[:] = 0
    again()
    assert np.array_equal(y, np.sort(x))
    assert sort(x, out=x) is x and np.array_equal(x, y)


def test_values_of_all_sizes() -> None:
    keys = hard("uint16", LONG)
    wanted = np.argsort(keys, kind="stable")
    for dtype in ("bool", "int16", "float32", "float64", "complex64", "complex128"):
        values = np.arange(LONG).astype(dtype)
        assert np.array_equal(sort_by_key(keys, values)[1], values[wanted])


class Device:
    """A GPU, as far as plans look at it: four multiprocessors."""

    host, arch, multiprocessors = False, "sm_90a", 4

    def wave(self, instance: Any, threads: int) -> int:
        return 3


@pytest.mark.parametrize("scalar", rarely(["uint8", "float16", "uint32", "float32", "int64"], but=["float32"]))
def test_what_a_gpu_is_given(scalar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU's plans, run by the reference machine: tiles and threads are not those of the host's plans."""

    def rows(kind: Kind, many: int, n: int, machine: Any, *, names: Names | None = None, **how: bool) -> Any:
        return plans.radix(kind, many, n, Device(), names or Names(), **how)

    monkeypatch.setattr(along, "rows", rows)
    monkeypatch.setattr(pairs, "rows", rows)
    prism.host.call.forget()
    check(hard(scalar, 9_001))
    prism.host.call.forget()


def test_which_rows_are_sorted_by_digits() -> None:
    def by_digits(kind: Kind, many: int, columns: int) -> bool:
        found = plans.rows(kind, many, columns, Device())
        return any(
            getattr(step, "instance", None) and step.instance.kernel.__name__ == "sort_digit" for step in found.steps
        )

    assert by_digits(Kind("float32"), 1, 1 << 20) and by_digits(Kind("float32"), 16, 1 << 20)
    assert not by_digits(Kind("float32"), 1, 4096) and not by_digits(Kind("float32"), 1000, 1 << 15)
    assert not by_digits(Kind("complex64"), 1, 1 << 20)  # it has no key of 64 bits in that order
    assert by_digits(Kind("int64", values="uint64"), 1, 1 << 20)
    assert not by_digits(Kind("int64", values="complex128"), 1, 1 << 20)


def test_errors() -> None:
    x = np.arange(5)
    with pytest.raises(ValueError, match="axis 1"):
        sort(x, 1)
    with pytest.raises(ValueError, match="`kind` must be one of"):
        sort(x, kind="fastest")
    with pytest.raises(ValueError, match="`kind` and `stable`"):
        argsort(x, kind="stable", stable=True)
    with pytest.raises(TypeError, match="`kind` must be a string, not int"):
        sort(x, kind=3)
    with pytest.raises(ValueError, match="`order`"):
        sort(x, order="f0")
    with pytest.raises(TypeError, match="`dtype` must be int32 or int64"):
        argsort(x, dtype="int16")
    with pytest.raises(TypeError, match="`a` must be an array"):
        sort("abc")
    with pytest.raises(ValueError, match="`out` must have shape"):
        sort(x, out=np.empty(4, x.dtype))
    with pytest.raises(TypeError, match="`out` must be of int64"):
        sort(x, out=np.empty(5, np.int32))
    with pytest.raises(ValueError, match="one shape"):
        sort_by_key(x, x[:3])
    assert np.array_equal(sort(x[::-1], kind="Mergesort"), x)
