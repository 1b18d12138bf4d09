"""Activations, their gradients and rotary positions on the reference machine, with all its checks, beside float64.

Kernels: kernels/activations: functions, rows, rotary. Tests of prism/lib/algorithms/activations: api, cases;
prism/lib/algorithms/rotary: api, cases; prism/host: matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import prism
from prism import lib
from prism.interpret import SCHEDULES
from prism.kernels.activations import GELU, GELU_TANH, SILU, activate, activate_backward, turn_pairs
from tests.kernels.test_move_tiles import aligned

ERF = np.vectorize(math.erfc)


def sigmoid(x: Any) -> Any:
    return np.exp(-np.logaddexp(0, -x))


GATES: dict[int, Callable[[Any], Any]] = {
    SILU: sigmoid,
    GELU: lambda x: ERF(-x / math.sqrt(2)) / 2,
    GELU_TANH: lambda x: sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
}


def slope(kind: int, x: Any) -> Any:
    """The derivative of x times its share, by differences."""
    step = 1e-5
    return ((x + step) * GATES[kind](x + step) - (x - step) * GATES[kind](x - step)) / (2 * step)


def numbers(shape: tuple[int, ...], seed: int) -> Any:
    x = aligned(int(np.prod(shape)), "float32").reshape(shape)
    x[...] = np.random.default_rng(seed).uniform(-8, 8, shape)
    return x


@pytest.mark.parametrize("fast", [0, 1, 2])
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_rows_that_are_apart_by_vectors_and_one_by_one(kind: int, gated: bool, fast: int) -> None:
    for width, rows, n in ((4, 3, 700), (1, 7, 33), (4, 1, 2052)):
        x, up, dy = numbers((rows, n + 8), 0), numbers((rows, n + 4), 1), numbers((rows, n), 2)
        template = {
            "T": "float32",
            "A": "float32",
            "KIND": kind,
            "GATED": gated,
            "FAST": fast,
            "FLAT": rows == 1,
            "EACH": 2,
            "WIDTH": width,
        }
        y, dx, dup = (aligned(rows * n, "float32").reshape(rows, n) for _ in range(3))
        blocks = -(-rows * n // (512 * width))
        flat = x.ravel(), up.ravel()
        activate[blocks, 256](*flat, y.ravel(), rows, n, n + 8, n + 4, template=template, check=True)
        activate_backward[blocks, 256](
            dy.ravel(), *flat, dx.ravel(), dup.ravel(), rows, n, n, n + 8, n + 4, n, n, template=template, check=True
        )
        a, b, d = (v.astype(np.float64) for v in (x[:, :n], up[:, :n], dy))
        other = b if gated else 1
        bound = 2e-6 if fast else 1e-6
        assert np.abs(y - a * GATES[kind](a) * other).max() <= bound * 64
        assert np.abs(dx - d * slope(kind, a) * other).max() <= bound * 64 * 8
        if gated:
            assert np.abs(dup - d * a * GATES[kind](a)).max() <= bound * 64


def test_values_at_the_ends() -> None:
    """Far from 0 a gate is shut or open; what is no number stays none."""
    x = np.array([-np.inf, -1e4, -100, 0, 100, 1e4, np.inf, np.nan], np.float32)
    for found in (lib.gelu(x), lib.gelu(x, approximate="tanh"), lib.swiglu(x, np.ones_like(x))):
        assert np.array_equal(found[1:6], [0, 0, 0, 100, 1e4]) and found[6] == np.inf and np.isnan(found[7])
    small = lib.gelu(np.array([-6.0, -5, -4], np.float32))
    wanted = np.array([-6.0, -5, -4]) * GATES[GELU](np.array([-6.0, -5, -4]))
    assert np.abs(small / wanted - 1).max() < 1e-5  # though 1 + erf(x) has few digits there


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_in_place_under_every_schedule(schedule: str) -> None:
    x, up = numbers((600,), 0), numbers((600,), 1)
    wanted = lib.swiglu(x, up)
    template = {
        "T": "float32",
        "A": "float32",
        "KIND": SILU,
        "GATED": True,
        "FAST": 0,
        "FLAT": True,
        "EACH": 2,
        "WIDTH": 4,
    }
    activate[1, 256](x, up, x, 1, 600, 600, 600, template=template, check=True, schedule=schedule)
    assert np.array_equal(x, wanted)


@pytest.mark.parametrize(("adjacent", "width"), [(False, 1), (False, 4), (True, 2), (True, 4)])
def test_pairs_are_turned_and_others_copied(adjacent: bool, width: int) -> None:
    """Of (2, 3, 5, 24) with 8 angles, positions along the second axis."""
    x, angles = numbers((2, 3, 5, 32), 0), np.random.default_rng(1).uniform(0, 6, (3, 8)).astype(np.float32)
    cos, sin = np.cos(angles), np.sin(angles)
    y = aligned(2 * 3 * 5 * 24, "float32")
    half = (16 if adjacent else 8) // width
    slots = 24 // width if adjacent else half + 8 // width
    template = {"T": "float32", "C": "float32", "A": "float32", "ADJACENT": adjacent, "WIDTH": width}
    turn_pairs[-(-30 * slots // 256), 256](
        x.ravel(),
        cos.ravel(),
        sin.ravel(),
        y,
        30 * slots,
        3,
        5,
        slots,
        half,
        3 * 5 * 32,
        5 * 32,
        32,
        24,
        8,
        -1.0,
        template=template,
        check=True,
    )
    a, b = (x[..., 0:16:2], x[..., 1:16:2]) if adjacent else (x[..., :8], x[..., 8:16])
    c, s = cos[:, None], -sin[:, None]
    found = y.reshape(2, 3, 5, 24)
    one, other = (found[..., 0:16:2], found[..., 1:16:2]) if adjacent else (found[..., :8], found[..., 8:16])
    assert np.allclose(one, a * c - b * s, atol=1e-5) and np.allclose(other, b * c + a * s, atol=1e-5)
    assert np.array_equal(found[..., 16:], x[..., 16:24])


def test_what_is_refused() -> None:
    x, table = np.zeros((2, 3, 4), np.float32), np.zeros((3, 2), np.float32)
    for error, text, call in (
        (TypeError, "must be of bfloat16, float16", lambda: lib.gelu(np.zeros(3, int))),
        (ValueError, "`approximate` must be one of 'none', 'tanh'", lambda: lib.gelu(x, approximate="fast")),
        (ValueError, "must have shape", lambda: lib.swiglu(x, x[:1])),
        (TypeError, "as `x` is", lambda: lib.swiglu(x, x.astype(np.float16))),
        (ValueError, "gates and as many more", lambda: lib.swiglu(x[..., :3])),
        (ValueError, "there are two results", lambda: lib.swiglu_backward(x, x, x, out=x)),
        (ValueError, "must have shape", lambda: lib.gelu_backward(x[0], x)),
        (ValueError, "must have angles of each position", lambda: lib.rope(x, table[:2], table[:2])),
        (ValueError, "as `cos`", lambda: lib.rope(x, table, table[:, :1])),
        (ValueError, "rows are along the last one", lambda: lib.rope(x, table, table, axis=-1)),
        (ValueError, "which is odd", lambda: lib.rope(x[..., :3], table[:, :1], table[:, :1], interleaved=True)),
        (TypeError, "must both be of", lambda: lib.rope(x, table.astype(np.float64), table)),
    ):
        with pytest.raises(error, match=text):
            call()


def test_the_kernels_for_the_device_do_not_spill() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    template = {
        "T": "bfloat16",
        "A": "float32",
        "KIND": GELU,
        "GATED": True,
        "FAST": 1,
        "FLAT": False,
        "EACH": 2,
        "WIDTH": 8,
    }
    for kernel in (activate, activate_backward):
        assert prism.compile(kernel, template).spills == 0
