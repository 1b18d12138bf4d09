"""Norms rounded to 8 bits, with a scale for each row, on the reference machine and by the library on NumPy arrays.

Kernels: kernels/rows: moments, norms_quantized, rms_quantized, scaled. Tests of prism/lib/algorithms/rows: norms_quantized.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import prism
from prism import lib
from prism.interpret import MachineError, run
from prism.kernels import rows as kernels
from prism.kernels.rows.configurations import COPIED, HELD, LONG, STAGED
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers

RANDOM = np.random.default_rng(5)
OFF = {"int8": 0.5 / 127, "float8_e4m3fn": 2.0**-4, "float8_e5m2": 2.0**-3}
"""What rounding an element to 8 bits is off, of the row's largest magnitude: half a unit of its last place."""


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return RANDOM.standard_normal(shape).astype(dtype)


def normal(x: Any, centred: bool) -> Any:
    wide = x.astype(np.float64)
    wide = wide - wide.mean(-1, keepdims=True) if centred else wide
    return wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)


def back(q: Any, scales: Any, name: str) -> Any:
    """Return the numbers that 8 bits and their scales stand for."""
    wide = q.astype(np.float64) if name == "int8" else q.view(getattr(ml_dtypes, name)).astype(np.float64)
    return wide * scales[..., None]


def require_near(found: Any, wanted: Any, name: str) -> None:
    largest = np.abs(wanted).max(-1, keepdims=True)
    assert (np.abs(found - wanted) <= 1.01 * OFF[name] * largest + 1e-6).all()  # 1 %: of float32 and float16 before


@functools.cache
def program(centred: bool, blocks: int, wide: bool, way: int, full: bool = False) -> Any:
    sizes = {
        "ITEMS": 8,
        "WIDTH": 4,
        "BLOCKS": blocks,
        "WIDE": wide,
        "THREADS": 64,
        "RESIDENT": 1,
        "ROWS": 1,
        "WAY": way,
    }
    types = {
        "TI": "float32",
        "TO": "int8",
        "W": "float32",
        "D": "float64",
        "S": kernels.WidePair,
        "WEIGHT": True,
        "RESIDUAL": way != STAGED,
    }
    if centred:
        return prism.check(
            kernels.norm_quantize_rows, {**types, "G": kernels.Three, "BIAS": True, "FULL": full, **sizes}
        )
    return prism.check(kernels.rms_quantize_rows, {**types, **sizes})


def run_norm(shape: tuple[Any, ...], centred: bool, mutant: Any = None, full: bool = False, **options: Any) -> None:
    blocks, lanes, way, rows, n = shape
    x, z, (w, v) = numbers(rows, n) + np.float32(3), numbers(rows, n), numbers(2, n)
    q, scales, added = np.full((rows, n), 7, np.int8), np.zeros(rows, np.float32), np.zeros_like(x)
    columns = (w, v) if centred else (w,)
    turns = way == STAGED
    step = 2 // blocks if turns else 0
    grid = blocks * (step or rows) if lanes < 0 else -(-(rows << lanes) // 64)
    given = (x, z, *columns, q, scales, added, rows, n, n, n, 1e-5, 1 / n, 127.0, max(lanes, 0), step)
    run(mutant or program(centred, blocks, lanes < 0, way, full), grid, 64, given, check=True, **options)
    total = x if turns else x + z
    assert turns or (added == total).all()
    require_near(back(q, scales, "int8"), normal(total, centred) * w + (v if centred else 0), "int8")
    assert (np.abs(q.astype(int)).max(axis=1) == 127).all()


BLOCK = (1, -1, HELD, 3, 500)
WHOLE = (1, -1, HELD, 3, 512)
TURNS = (1, -1, STAGED, 5, 512)  # two blocks have them


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("shape", [BLOCK, (1, 3, HELD, 21, 60), (2, -1, HELD, 2, 1000), (1, -1, LONG, 2, 1300)])
def test_schedules_of_all_who_may_share_a_row(shape: tuple[Any, ...], centred: bool) -> None:
    for schedule, seed in SCHEDULES[:3]:
        run_norm(shape, centred, schedule=schedule, seed=seed)


@pytest.mark.parametrize("shape", [WHOLE, (1, 3, HELD, 21, 64), (2, -1, HELD, 2, 1024)])
def test_schedules_where_all_have_all_their_vectors(shape: tuple[Any, ...]) -> None:
    for schedule, seed in SCHEDULES[:3]:
        run_norm(shape, True, full=True, schedule=schedule, seed=seed)


@pytest.mark.parametrize("shape", [TURNS, (2, -1, STAGED, 3, 1024)])
def test_schedules_of_rows_in_turn(shape: tuple[Any, ...]) -> None:
    for schedule, seed in SCHEDULES[:3]:
        run_norm(shape, True, schedule=schedule, seed=seed)


def test_schedules_of_wide_rows_that_are_copied() -> None:
    for options in ({}, {"schedule": "random", "seed": 4}):
        run_norm((2, -1, COPIED, 2, 1000), False, **options)


@pytest.mark.parametrize(("centred", "shape"), [(False, BLOCK), (True, BLOCK), (True, TURNS)])
def test_no_barrier_can_be_left_out(centred: bool, shape: tuple[Any, ...]) -> None:
    found = list(without_barriers(program(centred, 1, True, shape[2])))
    assert found
    for _, mutant in found:
        with pytest.raises((MachineError, AssertionError)):
            for schedule, seed in SCHEDULES:
                run_norm(shape, centred, mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize("norm", [lib.rms_norm, lib.layer_norm])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_row_with_nan_or_inf_has_the_scale_nan(norm: Any, wrong: float) -> None:
    x = numbers(3, 70)
    x[1, 5] = wrong
    _, scales = norm(x, dtype="float8_e4m3fn")
    assert np.array_equal(np.isnan(scales), [False, True, False])


@pytest.mark.parametrize("name", OFF)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_norms_of_8_bits(dtype: str, name: str) -> None:
    for shape in ((3, 4, 70), (5, 1024), (2, 5000)):
        x, z, (w, b) = numbers(*shape, dtype=dtype), numbers(*shape, dtype=dtype), numbers(2, shape[-1], dtype=dtype)
        q, scales = lib.rms_norm(x, w, dtype=name)
        assert q.shape == shape and q.itemsize == 1 and scales.shape == shape[:-1] and scales.dtype == np.float32
        require_near(back(q, scales, name), normal(x, False) * w, name)
        q, scales, total = lib.layer_norm(x, w, b, residual=z, dtype=name)
        assert (total == x + z).all()
        require_near(back(q, scales, name), normal(x + z, True) * w.astype(np.float64) + b, name)


def test_views_lazy_arrays_and_rows_of_zeros() -> None:
    x = numbers(6, 90)
    for view in (x[:, 5:80], x[::2], x.T):
        require_near(back(*lib.layer_norm(view, dtype="int8"), "int8"), normal(view, True), "int8")
    require_near(back(*lib.layer_norm(lib.lazy.of(x) * 2, dtype="int8"), "int8"), normal(x * 2, True), "int8")
    q, scales = lib.rms_norm(np.zeros((2, 70), np.float32), dtype="int8")
    assert not q.any() and (scales == 1).all()
    q, scales = lib.rms_norm(np.zeros((0, 70), np.float32), dtype="int8")
    assert q.shape == (0, 70) and scales.shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: lib.rms_norm(x, dtype="float16"), TypeError, "`dtype` must be one of float8_e4m3fn"),
        (lambda x: lib.rms_norm(x.astype(np.float64), dtype="int8"), TypeError, "`x` must be of bfloat16"),
        (lambda x: lib.layer_norm(x, dtype="int8", out=x), ValueError, "`out` is for results of the dtype of `x`"),
        (lambda x: lib.layer_norm(x, x, dtype="int8"), ValueError, "`weight` must have shape"),
        (lambda x: lib.layer_norm(x, residual=x[0], dtype="int8"), ValueError, "`residual` has shape"),
    ],
)
def test_what_is_wrong_is_named(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(numbers(4, 6))
