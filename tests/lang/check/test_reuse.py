"""Device functions of the package are looked at once, a user's for each program; what comes out is as if none were known.

Tests of prism/lang/tree/walk.py.
"""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from prism.lang import (
    attr,
    block,
    const,
    dtype,
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
from prism.lang.check import reuse  # fmt: skip
from prism.lang import prism as mark
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lang.tree.plan import Program
from prism.lib import warp
from prism.lib.thread.operators import add, maximum
from tests.lib import ships

FACTOR = 3


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    forget()


def forget() -> None:
    reuse._earlier_checks.cache_clear()


@mark("global")
@template(T=dtype, U=dtype, OP=function)
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
def two_sums(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        own: T @ thread[1] = x[t]
        other: U @ thread[1] = U(x[t])
        first: T @ block[1] = block.reduce(own, OP=OP)
        second: U @ block[1] = block.reduce(other, OP=add)
        with partition(out, thread[1], id()) as mine, group(thread[1]):
            mine[0] = first + T(second)


def of(**template: Any) -> Program:
    return build(two_sums, {"OP": add, **template})


def test_a_function_of_the_package_is_one_object_in_all_programs():
    one, two = of(T=int32, U=int32), of(T=int32, U=float32)
    found = {f for program in (one, two) for f in program.functions if f.kind == "device"}
    shared = set(one.functions) & set(two.functions)
    assert {f.name for f in shared} >= {"reduce", "add"}
    assert all(one.plans[f] is two.plans[f] and one.layouts[f] is two.layouts[f] for f in shared)
    assert len(found) < len(one.functions) + len(two.functions) - 2


def test_a_program_is_the_same_whatever_was_checked_before():
    programs: list[dict[str, Any]] = [
        {"T": int32, "U": float32}, {"T": float32, "U": int32}, {"T": int32, "U": int32},
        {"T": float32, "U": int32, "OP": maximum},
    ]  # fmt: skip
    alone = []
    for given in programs:
        forget()
        alone.append(emit(lower(of(**given))).source)
    for order in (programs, programs[::-1], [*programs[2:], *programs[:2]]):
        forget()
        for given in (*order, *order):
            assert emit(lower(of(**given))).source == alone[programs.index(given)]


def test_one_and_true_are_different_template_arguments():
    assert reuse.earlier_checks(warp.reduce, {"N": 1}) is reuse.earlier_checks(warp.reduce, {"N": 1})
    assert reuse.earlier_checks(warp.reduce, {"N": 1}) is not reuse.earlier_checks(warp.reduce, {"N": True})


@mark("device")
@requires(thread[1])
def scaled(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return FACTOR * x


@mark("global")
@requires(grid[1], block[1], thread[64])
def scales(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        with partition(out, thread[1], id()) as mine, group(thread[1]):
            mine[0] = scaled(7)


def test_a_users_function_is_looked_at_for_each_program(monkeypatch: pytest.MonkeyPatch):
    before = build(scales)
    monkeypatch.setitem(globals(), "FACTOR", 5)
    after = build(scales)
    assert "3 * x" in emit(lower(before)).source
    assert "5 * x" in emit(lower(after)).source


@mark("device")
@requires(thread[1])
@template(T=dtype)
def far(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    return a + FACTOR * b


def test_nor_is_a_function_of_the_package_known_that_calls_a_users(monkeypatch: pytest.MonkeyPatch):
    before = emit(lower(of(T=int32, U=float32, OP=far))).source
    monkeypatch.setitem(globals(), "FACTOR", 5)
    after = emit(lower(of(T=int32, U=float32, OP=far))).source
    assert before.replace("3 * b", "5 * b") == after != before


def test_another_plan_gives_another_text():
    program = of(T=int32, U=int32)
    text = emit(lower(program)).source
    fewer = {f: replace(plan, barriers=()) for f, plan in program.plans.items()}
    assert "__syncthreads" in text
    assert "__syncthreads" not in emit(lower(replace(program, plans=fewer))).source
    assert emit(lower(program)).source == text


def test_shipped_kernels_are_the_same_one_after_another_and_alone():
    kernels = ships.kernels("sm_80")[::160]
    together = [emit(lower(build(one.kernel, dict(one.template)))).source for one in kernels]
    for one, text in zip(kernels, together, strict=True):
        forget()
        assert emit(lower(build(one.kernel, dict(one.template)))).source == text
