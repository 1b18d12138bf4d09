"""Fragments of 64 rows and of more: where their elements lie, what they compile to, and what a kernel computes with them.

Tests of prism/interpret/fragments.py; prism/lang/emit/pieces.py; prism/lang/check/fragments.py.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import re

import numpy as np
import pytest

from prism import check
from prism.interpret import SCHEDULES, run
from prism.interpret.fragments import place_of
from prism.lang import (
    CUtensorMap,
    block,
    claim,
    column,
    const,
    constexpr,
    count,
    dtype,
    float32,
    fragment,
    grid,
    group,
    half,
    id,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    row,
    shared,
    template,
    thread,
    tma_load,
    warpgroup,
    wgmma,
)
from prism.lang.emit.pieces import helpers
from prism.lang.types import FLOAT32, Fragment
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin

# -- Where an element lies --------------------------------------------------------------------------------------------

SHAPES = [
    (64, 8, 128),
    (64, 256, 128),
    (128, 16, 128),
    (128, 240, 128),
    (192, 8, 128),
    (256, 72, 128),
    (16, 8, 32),
    (16, 40, 32),
]


def computed(name, strip, thread, i):
    """What the emitter's helper returns: its C++ read as Python; its operands are never negative."""
    text = next(piece for piece in helpers(f"{name}(") if name in piece)
    formula = re.search(r"return (.*);", text)[1].replace("(int)", "").replace("/", "//")
    return eval(re.sub(r"(\d)u", r"\1", formula), {"STRIP": strip, "thread": thread, "i": i})


@pytest.mark.parametrize("rows, columns, threads", SHAPES)
def test_each_element_has_one_place(rows, columns, threads):
    shape = Fragment(FLOAT32, rows, columns, threads)
    t, i = np.indices((threads, shape.size))
    at = place_of(shape, 0, i, t), place_of(shape, 1, i, t)
    seen = np.zeros((rows, columns), int)
    np.add.at(seen, at, 1)
    assert (seen == 1).all()
    strip = shape.strip if shape.size > shape.strip else 1024
    assert np.array_equal(at[0], computed("px_row", strip, t, i))
    assert np.array_equal(at[1], computed("px_column", strip, t, i))


def test_more_rows_are_fragments_one_below_the_other():
    tall, one_ = Fragment(FLOAT32, 192, 40), Fragment(FLOAT32, 64, 40)
    t, i = np.indices((128, one_.size))
    for strip in range(3):
        assert np.array_equal(place_of(tall, 0, i + strip * one_.size, t), place_of(one_, 0, i, t) + 64 * strip)
        assert np.array_equal(place_of(tall, 1, i + strip * one_.size, t), place_of(one_, 1, i, t))


# -- Kernels ----------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], warpgroup[3])
@template(M=constexpr(int), N=constexpr(int), TRANSPOSED=constexpr(bool), SUM=dtype)
def product(
    map_a: const(CUtensorMap(half, 64 if TRANSPOSED else 2 * M, 2 * M if TRANSPOSED else 64, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(half, N, 64, swizzle=128)) @ grid[1],
    c: ptr(SUM) @ grid[1],
    k: int @ grid[1],
):
    with partition(c, block[1], 0) as c_block, group(block[1]):
        a: shared(half[64 if TRANSPOSED else 2 * M, 2 * M if TRANSPOSED else 64], ring=2, swizzle=128)
        b: shared(half[N, 64], ring=2, swizzle=128)
        acc: fragment(SUM, M, N) @ warpgroup[1] = 0
        w: int @ warpgroup[1] = id()
        consumers, producer = roles(warpgroup, 2, 1)
        for step in range(0, k // 64):
            with claim(a, producer) as sa, claim(b, producer) as sb, one(thread):
                if TRANSPOSED:
                    tma_load(sa, map_a[step * 64, 0])
                else:
                    tma_load(sa, map_a[0, step * 64])
                tma_load(sb, map_b[0, step * 64])
            with claim(a, consumers, in_flight=1) as sa, claim(b, consumers, in_flight=1) as sb, group(warpgroup[1]):
                if TRANSPOSED:
                    wgmma(acc, sa[0, M * w], sb, transpose_a=True)
                else:
                    wgmma(acc, sa[M * w, 0], sb)
        with partition(c_block, thread[1], lambda i: i, races="allow") as out, consumers, group(thread[1]):
            for i in range(0, count(acc)):
                out[(M * w + row(acc, i)) * N + column(acc, i)] = acc[i]


@pytest.mark.parametrize(
    "m, n, transposed", [(64, 16, False), (64, 16, True), (128, 24, False), (128, 24, True), (192, 8, True)]
)
def test_product(m, n, transposed):
    random = np.random.default_rng(m + n)
    a, b = (random.integers(-3, 4, (height, 192)).astype(np.float16) for height in (2 * m, n))
    made = check(product, {"M": m, "N": n, "TRANSPOSED": transposed, "SUM": float32})
    for schedule in SCHEDULES:
        c = np.zeros((2 * m, n), np.float32)
        given = np.ascontiguousarray(a.T) if transposed else a
        run(made, 1, 384, [given, b, c.ravel(), 192], schedule=schedule, check=True)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.covering(1)
@pytest.mark.parametrize("sum_", [float32, half], ids=str)
@pytest.mark.parametrize(
    "m, n, transposed", [(64, 128, False), (128, 64, False), (128, 64, True), (128, 128, False), (192, 64, True)]
)
def test_what_it_compiles_to(m, n, transposed, sum_):
    text = entry_of(check(product, {"M": m, "N": n, "TRANSPOSED": transposed, "SUM": sum_}), "sm_90a").source
    assert text.count("px_keep(acc_);") >= 2
    assert (f"px_row<{n // 2}>(" in text) == (f"px_column<{n // 2}>(" in text) == (m > 64)
    assert f"{sum_.cuda} acc_[{m * n // 128}];" in text
    made = compile_cubin(text, "sm_90a")
    assert not re.search(r"C7\d\d\d", made.log), made.log
    assert made.stack == made.spills == 0
