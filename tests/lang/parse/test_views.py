"""Kernels that read views: prism/lang/parse/views.py and prism/lang/surface/views.py."""

from __future__ import annotations

import functools

import pytest

from prism.lang import (
    const,
    dtype,
    float32,
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
from prism.lang import prism as mark
from prism.lang.check import parsed_of
from prism.lang.parse.views import Viewed, view_kernel
from prism.lang.pipeline import build
from prism.lang.surface.views import At, Compute, Leaf, NotReadable, Number, Position, View, direct_leaves
from prism.lang.tree import Function
from prism.lang.types import SCALARS, Mailbox, Pointer
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from prism.runtime.instance import Instance
from tests.lib import ships
from tests.lib.lazy.lazies import same
from tests.rarely import rarely

FLOAT32, INT32, UINT32 = SCALARS["float32"], SCALARS["int32"], SCALARS["uint32"]
MAPPED = Compute(same, (Leaf(0, True),))
COMPILED = ("scan", "reduce", "find_whole")
"""Kernels that are compiled here, whose registers are to be those that the same kernel has of memory."""

LOADED = {("change_keys", "of_rows"), *((ring, name) for ring in ("ring", "ring_async") for name in "AB")}
"""What the copy engine loads, or `cp_async`, is memory. No host function gives a view there: another launch makes it first."""


@functools.cache
def one_of_each() -> dict[str, Instance]:
    found: dict[str, Instance] = {}
    for one in ships.kernels("sm_90a"):
        found.setdefault(one.kernel.__name__, one)
    return found


def read_only(function: Function) -> list[tuple[str, Pointer]]:
    return [
        (p.name, p.type)
        for p in function.parameters
        if isinstance(p.type, Pointer) and p.type.const and not isinstance(p.type.element, Mailbox)
        and (function.name, p.name) not in LOADED
    ]  # fmt: skip


def viewed(kernel: object, name: str, view: View) -> Viewed:
    return view_kernel(kernel, {name: view}, parsed_of)  # type: ignore[arg-type]


TENTHS = rarely(range(10), but=[0])  # of the kernels: each takes half a second


@pytest.mark.parametrize("tenth", TENTHS)
def test_every_kernel_that_ships_reads_views_for_each_array_that_it_only_reads(tenth: int) -> None:
    for name, one in list(one_of_each().items())[tenth::10]:
        for parameter, type_ in read_only(one.program.entry):
            view = View(MAPPED, type_.element, (type_.element,), 0)
            program = build(viewed(one.kernel, parameter, view), dict(one.template))
            names = [p.name for p in program.entry.parameters]
            assert f"{parameter}.leaf0" in names, (name, parameter)
            assert parameter not in names, (name, parameter)
            assert parameter != "x" or entry_of(program, "sm_90a").source.count("prism_same") > 1, name


@pytest.mark.parametrize("tenth", TENTHS)
def test_memory_is_read_by_the_same_text_as_ever(tenth: int) -> None:
    """That it may be a view changes nothing of a kernel: what ships is what shipped."""
    for one in list(one_of_each().values())[tenth::10]:
        text = entry_of(one.program, "sm_90a").source
        for parameter, type_ in read_only(one.program.entry)[:1]:
            build(viewed(one.kernel, parameter, View(MAPPED, type_.element, (type_.element,), 0)), dict(one.template))
        assert "leaf" not in text and entry_of(build(one.kernel, dict(one.template)), "sm_90a").source == text


@pytest.mark.parametrize("name", COMPILED)
def test_the_registers_of_a_kernel_do_not_grow_by_much(name: str) -> None:
    one = one_of_each()[name]
    ((_, type_),) = read_only(one.program.entry)
    view = View(MAPPED, type_.element, (type_.element,), 0)
    program = build(viewed(one.kernel, "x", view), dict(one.template))
    found, plain = (compile_cubin(entry_of(p, "sm_90a").source, "sm_90a") for p in (program, one.program))
    assert found.spills == plain.spills == 0
    assert found.registers <= plain.registers + 8


@mark("global")
@template(T=dtype)
@requires(grid[1], thread[1])
def second(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    me: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=me) as mine, group(thread[1]):
        mine[0] = x[2 * me]


def text_of(view: View) -> str:
    return entry_of(build(viewed(second, "x", view), {"T": view.scalar}), "sm_90a").source


def test_an_element_is_the_expression_of_the_leaves() -> None:
    assert "prism_same(x_leaf0_[2 * me_])" in text_of(View(MAPPED, FLOAT32, (FLOAT32,), 0))
    taken = At(Leaf(1, False), Leaf(0, False))
    assert "x_leaf1_[x_leaf0_[2 * me_]]" in text_of(View(taken, FLOAT32, (INT32, FLOAT32), 0))
    counted = Compute(INT32, (Position(3),))
    assert "(long long)(2 * me_) + 3" in text_of(View(counted, INT32, (), 0))
    assert "px_bitcast<double>" in text_of(View(Number(0, FLOAT32), FLOAT32, (), 1))


def test_leaves_that_are_read_where_the_element_is() -> None:
    both = Compute("+", (Leaf(0, True), At(Leaf(1, True), Leaf(2, False))))
    assert direct_leaves(both) == (Leaf(0, True), Leaf(2, False))


def test_integers_are_read_in_the_sign_that_a_kernel_takes() -> None:
    view = View(Leaf(0, True), INT32, (INT32,), 0)
    program = build(viewed(second, "x", view), {"T": UINT32})
    assert "(unsigned int)x_leaf0_[2 * me_]" in entry_of(program, "sm_90a").source


def test_bytes_of_floats_are_no_integers() -> None:
    with pytest.raises(NotReadable, match="float32 is taken for uint32"):
        build(viewed(second, "x", View(Leaf(0, True), FLOAT32, (FLOAT32,), 0)), {"T": UINT32})


@mark("global")
@requires(grid[1], thread[1])
def written(x: ptr(float32) @ grid[1]):
    with partition(x, thread[1], offset=id()) as mine, group(thread[1]):
        mine[0] = 1.0


def test_a_view_is_not_written() -> None:
    with pytest.raises(NotReadable, match="it is written"):
        build(viewed(written, "x", View(Leaf(0, True), FLOAT32, (FLOAT32,), 0)))


def test_the_same_views_give_the_same_kernel() -> None:
    view = View(MAPPED, FLOAT32, (FLOAT32,), 0)
    assert viewed(second, "x", view) is viewed(second, "x", View(MAPPED, FLOAT32, (FLOAT32,), 0))
    assert viewed(second, "x", view) is not viewed(second, "x", View(Leaf(0, True), FLOAT32, (FLOAT32,), 0))
