"""Which program a launch runs: that of these very template arguments, and of what its names stand for at the call.

Tests of prism/lang/keep/keys.py; prism/lang/surface/bindings.py.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism
from prism.lang import (
    CompileError,
    constexpr,
    float32,
    function,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    template,
    thread,
)
from prism.lang.keep.keys import exact
from prism.launcher import MOST_INSTANCES, MOST_VARIANTS, known_of
from prism.lib import Operator
from prism.runtime.compile import nvrtc_build, nvrtc_version
from prism.runtime.instance import instance

SCALE = 3
settings = types.ModuleType("settings")
settings.SHIFT = 10


@prism.lang.prism("global")
@template(X=constexpr)
@requires(grid[1], thread[1])
def quotient(m: ptr(float32) @ grid[1]):
    with partition(m, thread[1], id()) as mine, group(thread[1]):
        mine[0] = float32(7 / X)  # noqa: F821


@prism.lang.prism("global")
@template(X=constexpr)
@requires(grid[1], thread[1])
def number(m: ptr(float32) @ grid[1]):
    with partition(m, thread[1], id()) as mine, group(thread[1]):
        mine[0] = float32(X)  # noqa: F821


@prism.lang.prism("global")
@template(X=constexpr(float))
@requires(grid[1], thread[1])
def sign(m: ptr(float32) @ grid[1]):
    with partition(m, thread[1], id()) as mine, group(thread[1]):
        mine[0] = float32(1) / float32(X)  # noqa: F821


def launched(kernel: Any, value: Any) -> float:
    m = np.zeros(1, np.float32)
    with np.errstate(divide="ignore"):
        kernel[1, 1](m, template={"X": value})
    return float(m[0])


@pytest.mark.parametrize("order", list(itertools.permutations([2, 2.0, np.float32(2), np.int64(2)])), ids=str)
def test_a_number_and_an_equal_one_of_another_type(order: tuple[Any, ...]) -> None:
    for value in order:
        if isinstance(value, float | np.floating):
            assert launched(quotient, value) == 3.5, value
        else:
            with pytest.raises(CompileError, match="`/` of two integers"):
                launched(quotient, value)


@pytest.mark.parametrize("order", list(itertools.permutations([1, True, 1.0])), ids=str)
def test_one_and_true(order: tuple[Any, ...]) -> None:
    for value in order:
        found = known_of(number, {"X": value}).program.entry.template["X"]
        assert type(found) is type(value)


def test_zeros_of_both_signs_and_nans() -> None:
    for _ in range(2):
        assert launched(sign, 0.0) == np.inf and launched(sign, -0.0) == -np.inf
    nan = float("nan")
    assert known_of(sign, {"X": nan}) is known_of(sign, {"X": float("nan")}), "one program for all of the same bits"
    negative = np.array([0xFFF8000000000000], np.uint64).view(np.float64)[0].item()
    assert known_of(sign, {"X": nan}) is not known_of(sign, {"X": negative})


@prism.lang.prism("device")
@template(X=constexpr)
@requires(thread[1])
def inner(y: float32 @ thread[1]) -> float32 @ thread[1]:
    return y + float32(7) / float32(X)  # noqa: F821


@prism.lang.prism("global")
@requires(grid[1], thread[1])
def both(m: ptr(float32) @ grid[1]):
    with partition(m, thread[1], 4 * id()) as mine, group(thread[1]):
        mine[0] = inner(0.0, X=2)
        mine[1] = inner(0.0, X=2.0)
        mine[2] = inner(0.0, X=-0.5)
        mine[3] = inner(0.0, X=1)


def test_two_instances_in_one_program() -> None:
    m = np.zeros(4, np.float32)
    both[1, 1](m)
    assert m.tolist() == [3.5, 3.5, -14.0, 7.0]
    assert len(prism.check(both).functions) == 5
    assert "prism_inner_4" in prism.compile(both).cuda


@pytest.mark.parametrize(
    "values",
    [
        (
            0, False, 0.0, -0.0, "0", None, 0j, complex(-0.0, 0.0), np.float32(0), np.float64(0), np.float32(-0.0), np.int32(0),
            np.bool_(0),
        ),
        ((0,), (0.0,), (-0.0,), (False,), ((0,),)),
        tuple(np.zeros((), kinds)[()] for kinds in ("i4,f4", "i4,i4", "f4,f4")),
    ],
    ids=["scalars", "tuples", "records"],
)  # fmt: skip
def test_keys_tell_values_apart(values: tuple[Any, ...]) -> None:
    assert len({exact(value) for value in values}) == len(values)
    assert all(exact(value) == exact(value) for value in values)


def test_the_librarys_instances() -> None:
    assert instance(quotient, (("X", 2),)) is instance(quotient, (("X", 2),))
    found = {instance(quotient, (("X", value),)) for value in (2, 2.0, np.float32(2))}
    assert len(found) == 3
    assert instance(sign, (("X", 0.0),)) is not instance(sign, (("X", -0.0),))


def test_operators_of_equal_identities() -> None:
    @prism.lang.prism("device")
    @requires(thread[1])
    def last(a: float32 @ thread[1], b: float32 @ thread[1]) -> float32 @ thread[1]:
        return b

    zero, minus, one, true = (Operator(last, identity=v) for v in (0.0, -0.0, 1, True))
    assert len({zero, minus, one, true, Operator(last, identity=1.0)}) == 5 and zero == Operator(last, identity=0.0)
    x = np.zeros(3, np.float32)
    for _ in range(2):
        assert np.signbit(prism.lib.scan(x, minus, exclusive=True)[0])
        assert not np.signbit(prism.lib.scan(x, zero, exclusive=True)[0])


# -- what names stand for ---------------------------------------------------------------------------------------------


@prism.lang.prism("device")
@requires(thread[1])
def helper(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return x * SCALE + settings.SHIFT


@prism.lang.prism("global")
@requires(grid[1], thread[1])
def helped(m: ptr(int32) @ grid[1]):
    with partition(m, thread[1], id()) as mine, group(thread[1]):
        mine[0] = helper(1)


def result(kernel: Any) -> int:
    m = np.zeros(1, np.int32)
    kernel[1, 1](m)
    return int(m[0])


def test_a_changed_global_gives_a_new_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """As check, compile and explain see it, so does a launch."""
    module = sys.modules[__name__]
    assert result(helped) == 13
    before = known_of(helped, {})
    monkeypatch.setattr(module, "SCALE", 5)
    assert result(helped) == 15 and "* 5" in prism.compile(helped).cuda
    monkeypatch.setattr(module, "SCALE", 5.0)  # equal, and no integer
    with pytest.raises(CompileError):
        result(helped)
    monkeypatch.setattr(settings, "SHIFT", 20)
    monkeypatch.setattr(module, "SCALE", 3)
    assert result(helped) == 23
    monkeypatch.undo()
    assert result(helped) == 13 and known_of(helped, {}) is before, "what came before is still there"


def test_a_helper_that_is_bound_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    @prism.lang.prism("device")
    @requires(thread[1])
    def other(x: int32 @ thread[1]) -> int32 @ thread[1]:
        return x - 1

    assert result(helped) == 13
    monkeypatch.setattr(sys.modules[__name__], "helper", other)
    assert result(helped) == 0
    monkeypatch.undo()
    assert result(helped) == 13


def test_a_closure_that_changes() -> None:
    count = 1

    @prism.lang.prism("global")
    @requires(grid[1], thread[1])
    def kernel(m: ptr(int32) @ grid[1]):
        with partition(m, thread[1], id()) as mine, group(thread[1]):
            mine[0] = count + 1

    assert result(kernel) == 2
    count = 7
    assert result(kernel) == 8 and "= 8;" in prism.compile(kernel).cuda


def test_a_name_that_hides_a_builtin_later(tmp_path: Path) -> None:
    path = tmp_path / "hidden.py"
    path.write_text("""
from prism.lang import device, grid, group, id, int32, kernel, partition, ptr, requires, thread

@kernel
@requires(grid[1], thread[1])
def least(m: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(m, thread[1], i) as mine, group(thread[1]):
        mine[0] = min(i + 3, 5)

@device
@requires(thread[1])
def of_my_own(a: int32 @ thread[1], b: int32 @ thread[1]) -> int32 @ thread[1]:
    return a + b
""")
    spec = importlib.util.spec_from_file_location("hidden", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert result(module.least) == 3
    module.min = module.of_my_own  # type: ignore[attr-defined]
    assert result(module.least) == 8


def test_operands_and_bounds_in_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 64)

    @prism.lang.prism("global")
    @prism.lang.attr("__launch_bounds__(SCALE)")
    @requires(grid[1], thread[1])
    def bounded(m: ptr(int32) @ grid[1]):
        i: int32 @ thread[1] = id()
        with partition(m, thread[1], i) as mine, group(thread[1]):
            mine[0] = i

    bounded[1, 64](np.zeros(64, np.int32))
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 32)
    with pytest.raises(ValueError, match="1 to 32 threads"):
        bounded[1, 64](np.zeros(64, np.int32))


def test_functions_as_template_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    @prism.lang.prism("global")
    @template(OP=function)
    @requires(grid[1], thread[1])
    def applied(m: ptr(int32) @ grid[1]):
        with partition(m, thread[1], id()) as mine, group(thread[1]):
            mine[0] = OP(2)

    def found() -> int:
        m = np.zeros(1, np.int32)
        applied[1, 1](m, template={"OP": helper})
        return int(m[0])

    assert found() == 16
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 4)
    assert found() == 18


def test_few_programs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    @prism.lang.prism("global")
    @template(X=constexpr)
    @requires(grid[1], thread[1])
    def kernel(m: ptr(int32) @ grid[1]):
        with partition(m, thread[1], id()) as mine, group(thread[1]):
            mine[0] = SCALE

    for k in range(10):
        monkeypatch.setattr(sys.modules[__name__], "SCALE", 1000 + k)
        known_of(kernel, {"X": 0})
    (variants,) = kernel.__dict__["_launched"].values()
    assert len(variants) == MOST_VARIANTS
    kernel.__dict__["_launched"].update({k: () for k in range(MOST_INSTANCES)})
    known_of(kernel, {"X": 1})
    assert len(kernel.__dict__["_launched"]) <= MOST_INSTANCES + 1


def test_the_compilers_build_is_known() -> None:
    major, minor = nvrtc_version()
    assert nvrtc_build().startswith(f"{major}.{minor}, ") and f"V{major}.{minor}." in nvrtc_build()
