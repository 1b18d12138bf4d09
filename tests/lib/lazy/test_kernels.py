"""Kernels of a user's that are given lazy arrays, and `prism.lib.for_each`.

Tests of prism/host/lazies.py; prism/lib/for_each.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from prism.lang import (
    CompileError,
    const,
    constexpr,
    dtype,
    float32,
    grid,
    group,
    id,
    int32,
    int64,
    partition,
    ptr,
    requires,
    template,
    thread,
)
from prism.lang import prism as mark
from prism.lib import for_each, lazy


@mark("global")
@template(T=dtype)
@requires(grid[1], thread[1])
def shift(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], by: int32 @ grid[1] = 1):
    me: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=me) as mine, group(thread[1]):
        if me < n:
            mine[0] = x[(me + by) % n]


def test_a_kernel_reads_a_lazy_array() -> None:
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    shift[1, 32](lazy.of(x) * x + 0.5, y, 10, check=True)
    assert np.array_equal(y, np.roll(x * x + np.float32(0.5), -1))
    shift[1, 32](lazy.flip(x), y, 10, by=2, check=True)
    assert np.array_equal(y, np.roll(x[::-1], -2))
    for start in (3, 5):  # one kernel, other numbers
        shift[1, 32](lazy.arange(start, start + 10, dtype="float32"), y, 10)
        assert np.array_equal(y, np.roll(np.arange(start, start + 10), -1))
    shift[1, 32](lazy.take(x, np.arange(9, -1, -1)), y, 10, template={"T": np.float32})
    assert np.array_equal(y, np.roll(x[::-1], -1))


def test_what_is_read_out_of_bounds_is_found() -> None:
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    with pytest.raises(Exception, match=r"x\.leaf0") as caught:
        shift[1, 32](lazy.take(x, lazy.of(np.array([30] * 10))), y, 10, check=True)
    assert caught.value.code == "machine-bounds"  # type: ignore[attr-defined]


def test_what_is_read_may_not_be_written() -> None:
    x = np.arange(10, dtype=np.float32)
    with pytest.raises(ValueError, match="what `x` is computed from and `y` overlap in memory.*evaluate"):
        shift[1, 32](lazy.of(x) + 1, x, 10)


def test_what_is_written_is_no_lazy_array() -> None:
    x = np.arange(10, dtype=np.float32)
    with pytest.raises(TypeError, match=r"`shift`: it is written, or no plain memory: pass prism.lib.evaluate"):
        shift[1, 32](x, lazy.of(x), 10)


def test_another_dtype() -> None:
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float64)
    with pytest.raises(TypeError, match="`y` must be an array of float32"):
        shift[1, 32](lazy.of(x), y, 10)


@mark("global")
@template(N=constexpr(int))
@requires(grid[1], thread[1])
def add(x: ptr(const(int64)) @ grid[1], y: ptr(const(int64)) @ grid[1], z: ptr(int64) @ grid[1]):
    me: int32 @ thread[1] = id()
    with partition(z, thread[1], offset=me) as mine, group(thread[1]):
        if me < N:  # noqa: F821
            mine[0] = x[me] + y[me]


def test_several_lazy_arrays() -> None:
    z = np.zeros(7, np.int64)
    add[1, 32](lazy.arange(7), lazy.full(7, 100), z, template={"N": 7}, check=True)
    assert z.tolist() == list(range(100, 107))


@mark("device")
@requires(thread[1])
@template(T=dtype)
def put(i: int64 @ thread[1], x: ptr(const(T)) @ thread[1], to: ptr(const(int64)) @ thread[1], y: ptr(T) @ thread[1]):
    y[to[i]] = x[i]


@mark("device")
@requires(thread[1])
def number(i: int64 @ thread[1], j: int64 @ thread[1], y: ptr(int64) @ thread[1]):
    y[i * 7 + j] = 100 * i + j


def test_a_function_for_each_index() -> None:
    x, to, y = np.arange(1000, dtype=np.float32), np.random.default_rng(0).permutation(1000), np.zeros(1000, np.float32)
    assert for_each(put, 1000, x, to, y) is None
    assert np.array_equal(y[to], x)
    for_each(put, 500, lazy.of(x) + 1, lazy.arange(500), y)
    assert np.array_equal(y[:500], x[:500] + 1)
    z = np.zeros((5, 7), np.int64)
    for_each(number, (5, 7), z)
    assert np.array_equal(z, 100 * np.arange(5)[:, None] + np.arange(7))
    for_each(number, (0, 7), z)


def test_misuse_of_for_each() -> None:
    x, z = np.zeros(10), np.zeros((5, 7), np.int64)
    with pytest.raises(TypeError, match="must be a device function"):
        for_each(lambda i: None, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="negative extent: -1"):
        for_each(put, -1, x, z, x)
    with pytest.raises(TypeError, match="`number` takes 3 arguments, and is called with 1 indices and 1 arrays"):
        for_each(number, 35, z)
    with pytest.raises(TypeError, match="it is written"):
        for_each(number, (5, 7), lazy.of(z))
    with pytest.raises(ValueError, match="overlap"):
        for_each(put, 10, x, np.arange(10), x)
    with pytest.raises(CompileError, match=r"takes ptr\(int64\), found ptr\(float64\)"):
        for_each(number, (5, 7), x)


@mark("device")
@requires(thread[1])
def beside(
    x: ptr(const(float32)) @ grid[1], x_at: int64 @ thread[1], x_leaf0: int64 @ thread[1]
) -> float32 @ thread[1]:
    x_number0: float32 = 1000.0
    return x[x_at + x_leaf0] + x_number0


@mark("global")
@requires(grid[1], thread[1])
def shifted(
    x: ptr(const(float32)) @ grid[1], x_leaf0: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1],
    x_number0: int64 @ grid[1],
):  # fmt: skip
    i: int64 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = beside(x, i, x_number0) + 100 * x_leaf0[i]


def test_names_that_a_kernel_has_itself() -> None:
    """None of them hides what comes with a lazy array: its memory, its numbers, and where it begins."""
    x, more, y = np.arange(40, dtype=np.float32), np.full(32, 7, np.float32), np.zeros(32, np.float32)
    shifted[1, 32](lazy.of(x) + 5, more, y, 3, check=True)
    assert np.array_equal(y, x[3:35] + 5 + 1000 + 700)
