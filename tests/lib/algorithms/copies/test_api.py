"""Copies, transposes and permutations of NumPy's arrays: any strides and dtypes, what is refused, overlaps, plans.

Tests of prism/lib/algorithms/copies: api, plan, ships, cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lib.algorithms.copies.plan import Axis, kernels, moves_of, plan_move
from tests.rarely import rarely

KINDS = ("u1", "u2", "f4", "f8", "c16", "u1,u1,u1", "f4,f4,f4", "S5", ">i4", "M8[s]", "?", "V24")


def strided(rng: Any, shape: tuple[int, ...], kind: str) -> Any:
    """An array of a shape whose elements are some of a larger one, with steps of both signs and axes in any order."""
    turned = rng.permutation(len(shape))
    lying = tuple(shape[k] for k in turned)
    steps = rng.choice([1, 1, 1, 2, -1, -3], len(shape))
    room = tuple(int(extent * abs(step) + rng.integers(0, 3)) for extent, step in zip(lying, steps, strict=True))
    dtype = np.dtype(kind)
    bits = rng.integers(0, 2 if kind == "?" else 256, int(np.prod(room)) * dtype.itemsize, dtype=np.uint8)
    cut = tuple(
        slice(0, extent * step, step) if step > 0 else slice(extent * -step - 1, None, step)
        for extent, step in zip(lying, steps, strict=True)
    )
    found = bits.view(dtype).reshape(room)[cut][tuple(slice(0, extent) for extent in lying)]
    return found.transpose(np.argsort(turned))


@pytest.mark.parametrize("seed", rarely(range(40), but=range(6)))
def test_random_strides_on_both_sides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        ndim = int(rng.integers(1, 6))
        shape = tuple(int(k) for k in rng.integers(1, (600, 60, 20, 8, 6)[ndim - 1], ndim))
        kind = KINDS[rng.integers(len(KINDS))]
        x, axes = strided(rng, shape, kind), tuple(int(k) for k in rng.permutation(ndim))
        wanted = x.transpose(axes)
        assert x.shape == shape
        made = lib.permute(x, axes)
        assert made.flags.c_contiguous and made.dtype == x.dtype and made.tobytes() == wanted.tobytes()
        out = strided(rng, wanted.shape, kind)
        room = out
        while room.base is not None:
            room = room.base
        before = room.copy()
        assert lib.permute(x, axes, out=out) is out and out.tobytes() == wanted.tobytes()
        after, room[...] = room.copy(), before
        out[...] = wanted
        assert np.array_equal(room, after)  # nothing beside its elements was written


def test_what_numpy_says() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(lib.transpose(x), x.swapaxes(-1, -2)) and np.array_equal(
        lib.transpose(x, 0, -1), x.swapaxes(0, 2)
    )
    assert np.array_equal(lib.permute(x), x.T) and np.array_equal(lib.permute(x, (1, -1, 0)), x.transpose(1, 2, 0))
    assert np.array_equal(lib.copy(x[:, ::-1]), x[:, ::-1]) and lib.copy(x) is not x
    assert np.array_equal(lib.transpose(x, 1, 1), x) and np.array_equal(lib.permute([[1, 2], [3, 4]]), [[1, 3], [2, 4]])
    assert lib.copy(np.float32(3)) == 3 and lib.permute(np.array(5), ()) == 5
    for empty in (np.zeros((0, 3)), np.zeros((3, 0, 2), np.uint8)):
        assert lib.permute(empty).shape == empty.T.shape and lib.transpose(empty).dtype == empty.dtype
    repeated = np.broadcast_to(np.arange(3, dtype=np.int16), (50, 3))
    assert np.array_equal(lib.copy(repeated), repeated) and np.array_equal(lib.transpose(repeated), repeated.T)
    lazy = lib.lazy.of(x) * 2
    assert np.array_equal(lib.permute(lazy), 2 * x.T)


def test_what_is_refused() -> None:
    x = np.zeros((3, 4), np.float32)
    readonly = np.zeros((4, 3), np.float32)
    readonly.flags.writeable = False
    room = np.zeros(20, np.float32)
    for error, text, call in (
        (np.exceptions.AxisError, "out of bounds", lambda: lib.transpose(x, 0, 2)),
        (np.exceptions.AxisError, "out of bounds", lambda: lib.transpose(np.zeros(3))),
        (ValueError, "must name each of the 2 axes", lambda: lib.permute(x, (0, 0))),
        (ValueError, "must name each of the 2 axes", lambda: lib.permute(x, (1,))),
        (TypeError, "must be an integer", lambda: lib.transpose(x, 0.5)),
        (TypeError, "must be of float32, the dtype of `x`, not of float64", lambda: lib.copy(x, np.zeros((3, 4)))),
        (ValueError, "must have shape", lambda: lib.transpose(x, out=np.zeros((3, 4), np.float32))),
        (ValueError, "read-only", lambda: lib.transpose(x, out=readonly)),
        (ValueError, "share memory", lambda: lib.copy(x, np.lib.stride_tricks.as_strided(room, (3, 4), (4, 4)))),
        (TypeError, "Python objects", lambda: lib.copy(np.array([None, 1], object))),
        (ValueError, "for arrays on a GPU", lambda: lib.copy(x, stream=1)),
        (TypeError, "must be an array", lambda: lib.copy(x, [1])),
    ):
        with pytest.raises(error, match=text):
            call()


def test_a_result_that_overlaps_what_it_is_of() -> None:
    x = np.arange(64 * 64, dtype=np.uint16)
    square = x.reshape(64, 64)
    wanted = square.T.copy()
    assert lib.transpose(square, out=square) is square and np.array_equal(square, wanted)
    x[:] = np.arange(x.size)
    lib.copy(x[:-5], x[5:])
    assert np.array_equal(x, [*range(5), *range(x.size - 5)])
    lib.copy(x[::-1], x)
    assert np.array_equal(x, [*range(x.size - 5)][::-1] + [*range(5)][::-1])
    lib.copy(x, x)
    assert x[-1] == 0


def test_plans() -> None:
    x, y = np.arange(48, dtype=np.int8).reshape(6, 8), np.zeros((8, 12), np.int8)[:, ::2]
    plan = lib.plan(lib.transpose, x, out=y)
    for number in range(3):
        x[...] = number + np.arange(48).reshape(6, 8)
        assert np.array_equal(plan(), x.T)


def test_lazy_arrays() -> None:
    """They are computed where they are written: into gaps beside, and so where they read the result."""
    x = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    lazy = lib.lazy.of(x) * 2
    assert np.array_equal(lib.permute(lazy, (2, 0, 1)), 2 * x.transpose(2, 0, 1))
    assert np.array_equal(lib.permute(lazy), 2 * x.T) and np.array_equal(lib.copy(lazy), 2 * x)
    dense, gaps = np.zeros((4, 3, 5), np.int16), np.zeros((4, 3, 10), np.int16)[..., ::-2]
    for out in (dense, gaps):
        assert lib.transpose(lazy, 0, 1, out=out) is out and np.array_equal(out, 2 * x.swapaxes(0, 1))
    plan = lib.plan(lib.transpose, lazy, out=np.zeros((3, 5, 4), np.int16))
    x += 1
    assert np.array_equal(plan(), 2 * x.swapaxes(1, 2))
    square = np.arange(49).reshape(7, 7)
    wanted = square.T + 1
    lib.transpose(lib.lazy.of(square) + 1, out=square)
    assert np.array_equal(square, wanted)
    room = np.zeros(60, np.int16)
    lib.copy(lib.lazy.arange(60, dtype=np.int16), lib.lazy.put(room, np.arange(60)[::-1]))
    assert room.tolist() == [*range(60)][::-1]
    with pytest.raises(TypeError, match="int16"):
        lib.copy(lazy, np.zeros((3, 4, 5)))
    with pytest.raises(ValueError, match="share memory"):
        lib.copy(lazy, np.lib.stride_tricks.as_strided(np.zeros(5, np.int16), (3, 4, 5), (0, 0, 2)))
    with pytest.raises(ValueError, match="shape"):
        lib.copy(lazy, np.zeros((4, 3, 5), np.int16))
    with pytest.raises(np.exceptions.AxisError):
        lib.transpose(lazy, 0, 3)


def test_axes_are_merged_and_units_as_wide_as_they_lie() -> None:
    """Of a copy one axis of 16 bytes is left; of a transpose two; a struct of 12 bytes is three words."""
    assert moves_of((4, 8, 16), (512, 64, 4), (512, 64, 4), 4, (0, 0)).axes == (Axis(128, 1, 1),)
    assert moves_of((4, 8, 16), (512, 64, 4), (512, 64, 4), 4, (0, 4)).size == 4
    heads = moves_of((2, 8, 5, 32), (2560, 64, 512, 2), (2560, 320, 64, 2), 2, (0, 0))
    assert heads.size == 16 and heads.axes == (Axis(2, 160, 160), Axis(8, 4, 20), Axis(5, 32, 4), Axis(4, 1, 1))
    record = moves_of((7, 9), (12, 84), (108, 12), 12, (0, 0))
    assert record.size == 4 and record.axes[-1] == Axis(3, 1, 1)
    assert moves_of((), (), (), 8, (0, 0)).axes == () and plan_move(moves_of((), (), (), 8, (0, 0)), (0, 0)).steps


def test_few_kernels_ship_and_they_are_those_that_calls_take() -> None:
    shipped = list(kernels())
    assert len(set(shipped)) == len(shipped) <= 40
    rng = np.random.default_rng(0)
    for _ in range(500):
        size, begins = int(rng.choice([1, 2, 4, 8, 16])), (int(16 * rng.integers(0, 2)), 0)
        shape = tuple(int(k) for k in rng.choice([2, 3, 16, 33, 64, 500, 4096], int(rng.integers(1, 4))))
        order = rng.permutation(len(shape))
        source = tuple(size * int(np.prod([shape[k] for k in order[place + 1 :]])) for place in np.argsort(order))
        target = tuple(size * int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
        gaps = size * int(rng.integers(1, 3))
        plan = plan_move(moves_of(shape, tuple(gaps * step // size for step in source), target, size, begins), begins)
        assert {one for one in plan.instances()} <= set(shipped)
