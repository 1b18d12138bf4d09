"""Numbers of 8 bits with scales on the reference machine, with all its checks.

Kernels: kernels/quantize: scales; kernels/rows: quantized. Tests of prism/lib/algorithms/quantize: api, cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels.quantize import quantize_groups
from prism.kernels.rows import quantize_rows
from prism.kernels.rows.configurations import HELD, LONG, STAGED
from prism.lang.tree.plan import Program
from prism.runtime.instance import instance
from tests.kernels.test_move_tiles import aligned
from tests.mutation import without_barriers


def numbers(rows: int, n: int) -> Any:
    x = aligned(rows * n, "float32").reshape(rows, n)
    x[...] = np.random.default_rng(n).normal(size=(rows, n))
    x[0] = 0
    return x


def expected(groups: Any) -> tuple[Any, Any]:
    """Integers and scales of groups, which are rows."""
    top = np.abs(groups).max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        by = np.where(top == 0, np.float32(0), np.float32(127) / top)
    return np.rint(groups * by).astype(np.int8), np.where(top == 0, np.float32(1), top / np.float32(127))[:, 0]


@pytest.mark.parametrize(("lanes", "each", "width"), [(1, 1, 4), (16, 2, 4), (32, 1, 4), (8, 3, 1)])
def test_groups_of_rows_that_are_apart(lanes: int, each: int, width: int) -> None:
    size = lanes * each * width
    x = numbers(5, 3 * size + 4)
    q, scales = np.zeros(15 * size, np.int8), np.zeros(15, np.float32)
    template = {"T": "float32", "Q": "int8", "WHOLE": True, "LANES": lanes, "EACH": each, "WIDTH": width}
    quantize_groups[-(-15 * lanes // 256), 256](
        x.ravel(), q, scales, 15, 3, 3 * size + 4, 127.0, template=template, check=True
    )
    found, about = expected(x[:, : 3 * size].reshape(15, size))
    assert np.array_equal(q.reshape(15, size), found) and np.array_equal(scales, about)


def program(width: int, wide: bool = True, way: int = HELD) -> Program:
    sizes = {"ITEMS": 8, "WIDTH": width, "BLOCKS": 1, "WIDE": wide, "THREADS": 64, "RESIDENT": 1, "ROWS": 1, "WAY": way}
    return instance(quantize_rows, tuple(sorted({"TI": "float32", "TO": "int8", **sizes}.items()))).program


def rows(x: Any, of: Program, blocks: int, lanes: int = 0, ahead: int = 0, **options: Any) -> None:
    q, scales = aligned(x.size, "int8"), np.zeros(len(x), np.float32)
    given = [x.ravel(), q, scales, len(x), x.shape[1], x.shape[1], 127.0, lanes, ahead]
    run(of, blocks, 64, given, check=True, **options)
    found, about = expected(x)
    assert np.array_equal(q.reshape(x.shape), found) and np.array_equal(scales, about)


@pytest.mark.parametrize("width", [1, 4])
def test_rows(width: int) -> None:
    for n in (4, 500 // width * width, 512):
        rows(numbers(3, n), program(width), 3)
    rows(numbers(21, 60), program(width, wide=False), 3, lanes=3)
    rows(numbers(3, 1200), program(width, way=LONG), 3)
    if width == 4:  # less is not copied asynchronously
        rows(numbers(5, 500), program(width, way=STAGED), 2, ahead=2)


def test_schedules_and_barriers() -> None:
    for schedule in SCHEDULES:
        rows(numbers(2, 260), program(4), 2, schedule=schedule)
    found = list(without_barriers(program(4)))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule in SCHEDULES:
                rows(numbers(2, 512), mutant, 2, schedule=schedule, seed=0)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_floats_of_8_bits_are_near(dtype: str) -> None:
    """Whatever the group; their bits come in records, which NumPy has them as."""
    x = numbers(4, 96)
    for group, cut in (("row", 96), (32, 32), ("tensor", 4 * 96), (1, 1)):
        q, scales = lib.quantize(x, dtype, group=group)
        assert q.dtype.names == (dtype,) and q.shape == x.shape
        bits = q.view(np.uint8).astype(int)
        exponent, mantissa, bias = (4, 3, 7) if dtype == "float8_e4m3fn" else (5, 2, 15)
        power, rest = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
        value = np.where(
            power == 0, rest * 2.0 ** (1 - bias - mantissa), (1 + rest / 2**mantissa) * 2.0 ** (power - bias)
        )
        value = np.where(bits & 128, -value, value).reshape(-1, cut) * scales.reshape(-1, 1)
        top = np.abs(x.reshape(-1, cut)).max(axis=1, keepdims=True)
        assert (
            np.abs(value - x.reshape(-1, cut))
            <= np.abs(x.reshape(-1, cut)) * 2.0 ** -(mantissa + 1) * 1.001 + top * 1e-4
        ).all()


def test_what_is_refused() -> None:
    x = np.zeros((3, 4), np.float32)
    for error, text, call in (
        (TypeError, "must be of bfloat16", lambda: lib.quantize(x.astype(int))),
        (TypeError, "`dtype` must be one of", lambda: lib.quantize(x, "int4")),
        (ValueError, "must divide the last extent", lambda: lib.quantize(x, group=3)),
        (ValueError, "positive integer", lambda: lib.quantize(x, group=0)),
        (ValueError, "must have an axis", lambda: lib.quantize(np.float32(1))),
    ):
        with pytest.raises(error, match=text):
            call()
