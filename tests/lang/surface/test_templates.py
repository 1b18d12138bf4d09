"""Defaults of template parameters: of numbers, types and functions, given, deduced, left out, computed of others."""

# ruff: noqa: F821 - template parameters

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism as package
from prism.lang import (
    CompileError,
    block,
    constexpr,
    dtype,
    float32,
    float64,
    function,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
)
from prism.launcher import LaunchError


@prism("device")
@template(T=dtype)
@requires(thread[1])
def identity(x: T @ thread[1]) -> T @ thread[1]:
    return x


@prism("device")
@template(T=dtype)
@requires(thread[1])
def double(x: T @ thread[1]) -> T @ thread[1]:
    return x * 2


@prism("device")
@template(
    T=dtype, N=constexpr(int, default=3), M=constexpr(int, default=lambda N: 2 * N), EPILOGUE=function(default=identity)
)
@requires(thread[1])
def scaled(x: T @ thread[1]) -> T @ thread[1]:
    return EPILOGUE(x) * N + M


@prism("global")
@template(
    T=dtype(default=float32),
    THREADS=constexpr(int, default=64),
    FIRST=constexpr(bool, default=True),
    HALF=constexpr(int, default=lambda T, THREADS: min(THREADS // 2, 8 * T.bytes)),
)
@requires(grid[1], block[1], thread[THREADS])
def kernel(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        v: T = T(HALF)
        mine[0] = int32(scaled(v) if FIRST else scaled(v, N=1, EPILOGUE=double))


@pytest.mark.parametrize(
    ("given", "threads", "expected"),
    [
        ({}, 64, 32 * 3 + 6),
        ({"FIRST": False}, 64, 32 * 2 + 2),
        ({"T": float64, "THREADS": 128}, 128, 64 * 3 + 6),
        ({"THREADS": np.int64(32)}, 32, 16 * 3 + 6),
        ({"HALF": 1}, 64, 9),
    ],
)
def test_what_is_left_out_has_its_default(given: dict[str, Any], threads: int, expected: int) -> None:
    y = np.zeros(256, np.int32)
    kernel[None, None](y, template=given, check=True)
    assert y[:threads].tolist() == [expected] * threads and not y[threads:].any()
    program = package.check(kernel, given)
    assert package.compile(kernel, given).cuda == package.compile(kernel, program.entry.template).cuda
    if not given:
        kernel[1, 64](y, check=True)
        assert package.compile(kernel).cubin and "HALF = 32" in package.explain(kernel) + package.compile(kernel).cuda


@prism("global")
@template(T=dtype(default=float64), N=constexpr(int, default=2))
@requires(grid[1], thread[1])
def filled(y: ptr(T) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = N


def test_what_arguments_imply_comes_before_the_default() -> None:
    y = np.zeros(4, np.int16)
    filled[1, 4](y, check=True)
    assert y.tolist() == [2, 2, 2, 2]
    with pytest.raises(TypeError, match="`y` must be an array of float32"):
        filled[1, 4](y, template={"T": np.float32})
    with pytest.raises(TypeError, match="`y` must be an array"):
        filled[1, 4]([1.0])
    with pytest.raises(LaunchError, match="1 arguments"):
        filled[1, 4]()
    assert str(package.check(filled).entry.parameters[0].type) == "ptr(float64)"
    assert "float64" in filled._repr_html_()


@pytest.mark.parametrize(
    "parameters",
    [
        lambda: {"N": constexpr(int, default=lambda M: M), "M": constexpr(int)},
        lambda: {"M": constexpr(int), "N": constexpr(int, default=lambda *M: 1)},
        lambda: {"M": constexpr(int), "N": constexpr(int, default=lambda M=3: M)},
        lambda: {"N": constexpr(int, default=lambda N: N)},
    ],
)
def test_a_default_is_of_parameters_before_it(parameters: Any) -> None:
    with pytest.raises(TypeError, match="is a function of parameters before it"):
        template(**parameters())


def test_a_default_is_no_name_and_has_no_other_keyword() -> None:
    closed = 3
    with pytest.raises(TypeError, match="is a function of parameters before it"):
        template(M=constexpr(int), N=constexpr(int, default=lambda M: M + closed))
    with pytest.raises(TypeError, match=r"write `default=lambda BM: BM // 2`"):
        template(N=constexpr(int, default=T // 2))
    with pytest.raises(TypeError, match=r"`N` is dtype, function or constexpr\(int\)"):
        template(N=constexpr(int, initial=3))


GLOBAL = 7


@prism("device")
@template(N=constexpr(int, default=lambda: GLOBAL))
@requires(thread[1])
def reads_a_global() -> int32 @ thread[1]:
    return N


def test_a_default_sees_no_globals() -> None:
    with pytest.raises(CompileError, match="cannot be computed: NameError: name 'GLOBAL' is not defined"):
        package.check(reads_a_global)
    assert package.check(reads_a_global, {"N": 2})
