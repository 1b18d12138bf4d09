"""Parameters with defaults: what a call, or a launch, leaves out (prism/lang/check: signature, arguments; prism/launcher.py)."""

# ruff: noqa: F821 - template parameters

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES
from prism.lang import (
    bfloat16,
    block,
    bool_,
    constexpr,
    dtype,
    float32,
    float64,
    grid,
    group,
    id,
    int32,
    int64,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
    uint8,
)
from prism.launcher import LaunchError

SCALE = 5
BM = 100


def make(factor: Any) -> Any:
    @prism("device")
    @requires(thread[1])
    def times(x: int32 @ thread[1], by: int32 @ thread[1] = factor) -> int32 @ thread[1]:
        return x * by

    return times


ten = make(10)


@prism("device")
@template(T=dtype, BM=constexpr(int))
@requires(thread[1])
def combined(
    x: T @ thread[1],
    scale: float32 @ thread[1] = 2,
    more: int32 @ thread[1] = BM * 2,
    flag: bool_ @ thread[1] = True,
    small: uint8 @ thread[1] = SCALE,
) -> float32 @ thread[1]:
    return x * scale + more + small if flag else small


@prism("device")
@requires(block[1], thread[32])
def put(tile: shared(int32[32]) @ block[1], value: int32 @ block[1] = 3, step: int32 @ block[1] = 1):
    i: int32 @ thread[1] = id()
    with partition(tile, thread[1], i) as mine, group(thread[1]):
        mine[0] = value + step * i


@prism("global")
@template(BM=constexpr(int, default=3))
@requires(grid[1], block[1], thread[32])
def kernel(
    y: ptr(float32) @ grid[1],
    n: int32 @ grid[1],
    scale: bfloat16 @ grid[1] = 1.5,
    off: int32 @ grid[1] = BM,
    flag: bool_ @ grid[1] = False,
):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        a: int32 @ thread[1] = n + id()
        tile: shared(int32[32])
        put(tile)
        first: int32 @ block[1] = tile[31]
        put(tile, step=2)
        with group(thread[1]):
            mine[0] = combined(a, BM=BM) + combined(n, more=off, BM=BM) + combined(n, 1, 1, flag, BM=1)
            mine[0] += ten(n) + float32(scale) + first + tile[31]


def expected(n: int, scale: float = 1.5, off: int | None = None, flag: bool = False, bm: int = 3) -> np.ndarray:
    i = np.arange(64) % 32
    off = bm if off is None else off
    return (
        ((n + i) * 2 + 2 * bm + 5)
        + (n * 2 + off + 5)
        + (n + 1 + 5 if flag else 5)
        + 10 * n
        + scale
        + (3 + 31)
        + (3 + 62)
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_is_left_out_has_its_default(schedule: str) -> None:
    options: dict[str, Any] = {"check": True, "schedule": schedule}
    y = np.zeros(64, np.float32)
    kernel[2, 32](y, 7, **options)
    assert np.array_equal(y, expected(7))
    kernel[2, 32](y, 7, 2.0, template={"BM": 4}, **options)
    assert np.array_equal(y, expected(7, 2.0, bm=4))
    kernel[2, 32](n=1, flag=True, y=y, **options)
    assert np.array_equal(y, expected(1, flag=True))
    kernel.launch(y, 2, off=9, blocks=2, **options)
    assert np.array_equal(y, expected(2, off=9))


def test_the_text_has_the_default_as_if_it_were_written() -> None:
    text = package.compile(kernel).cuda
    assert (
        "combined(a_, 2.0f, 6, true, (unsigned char)5)" in text.replace("prism_", "") and package.compile(kernel).cubin
    )


def test_defaults_are_in_the_signature() -> None:
    found = inspect.signature(ten)
    assert list(found.parameters) == ["x", "by"] and found.parameters["by"].default == 10
    assert inspect.signature(kernel).parameters["scale"].default == 1.5


@pytest.mark.parametrize(
    ("launch", "error", "words"),
    [
        (lambda y: kernel[2, 32](y), LaunchError, r"takes 2 to 5 arguments \(y, n, scale, off, flag\), 1 given"),
        (lambda y: kernel[2, 32](y, 1, 2, 3, True, 5), LaunchError, "takes 2 to 5 arguments .*, 6 given"),
        (lambda y: kernel[2, 32](y, off=3), LaunchError, "`kernel` is launched without `n`"),
        (lambda y: kernel[2, 32](y, 1, y=y), TypeError, "`kernel`: `y` is given by its place, and by its name"),
        (lambda y: kernel[2, 32](y, 1, of=3), TypeError, "a launch has no argument or option `of`"),
        (lambda y: kernel[2, 32](y, 1, flag=1), TypeError, "`flag` must be a bool"),
    ],
)
def test_what_a_launch_refuses(launch: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        launch(np.zeros(64, np.float32))


@pytest.mark.parametrize(
    ("kind", "default"), [(float32, -math.inf), (float64, np.float64(0.5)), (int32, np.int64(3)), (int64, 2**40)]
)
def test_numbers_of_any_kind_are_defaults(kind: Any, default: Any) -> None:
    @prism("device")
    @requires(thread[1])
    def same(x: kind @ thread[1] = default) -> kind @ thread[1]:
        return kind(x)  # so that it is known to the function

    found = package.check(same).entry.parameters[0].default
    assert found == default and type(found) in (int, float)


@pytest.mark.parametrize("factor", [None, "ten", np.float32, [1]])
def test_a_default_is_a_number(factor: Any) -> None:
    with pytest.raises(package.CompileError):
        package.check(make(factor))


def test_python_refuses_a_parameter_without_a_default_behind_one() -> None:
    with pytest.raises(SyntaxError, match="default"):
        compile("def f(x: int32 = 1, y: int32): pass", "f.py", "exec")


def test_a_default_is_what_it_was_at_the_definition(monkeypatch: Any) -> None:
    """As Python has it: `SCALE` is read once. A template parameter comes before a global of its name."""
    monkeypatch.setitem(globals(), "SCALE", 6)
    y = np.zeros(64, np.float32)
    kernel[2, 32](y, 7, check=True)
    assert np.array_equal(y, expected(7)) and BM == 100
