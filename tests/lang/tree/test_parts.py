"""Parts of swizzled tiles as operands of wgmma: what they compute, whose barriers stand around them, what is refused.

Tests of prism/lang/tree/parts.py; prism/lang/barriers/products.py.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

from prism import check
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    CUtensorMap,
    attr,
    block,
    claim,
    column,
    const,
    constexpr,
    count,
    float32,
    fragment,
    grid,
    group,
    half,
    id,
    int32,
    one,
    pack_f16x2,
    partition,
    prism,
    ptr,
    requires,
    roles,
    row,
    shared,
    stmatrix,
    template,
    thread,
    tma_load,
    uint32,
    warp,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.diagnostics import Span
from prism.lang.tree import Binary, Const, Element, Symbol, Var, View
from prism.lang.tree.parts import start_in_tile, tile_around
from prism.lang.types import FLOAT16, INT32, Pointer
from prism.lang.types.perspective import BLOCK
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.mutation import TRIED, score

TRIPS = 3
NOWHERE = Span("", 1, 0, 1, 0)


@prism("global")
@attr("__launch_bounds__(384)")
@requires(grid[1], block[1], warpgroup[3])
@template(SHIFT=constexpr(int))
def by_partition(
    v: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1], o: ptr(float32) @ grid[1], trips: int32 @ grid[1]
):
    """Each warpgroup writes its own rows of the first operand, and multiplies them by what a ring brings."""
    with partition(o, block[1], 0) as out, group(block[1]):
        weights: shared(half[128, 64], swizzle=128)
        v_tile: shared(half[64, 64], ring=2, swizzle=128)
        sums: fragment(float32, 64, 64) @ warpgroup[1] = 0
        w: int32 @ warpgroup[1] = id()
        strip: int32 @ warp[1] = (id() + SHIFT) % 4 * 16
        lane: int32 @ thread[1] = id() % 32
        consumers, producer = roles(warpgroup, 2, 1)
        for j in range(trips):
            with claim(v_tile, producer) as v_in, one(thread):
                tma_load(v_in, v[j * 64, 0])
            with (
                claim(v_tile, consumers) as v_now, claim(weights, consumers) as ws,
                partition(ws, warpgroup[1], lambda y, x: (64 * w + y, x)) as own, group(warpgroup[1]),
            ):  # fmt: skip
                with partition(own, warp[1], lambda y, x: (strip + y, x)) as mine, group(warp[1]):
                    for p in range(4):
                        words: uint32[4] @ thread[1]
                        with group(thread[1]):
                            for e in range(4):
                                words[e] = pack_f16x2(1.0 * ((j + p + lane + w) % 5), 1.0 * (e - strip // 16))
                        stmatrix(mine[lane // 8 % 2 * 8 + lane % 8, 16 * p + lane // 16 % 2 * 8], words)
                wgmma(sums, own, v_now, transpose_b=True)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, consumers, group(thread[1]):
            for i in range(count(sums)):
                mine[(64 * w + row(sums, i)) * 64 + column(sums, i)] = sums[i]


@prism("global")
@attr("__launch_bounds__(384)")
@requires(grid[1], block[1], warpgroup[3])
@template(STEP=constexpr(int))
def by_index(
    v: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1], o: ptr(float32) @ grid[1], trips: int32 @ grid[1]
):
    """The same of a tile that all consumers claim: each warpgroup names where its rows begin."""
    with partition(o, block[1], 0) as out, group(block[1]):
        weights: shared(half[128, 64], swizzle=128)
        v_tile: shared(half[64, 64], ring=2, swizzle=128)
        sums: fragment(float32, 64, 64) @ warpgroup[1] = 0
        w: int32 @ warpgroup[1] = id()
        strip: int32 @ warp[1] = id() % 4 * 16
        lane: int32 @ thread[1] = id() % 32
        consumers, producer = roles(warpgroup, 2, 1)
        for j in range(trips):
            with claim(v_tile, producer) as v_in, one(thread):
                tma_load(v_in, v[j * 64, 0])
            with claim(v_tile, consumers) as v_now, claim(weights, consumers) as ws:
                with partition(ws, warp[1], lambda y, x: (64 * w + strip + y, x)) as mine, group(warp[1]):
                    for p in range(4):
                        words: uint32[4] @ thread[1]
                        with group(thread[1]):
                            for e in range(4):
                                words[e] = pack_f16x2(1.0 * ((j + p + lane + w) % 5), 1.0 * (e - strip // 16))
                        stmatrix(mine[lane // 8 % 2 * 8 + lane % 8, 16 * p + lane // 16 % 2 * 8], words)
                with group(warpgroup[1]):
                    wgmma(sums, ws[STEP * w, 0], v_now, transpose_b=True)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, consumers, group(thread[1]):
            for i in range(count(sums)):
                mine[(64 * w + row(sums, i)) * 64 + column(sums, i)] = sums[i]


@prism("global")
@attr("__launch_bounds__(256)")
@requires(grid[1], block[1], warpgroup[2])
def second_operand(x: ptr(const(half)) @ grid[1], o: ptr(float32) @ grid[1]):
    """Each warpgroup's own rows are the second operand: columns of its product; the first is the block's."""
    with partition(o, block[1], 0) as out, group(block[1]):
        a: shared(half[64, 64], swizzle=128)
        b: shared(half[64, 64], swizzle=64)
        sums: fragment(float32, 64, 32) @ warpgroup[1]
        w: int32 @ warpgroup[1] = id()
        t: int32 @ thread[1] = id() % 128
        u: int32 @ thread[1] = id()
        with partition(a, thread[1], lambda e: (e // 64, e % 64)) as mine, group(thread[1]):
            for e in range(u, 64 * 64, 256):
                mine[e] = x[e]
        with partition(b, warpgroup[1], lambda y, z: (32 * w + y, z)) as own, group(warpgroup[1]):
            for turn in range(2):
                with partition(own, thread[1], lambda e: (e // 64, e % 64)) as mine, group(thread[1]):
                    for e in range(t, 32 * 64, 128):
                        mine[e] = x[turn * 4096 + w * 2048 + e]
                wgmma(sums, a, own, accumulate=turn > 0)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[row(sums, i) * 64 + 32 * w + column(sums, i)] = sums[i]


@functools.cache
def program(kernel: Any, **template: Any) -> Any:
    return check(kernel, template)


def weights(j: int) -> Any:
    """What the warps store in a trip: `stmatrix` puts a lane's pairs at row lane / 4, columns lane % 4 * 2, of 8 x 8 each."""
    found = np.zeros((128, 64))
    for w, warp_, p, e, lane in np.ndindex(2, 4, 4, 4, 32):
        rows = 64 * w + 16 * warp_ + e % 2 * 8 + lane // 4
        columns = 16 * p + e // 2 * 8 + lane % 4 * 2
        found[rows, columns : columns + 2] = (j + p + lane + w) % 5, e - warp_
    return found


@functools.cache
def launch() -> tuple[Any, Any, Any]:
    v = np.random.default_rng(0).integers(-2, 3, (TRIPS * 64, 64))
    wanted = sum(weights(j) @ v[j * 64 : j * 64 + 64] for j in range(TRIPS)).ravel()
    return v.astype(np.float16), np.zeros(128 * 64, np.float32), wanted


PROGRAMS = [(by_partition, {"SHIFT": 0}), (by_partition, {"SHIFT": 1}), (by_index, {"STEP": 64})]


@pytest.mark.parametrize(("kernel", "template"), PROGRAMS, ids=str)
def test_products_of_parts(kernel: Any, template: Any) -> None:
    v, o, wanted = launch()
    for schedule in SCHEDULES:
        o[:] = 0
        run(program(kernel, **template), 1, 384, [v, o, np.int32(TRIPS)], schedule=schedule, check=True)
        assert np.array_equal(o, wanted)


def test_a_part_as_the_second_operand() -> None:
    x = np.random.default_rng(1).integers(-2, 3, (3, 64, 64))
    a, b = x[0].astype(np.float16), x[:2]
    for schedule in SCHEDULES:
        o = np.zeros(64 * 64, np.float32)
        run(program(second_operand), 1, 256, [x.astype(np.float16).ravel(), o], schedule=schedule, check=True)
        assert np.array_equal(o.reshape(64, 64), a.astype(float) @ (b[0] + b[1]).T)


def barriers(built: Any) -> list[str]:
    text = entry_of(built, "sm_90a").source
    found = re.findall(
        r'bar\.sync.*"n"\((\d+)\)|(__syncwarp)\(\);  //|(__syncthreads)\(\);  // (?!the mbarriers)', text
    )
    return ["".join(one) for one in found]


@pytest.mark.parametrize(("kernel", "template"), PROGRAMS, ids=str)
def test_only_the_owner_meets(kernel: Any, template: Any) -> None:
    """Before the wgmma reads, with the fence: the warp, where it reads what it wrote itself, else the part's 128 threads."""
    own = template != {"SHIFT": 1}
    assert barriers(program(kernel, **template)) == (["__syncwarp"] if own else ["128", "128"])
    text = entry_of(program(kernel, **template), "sm_90a").source
    assert len(re.findall(r"fence\.proxy\.async\.shared::cta.*before read", text)) == 1
    made = compile_cubin(text, "sm_90a")
    assert not re.search(r"C7\d\d\d", made.log) and made.spills == 0


def test_the_owner_of_a_second_operand_meets() -> None:
    """All warps of a warpgroup read all of it."""
    assert barriers(program(second_operand)) == ["__syncthreads", "128", "128"]


def test_all_meet_where_rows_overlap() -> None:
    """Where the second warpgroup's rows begin among the first one's, all that have the tile meet."""
    assert barriers(program(by_index, STEP=32)) == ["256", "256"]


@pytest.mark.parametrize(("kernel", "template"), PROGRAMS, ids=str)
def test_each_barrier_and_fence_is_needed(kernel: Any, template: Any) -> None:
    v, o, wanted = launch()

    def right(mutant: Any, **options: Any) -> bool:
        o[:] = 0
        run(mutant, 1, 384, [v, o, np.int32(TRIPS)], **options)
        return np.array_equal(o, wanted)

    found = score(program(kernel, **template), right, 384, TRIED)
    own = template != {"SHIFT": 1}  # on the machine a warp's threads meet at the wgmma itself
    assert found.wrong and not found.survivors and bool(found.excused) == own


def element(symbol: Symbol, *indices: Any) -> Element:
    return Element(symbol=symbol, indices=tuple(indices), type=FLOAT16, perspective=BLOCK, span=NOWHERE)


def constant(value: int) -> Const:
    return Const(value=value, type=INT32, perspective=BLOCK, span=NOWHERE)


def test_where_an_element_of_a_part_is() -> None:
    """Constants are moved by constants, through all views down to the tile; nothing is said of what varies."""
    tile = Symbol("tile", Pointer(FLOAT16, space="shared", shape=(128, 64), swizzle=128), BLOCK, NOWHERE)
    w = Var(symbol=Symbol("w", INT32, BLOCK, NOWHERE), type=INT32, perspective=BLOCK, span=NOWHERE)

    def part(source: Symbol, of_row: Any, of_column: Any) -> Symbol:
        params = tuple(Symbol(name, INT32, BLOCK, NOWHERE, parameter=True) for name in "yx")
        used = [Var(symbol=p, type=INT32, perspective=BLOCK, span=NOWHERE) for p in params]
        view = View(source, BLOCK, params, (of_row(used[0]), of_column(used[1])))
        return Symbol("part", Pointer(FLOAT16, space="shared"), BLOCK, NOWHERE, view=view)

    def moved(by: Any, op: str = "+") -> Any:
        return lambda index: Binary(op=op, left=index, right=by, type=INT32, perspective=BLOCK, span=NOWHERE)

    inner = part(part(tile, moved(constant(64)), moved(constant(16))), moved(constant(8), "-"), lambda x: x)
    assert tile_around(inner) is tile_around(tile) is tile
    assert start_in_tile(element(inner, constant(0), constant(32))) == (56, 48)
    assert start_in_tile(element(part(tile, moved(w), lambda x: x), constant(0), constant(0))) == (None, 0)
    assert start_in_tile(element(tile, constant(8), w)) == (8, None)


def test_where_a_part_may_begin() -> None:
    """A descriptor names 8 rows at a time: the machine says so of an index that only a run knows."""
    v, o, _ = launch()
    with pytest.raises(MachineError) as caught:
        run(program(by_index, STEP=60), 1, 384, [v, o, np.int32(TRIPS)], check=True)
    assert caught.value.code == "machine-misaligned"
    assert "`a` of a wgmma begins at a row that is a multiple of 8, not at 60" in caught.value.what
