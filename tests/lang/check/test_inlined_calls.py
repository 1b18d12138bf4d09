"""Functions that take whole shared tiles: who runs them, what they are given, and what is said of them.

Tests of prism/lang/tree/inlined.py.
"""

# ruff: noqa: F821, I001 -- names that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.lang import (
    async_, attr, block, claim, const, constexpr, cp_async, function, grid, group, id, int32, partition, ptr, requires,
    roles, shared, template, thread, warp,
)  # fmt: skip
from prism.lang import prism as mark
from prism.lang.diagnostics import CompileError
from prism.lang.tree.inlined import parts
from tests.lang.check.test_inlined import in_turn, steps

random = np.random.default_rng(7)


# -- who runs it, and what it is given ----------------------------------------------------------------------------------


@mark("device")
@template(N=constexpr(int), M=constexpr(int))
@requires(warp[1])
def line_sums(tile: const(shared(int32[N, M])) @ block[1], w: int32 @ warp[1], found: int32[1] @ warp[1]):
    found[0] = 0
    for j in range(M):
        found[0] += tile[w, j]


@mark("device")
@template(N=constexpr(int), M=constexpr(int), GET=function)
@requires(warp[1])
def doubled(tile: const(shared(int32[N, M])) @ block[1], w: int32 @ warp[1], found: int32[1] @ warp[1]):
    GET(tile, w, found)
    found[0] *= 2


@mark("global")
@requires(grid[1], block[1], warp[2])
@attr("__launch_bounds__(64)")
def by_warps(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        tile: shared(int32[2, 32])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda i: (t // 32, t % 32)) as mine, group(thread[1]):
            mine[0] = x[t]
        w: int32 @ warp[1] = id()
        found: int32[1] @ warp[1]
        doubled(tile, w, found, GET=line_sums)  # in a block's code: each warp runs it, for itself
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = found[0] + w


def test_each_unit_runs_it_and_functions_call_each_other():
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    by_warps[1, 64](x, y, check=True)
    assert np.array_equal(y, np.repeat(2 * x.reshape(2, 32).sum(axis=1) + [0, 1], 32))


@mark("device")
@requires(thread[1])
def put(
    tile: shared(int32[64]) @ thread[1], x: ptr(const(int32)) @ grid[1], i: int32 @ thread[1], at: int32 @ thread[1]
):
    cp_async(tile[at], x[i], 4)


@mark("global")
@requires(grid[1], block[1], thread[32])
def in_flight(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 32 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], races="allow") as mine, async_(mine) as coming, group(thread[1]):
            put(coming, x, t, 2 * t)
            put(coming, x, t + 32, 2 * t + 1)
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = s[63 - t] - s[t]


def test_what_async_opened_is_passed_on():
    x, y = random.integers(-9, 9, 64, np.int32), np.zeros(32, np.int32)
    in_flight[1, 32](x, y, check=True)
    s = x.reshape(2, 32).T.ravel()
    assert np.array_equal(y, (s[::-1] - s)[:32])


@mark("device")
@requires(block[2], thread[32])
def swap(tile: shared(int32[2, 32]) @ block[2], x: ptr(const(int32)) @ grid[1], first: int32 @ block[2]):
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % 32
    with partition(tile, thread[1], lambda i: (1 - b, t)) as mine, group(thread[1]):
        mine[0] = x[first + 32 * b + t]


@mark("global")
@requires(grid[1], block[2], thread[32])
@attr("__launch_bounds__(32)")
def exchanged(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    pair: int32 @ block[2] = id()
    with partition(y, thread[1], i) as mine, group(block[2]):
        s: shared(int32[2, 32])
        b: int32 @ block[1] = id()
        swap(s, x, 64 * pair)
        with group(thread[1]):
            mine[0] = s[b, i % 32]


def test_a_clusters_tile():
    x, y = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    exchanged[4, 32](x, y, check=True)
    assert np.array_equal(y.reshape(2, 2, 32), x.reshape(2, 2, 32)[:, ::-1])
    assert steps(exchanged) == ["< cluster block[2]"]


# -- what is said of it -------------------------------------------------------------------------------------------------


def test_an_explanation_has_each_text_once():
    chapters = prism.explain(in_turn, {"COPIES": 2}).split("\n\n")
    heads = [
        line for text in chapters for line in text.splitlines() if "  (" in line and "thread[" in line.split("(")[1]
    ]
    assert [head.split("  (")[0] for head in heads] == ["in_turn", "copy", "last"]
    program = prism.check(in_turn, {"COPIES": 2})
    assert [part.function.name for part in parts(program.entry)] == ["in_turn", "copy", "last"]
    text = prism.explain(in_turn, {"COPIES": 2})
    assert "of `copy`)" in text
    assert "with partition(a, block[1]) as next_one:" in text
    assert text.count("cp_async(coming[i], x[first + i * N + t], 4)") == 1


def test_a_page_has_them_too():
    page = prism.explain(in_turn, {"COPIES": 2}, html=True)
    assert "cp_async" in page
    assert "compiled into" not in page


@mark("device")
@requires(block[1], thread[32])
def collide(tile: shared(int32[8]) @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], t // 32) as mine, group(thread[1]):
        mine[0] = 1


@mark("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(32)")
def colliding(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        s: shared(int32[8])
        collide(s)


def test_what_is_found_after_checking_names_the_call():
    with pytest.raises(CompileError) as caught:
        prism.check(colliding)
    (error,) = caught.value.errors
    assert error.code == "race"
    assert [label.text for label in error.trace] == ["`collide` is called here"]
    assert "collide(s)" in str(caught.value)


# -- kinds of arguments -------------------------------------------------------------------------------------------------


@mark("device")
@template(N=constexpr(int))
@requires(warp[1])
def alone(tile: shared(int32[N]) @ warp[1], out: ptr(int32) @ warp[1], x: ptr(const(int32)) @ warp[1]):
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], t) as mine, group(thread[1]):
        mine[0] = x[t]
    here: ptr(int32) @ warp[1] = out
    with partition(here, thread[1], t) as mine, group(thread[1]):
        mine[0] = tile[N - 1 - t]


@mark("global")
@requires(grid[1], block[1], warp[2])
@attr("__launch_bounds__(64)")
def with_pointers(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        a: shared(int32[32])
        b: shared(int32[32])
        first, second = roles(warp, 1, 1)
        with claim(a, first) as tile, claim(out, first) as part:
            alone(tile, part, x)
        with claim(b, second) as tile, claim(out, second, 32) as part:
            alone(tile, part, x)


def test_pointers_beside_tiles():
    x, y = random.integers(-9, 9, 64, np.int32), np.zeros(64, np.int32)
    with_pointers[1, 64](x, y, check=True)
    assert np.array_equal(y, np.concatenate([x[:32][::-1]] * 2))
    assert "< warp thread[32]" in steps(with_pointers)


@mark("device")
@requires(block[1], thread[32])
def numbered(p: ptr(int32) @ block[1], n: int32 @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(p, thread[1], t) as mine, group(thread[1]):
        for i in range(n):
            mine[64 * i] = 100 * i + t


@mark("device")
@template(N=constexpr(int))
@requires(block[1], thread[64])
def passed_on(tile: shared(int32[N, 64]) @ block[1]):
    numbered(tile, N)


@mark("device")
@template(N=constexpr(int))
@requires(block[1], thread[64])
def pointed_to(tile: shared(int32[N, 64]) @ block[1]):
    first: ptr(int32) @ block[1] = tile
    numbered(first, N)


@mark("global")
@requires(grid[1], block[1], warp[2])
@attr("__launch_bounds__(64)")
@template(FILL=function)
def decayed(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        plain: shared(int32[4, 64])
        turns: shared(int32[4, 64], ring=2)
        t: int32 @ thread[1] = id()
        v: int32 @ thread[1] = 0
        for i in range(3):
            with partition(turns, block[1]) as to:
                passed_on(to)
            with partition(turns, block[1]) as now, group(thread[1]):
                v += now[i, 63 - t]
        FILL(plain)
        with group(thread[1]):
            v += plain[3, 63 - t]
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = v


@pytest.mark.parametrize("fill", [passed_on, pointed_to])
def test_a_whole_tile_is_a_pointer_too(fill):
    y = np.zeros(64, np.int32)
    decayed[1, 64](y, template={"FILL": fill}, check=True)
    assert np.array_equal(y, 600 + 4 * (63 - np.arange(64)))
    assert prism.compile(decayed, {"FILL": fill}).cubin


# -- conditions ---------------------------------------------------------------------------------------------------------


@mark("device")
@template(N=constexpr(int))
@requires(block[1], thread[N])
def put_if(tile: shared(int32[N]) @ block[1], more: bool @ block[1], value: int32 @ thread[1]):
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], t) as mine, group(thread[1]):
        if more:
            mine[0] = value


@mark("global")
@requires(grid[1], block[1], thread[64])
@attr("__launch_bounds__(64)")
@template(CALL=constexpr(bool))
def asked_twice(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        a: shared(int32[64])
        b: shared(int32[64])
        t: int32 @ thread[1] = id()
        v: int32 @ thread[1] = 0
        with partition(a, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[t]
        with partition(b, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[t] + 1
        with group(thread[1]):
            v += a[63 - t]
        k: int32 @ block[1] = 0
        while k < 3:
            if k + n < 3:  # a barrier in it, after which all have read `a`
                with partition(b, thread[1], t) as mine, group(thread[1]):
                    mine[0] = v
                with group(thread[1]):
                    v += b[63 - t]
            if CALL:
                put_if(a, k + n < 3, v)
            else:
                if k + n < 3:
                    with partition(a, thread[1], t) as mine, group(thread[1]):
                        mine[0] = v
            with group(thread[1]):
                v += a[63 - t]
            k += 1
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = v


def test_what_a_function_is_given_asks_what_its_caller_asks():
    called, by_hand = steps(asked_twice, CALL=True), steps(asked_twice, CALL=False)
    assert called == by_hand
    x = random.integers(-9, 9, 64, np.int32)
    found = [np.zeros(64, np.int32) for _ in range(2)]
    for call, y in enumerate(found):
        asked_twice[1, 64](x, y, 1, template={"CALL": bool(call)}, check=True)
    assert np.array_equal(*found)
    assert found[0].any()
