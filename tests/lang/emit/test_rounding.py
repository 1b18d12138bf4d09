"""What decides for several threads is rounded operation by operation: copies of a text can't disagree about it."""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.lang.emit import emit, program
from prism.lang.pipeline import lower
from prism.lang.tree import Expr, Function
from tests.generated import edge_floats
from tests.generated.programs import HEAD, loaded

LOOP = """
@prism("device")
@requires(thread[1])
def step(a: {T} @ thread[1], b: {T} @ thread[1], c: {T} @ thread[1]) -> {T} @ thread[1]:
    return a * b + c

@prism("device")
@requires(block[1])
def advance(v: {T}[2] @ block[1], b: {T} @ block[1], c: {T} @ block[1]):
    v[0] = v[0] * b + c

@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def kernel(y: ptr(int32) @ grid[1], x: ptr(const(float32)) @ grid[1], r: {T} @ grid[1], d: {T} @ grid[1], first: {T} @ grid[1],
           limit: {T} @ grid[1]):
    with partition(y, thread[1], id()) as out, group(block[1]):
        row: shared(float32[32], ring=2)
        consumer, producer = roles(warp, 1, 1)
        f: {T} @ block[1] = first
        v: {T}[2] @ block[1] = [first, first]
        n: int32 @ block[1] = 0
        total: float32 @ thread[1] = 0
        while {condition}:
            g: {T} @ block[1] = f * r
            with claim(row, producer) as coming, one(thread):
                bulk_load(coming, x[0])
            with claim(row, consumer) as here:
                t: int32 @ thread[1] = id()
                with group(thread[1]):
                    total += here[t] * float32(g)
            {update}
            n += 1
        with group(thread[1]):
            out[0] = n + int32(total * 0)
"""


def built(condition: str = "f < limit", update: str = "f = g + d", kind: str = "float32") -> prism.Program:
    with loaded(HEAD + LOOP.format(condition=condition, update=update, T=kind)) as names:
        return prism.check(names["kernel"])


def test_roles_agree_about_a_float_of_the_block() -> None:
    """With these numbers one rounding less makes two trips, not three: the other role would wait for ever."""
    program = built()
    source = edge_floats.plainly(emit(lower(program)).source)
    assert source.count("g = __fmul_rn(f, r);") == 2 and source.count("f = __fadd_rn(g, d);") == 2
    assert "total = total + (here[t] * (float)g)" in source or "total = total + (here[t] * g)" in source
    y = np.zeros(64, np.int32)
    numbers = map(np.float32, (1.2039634, 0.0027385002, 0.9350724, 1.3614491))
    run(program, 1, 64, (y, np.ones(32, np.float32), *numbers), check=True)
    assert (y == 3).all()


@pytest.mark.parametrize(
    ("condition", "update", "kind", "said"),
    [
        ("f < limit", "f = g - d", "float32", "f = __fsub_rn(g, d);"),
        ("f < limit", "f = f * r + d", "float32", "f = __fadd_rn(__fmul_rn(f, r), d);"),
        ("f < limit", "f = wrapping_add(f * r, d)", "float32", "f = __fadd_rn(__fmul_rn(f, r), d);"),
        ("f < limit", "f = f * r + d", "float64", "f = __dadd_rn(__dmul_rn(f, r), d);"),
        ("f * r + d < limit", "f = g + d", "float32", "while (__fadd_rn(__fmul_rn(f, r), d) < limit)"),
        ("int32(f * r + d) < 9", "f = g + d", "float32", "(int)__fadd_rn(__fmul_rn(f, r), d) < 9"),
        ("f < limit", "f = step(f, r, d)", "float32", "return __fadd_rn(__fmul_rn(a, b), c);"),
        ("v[0] < limit", "v[0] = v[0] * r + d", "float32", "v[0] = __fadd_rn(__fmul_rn(v[0], r), d);"),
        ("v[0] < limit", "advance(v, r, d)", "float32", "v[0] = __fadd_rn(__fmul_rn(v[0], b), c);"),
        ("f < limit", "f = f * r if f > d else f * d", "float32", "? __fmul_rn(f, r) : __fmul_rn(f, d)"),
    ],
)
def test_however_it_is_computed(condition: str, update: str, kind: str, said: str) -> None:
    assert said in edge_floats.plainly(emit(lower(built(condition, update, kind))).source)


PLAIN = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(y: ptr(float32) @ grid[1], r: float32 @ grid[1], d: float32 @ grid[1]):
    with partition(y, thread[1], id()) as out, group(block[1]):
        f: float32 @ block[1] = r * d + 1
        {block}
        with group(thread[1]):
            h: float32 = f * r + d
            {thread}
"""


@pytest.mark.parametrize(
    ("block", "thread", "shared"),
    [
        ("pass", "out[0] = h", False),  # without roles there is one copy: nothing is decided
        ("pass", "out[0] = h if h > 1 else 0.0", False),
        ("pass", "out[0] = f if h * h + 1 > d else 0.0", False),
        ("for k in range(int32(f)): pass", "out[0] = h", True),
        ("if f > d: d1: int32 = 1", "out[0] = h", True),
    ],
)
def test_what_decides_nothing_is_left_to_the_compiler(block: str, thread: str, shared: bool) -> None:
    with loaded(HEAD + PLAIN.format(block=block, thread=thread)) as names:
        source = edge_floats.plainly(emit(lower(prism.check(names["kernel"]))).source)
    assert ("f = __fadd_rn(__fmul_rn(r, d), 1.0f);" in source) == shared and ("_rn(" in source) == shared
    assert "h = (f * r) + d;" in source


def test_the_generator_sees_a_text_that_may_be_rounded_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(functions: list[Function]) -> dict[Function, frozenset[Expr]]:
        return {function: frozenset() for function in functions}

    assert edge_floats.verify(5).kind == "right"
    monkeypatch.setattr(program, "precise", none)
    found = [edge_floats.verify(seed) for seed in range(4)]
    assert all(one.kind == "FAILURE" and "what decides is computed by" in one.found for one in found)
