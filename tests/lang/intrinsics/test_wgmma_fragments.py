"""A fragment as the first operand of a wgmma: what it compiles to, what it means, when it is waited for, what is refused.

Tests of prism/lang/intrinsics/wgmma.py; prism/interpret/wgmma.py.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import collections
import functools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prism import check
from prism.interpret import SCHEDULES, run
from prism.lang import (
    CUtensorMap,
    attr,
    bfloat16,
    block,
    claim,
    column,
    const,
    constexpr,
    count,
    dtype,
    float8_e4m3fn,
    float8_e5m2,
    float32,
    fragment,
    grid,
    group,
    half,
    id,
    int8,
    int32,
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
    uint8,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, Fragment
from prism.lang.types.shorts import bits_of
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.lang.intrinsics.wgmma_kernels import WGMMA, bound
from tests.mutation import TRIED, Score, score


@prism("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
@template(T=dtype, M=constexpr(int), BN=constexpr(int), D=constexpr(int))
def attended(
    q: const(CUtensorMap(T, 2 * M, 64, swizzle=128)) @ grid[1], k: const(CUtensorMap(T, BN, 64, swizzle=128)) @ grid[1],
    v: const(CUtensorMap(T, BN, D, swizzle=128)) @ grid[1], o: ptr(float32) @ grid[1], trips: int32 @ grid[1],
):  # fmt: skip
    """Q K^T is halved and made the first operand of a product with V: attention without its softmax."""
    with partition(o, block[1], 0) as out, group(block[1]):
        q_tile: shared(T[2 * M, 64], ring=1, swizzle=128)
        k_tile: shared(T[BN, 64], ring=2, swizzle=128)
        v_tile: shared(T[BN, D], ring=2, swizzle=128)
        scores: fragment(float32, M, BN) @ warpgroup[1]
        p: fragment(T, M, BN) @ warpgroup[1]
        sums: fragment(float32, M, D) @ warpgroup[1] = 0
        w: int32 @ warpgroup[1] = id()
        consumers, producer = roles(warpgroup, 2, 1)
        for j in range(trips):
            with claim(q_tile, producer) as q_in, claim(k_tile, producer) as k_in, one(thread):
                tma_load(q_in, q[0, 0])
                tma_load(k_in, k[j * BN, 0])
            with claim(v_tile, producer) as v_in, one(thread):
                tma_load(v_in, v[j * BN, 0])
            with claim(q_tile, consumers) as q_now, claim(k_tile, consumers) as k_now, group(warpgroup[1]):
                wgmma(scores, q_now[M * w, 0], k_now, accumulate=False)
            with consumers, group(thread[1]):
                for i in range(count(scores)):
                    p[i] = T(0.5 * scores[i])
            with claim(v_tile, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                wgmma(sums, p, v_now, transpose_b=True)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, consumers, group(thread[1]):
            for i in range(count(sums)):
                mine[(M * w + row(sums, i)) * D + column(sums, i)] = sums[i]


@functools.cache
def program(element: Any, m: int, bn: int, d: int) -> Any:
    return check(attended, {"T": element, "M": m, "BN": bn, "D": d})


def stored(values: Any, element: Any) -> Any:
    """Small integers as they are stored: bfloat16 by its bits."""
    return (
        values.astype(np.float16)
        if element is half
        else (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    )


def launch(element: Any, m: int, bn: int, d: int, trips: int) -> tuple[list[Any], Any]:
    """Arguments, and what comes out: integers so small that every rounding is exact."""
    random = np.random.default_rng(m + bn + trips)
    q, k = (random.integers(-1, 2, (rows, 64)) * (random.random((rows, 64)) < 0.2) for rows in (2 * m, trips * bn))
    v = random.integers(-2, 3, (trips * bn, d))
    arguments = [*(stored(a, element) for a in (q, k, v)), np.zeros(2 * m * d, np.float32), np.int32(trips)]
    return arguments, (0.5 * (q @ k.T) @ v).ravel()


@pytest.mark.parametrize(
    ("element", "m", "bn", "d"), [(half, 64, 16, 64), (bfloat16, 64, 48, 64), (half, 128, 32, 64)], ids=str
)
def test_it_is_the_product(element: Any, m: int, bn: int, d: int) -> None:
    arguments, wanted = launch(element, m, bn, d, 3)
    for schedule in SCHEDULES:
        arguments[3][:] = 0
        run(program(element, m, bn, d), 1, 384, arguments, schedule=schedule, check=True)
        assert np.array_equal(arguments[3], wanted)


# -- when it is waited for ----------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], warpgroup[1])
@template(N=constexpr(int))
def rewritten(v: ptr(const(half)) @ grid[1], o: ptr(float32) @ grid[1], trips: int32 @ grid[1]):
    """The operand is written anew in each trip, where the wgmmas of the trip before may still read it."""
    with partition(o, block[1], 0) as out, group(block[1]):
        tile: shared(half[32, N], swizzle=128)
        p: fragment(half, 64, 32) @ warpgroup[1]
        sums: fragment(float32, 64, N) @ warpgroup[1] = 0
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (e // N, e % N)) as mine, group(thread[1]):
            for e in range(t, 32 * N, 128):
                mine[e] = v[e]
        for j in range(trips):
            with group(thread[1]):
                for i in range(count(p)):
                    p[i] = half(j + row(p, i) % 4 - column(p, i) % 3)
            with group(warpgroup[1]):
                wgmma(sums, p, tile, transpose_b=True)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[row(sums, i) * N + column(sums, i)] = sums[i]


@prism("global")
@requires(grid[1], block[1], warpgroup[1])
def handed_on(a: ptr(const(half)) @ grid[1], o: ptr(float32) @ grid[1]):
    """The sums of one product, in half, are the operand of the next, and then those of another."""
    with partition(o, block[1], 0) as out, group(block[1]):
        tile: shared(half[64, 64], swizzle=128)
        p: fragment(half, 64, 64) @ warpgroup[1]
        sums: fragment(float32, 64, 64) @ warpgroup[1]
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (e // 64, e % 64)) as mine, group(thread[1]):
            for e in range(t, 64 * 64, 128):
                mine[e] = a[e]
        with group(warpgroup[1]):
            wgmma(p, tile, tile, accumulate=False)
            wgmma(sums, p, tile, accumulate=False)
            wgmma(p, tile, tile, accumulate=False)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[row(sums, i) * 64 + column(sums, i)] = sums[i]


def launch_of(name: str) -> tuple[Any, list[Any], Any]:
    """A kernel's program, its arguments with the output last, and what comes out."""
    random = np.random.default_rng(0)
    out = np.zeros(64 * 64, np.float32)
    if name == "handed_on":
        a = random.integers(-1, 2, (64, 64)) * (random.random((64, 64)) < 0.2)
        return check(handed_on), [a.astype(np.float16).ravel(), out], (a @ a.T @ a.T).ravel()
    v = random.integers(-2, 3, (32, 64))
    p = sum(j + np.arange(64)[:, None] % 4 - np.arange(32) % 3 for j in range(3))
    return check(rewritten, {"N": 64}), [v.astype(np.float16).ravel(), out, np.int32(3)], (p @ v).ravel()


def scored(built: Any, threads: int, arguments: list[Any], out: Any, wanted: Any, tried: Any) -> Score:
    def right(mutant: Any, **options: Any) -> bool:
        out[:] = 0
        run(mutant, 1, threads, arguments, **options)
        return np.array_equal(out, wanted)

    return score(built, right, threads, tried)


@pytest.mark.parametrize("name", ["rewritten", "handed_on"])
def test_each_wait_and_fence_is_needed(name: str) -> None:
    built, arguments, wanted = launch_of(name)
    found = scored(built, 128, arguments, arguments[1], wanted, TRIED)
    assert found.wrong and not found.survivors and not found.excused


def test_each_wait_of_a_pipeline_is_needed() -> None:
    arguments, wanted = launch(half, 64, 16, 64, 3)
    found = scored(program(half, 64, 16, 64), 384, arguments, arguments[3], wanted, TRIED)
    assert found.wrong > 40 and not found.survivors and not found.excused


def test_where_the_waits_are() -> None:
    """The operand is written only when the wgmmas that read it have been waited for."""
    text = entry_of(check(rewritten, {"N": 64}), "sm_90a").source
    waits = re.findall(r"wgmma\.wait_group.*// (\w+ \w+) \(line \d+\) before (\w+ \w+)", text)
    assert waits == [("read p", "write p"), ("read p", "write p"), ("write sums", "read sums")]
    between = entry_of(check(handed_on), "sm_90a").source
    steps = re.findall(
        r"wgmma\.(fence|wait_group)|(px_wgmma_n64_f16(?:_held|_f16sum))<", between[between.index("extern") :]
    )
    assert ["".join(step) for step in steps] == [
        "fence", "px_wgmma_n64_f16_f16sum", "wait_group", "fence", "px_wgmma_n64_f16_held", "wait_group", "fence",
        "px_wgmma_n64_f16_f16sum", "wait_group",
    ]  # fmt: skip


# -- what it compiles to ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("element", "m", "bn", "d"), [(half, 64, 64, 128), (bfloat16, 64, 128, 64), (half, 128, 32, 64)], ids=str
)
def test_registers_are_handed_on(element: Any, m: int, bn: int, d: int) -> None:
    """One instruction a step of 16, from the registers of the conversion: no copy, no spill, no wgmma waits for another."""
    text = entry_of(program(element, m, bn, d), "sm_90a").source
    made = compile_cubin(text, "sm_90a")
    assert not re.search(r"C7\d\d\d", made.log), made.log
    assert made.stack == made.spills == 0
    assert len(re.findall(rf"px_wgmma_n{d}_\w+_held<{bn // 16}, ", text)) == 1


def test_pairs_are_packed_as_they_are_converted(nvrtc: Any) -> None:
    """In PTX, two conversions and a move of the pair, which the assembler makes one F2FP: no shifts, masks or PRMTs."""
    ptx = nvrtc(entry_of(program(half, 64, 128, 128), "sm_90a").source, "sm_90a").ptx
    part = ptx[ptx.index("cvt.rn.f16") : ptx.rindex("cvt.rn.f16")]
    found = collections.Counter(re.findall(r"^\s+(cvt|mul|mov|prmt|shl|shr|and|or|bfi)\.", part, re.M))
    assert found == {"cvt": 62, "mul": 62, "mov": 31}


# -- what is refused ----------------------------------------------------------------------------------------------------


def held(
    element: Any = FLOAT16, rows: int = 64, columns: int = 64, sums: int = 64, of_b: Any = FLOAT16, **statics: Any
) -> Any:
    """The binding of a wgmma whose first operand is a fragment."""
    given = bound((of_b, 64, 64, 128), (of_b, 64, 64, 128), (FLOAT32, 64, sums), **statics)
    tiles = {"b": given.tiles["b"]}
    return replace(given, tiles=tiles, fragments={**given.fragments, "a": Fragment(element, rows, columns)})


@pytest.mark.parametrize(
    ("binding", "what"),
    [
        (held(), ""),
        (held(BFLOAT16, of_b=BFLOAT16, transpose_b=True), ""),
        (held(BFLOAT16), "`a` and `b` hold bfloat16 and float16: they must be of one type"),
        (held(FLOAT32, of_b=FLOAT32), "`a` in registers is a fragment of 16-bit or 8-bit elements, not of float32"),
        (held(rows=128), "`a` has 128 rows, and the accumulator 64"),
        (held(sums=128), "`a` has 64 rows, and the accumulator 128"),
        (held(columns=40), "`a` has 40 columns; float16 takes a multiple of 16 along K"),
        (held(columns=32), "`a` has 32 elements along K, and `b` 64"),
        (held(transpose_a=True), "`transpose_a` is for tiles"),
    ],
)
def test_problems(binding: Any, what: str) -> None:
    found = WGMMA.problem(binding)
    assert found.startswith(what) if what else not found


# -- elements of 8 bits -------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
@template(T=dtype, B=dtype, SUM=dtype, M=constexpr(int), K=constexpr(int))
def of_bytes(b: ptr(const(B)) @ grid[1], o: ptr(SUM) @ grid[1], trips: int32 @ grid[1]):
    """The sums of two products of one operand, which is written anew in each trip."""
    with partition(o, block[1], 0) as out, group(block[1]):
        tile: shared(B[64, K], swizzle=32)
        p: fragment(T, M, K) @ warpgroup[1] = 0
        sums: fragment(SUM, M, 32) @ warpgroup[1] = 0
        more: fragment(SUM, M, 32) @ warpgroup[1] = 0
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (e // K, e % K)) as mine, group(thread[1]):
            for e in range(t, 64 * K, 128):
                mine[e] = b[e]
        for j in range(trips):
            with group(thread[1]):
                for i in range(count(p)):
                    p[i] = T((row(p, i) * 7 + column(p, i) * 5 + j) % 8)
            with group(warpgroup[1]):
                wgmma(sums, p, tile[0, 0])
                wgmma(more, p, tile[32, 0])
            with group(thread[1]):
                for i in range(count(sums)):
                    sums[i] += SUM(p[0])
            with group(thread[1]):
                for i in range(count(more)):
                    more[i] += SUM(1)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[row(sums, i) * 64 + column(sums, i)] = sums[i]
                mine[row(sums, i) * 64 + 32 + column(sums, i)] = more[i]


BYTES = [
    (float8_e4m3fn, float8_e4m3fn, float32, 64, 64), (float8_e5m2, float8_e4m3fn, float32, 64, 32),
    (int8, uint8, int32, 128, 96), (uint8, uint8, int32, 64, 32),
]  # fmt: skip


def launch_of_bytes(element: Any, of_b: Any, sum_: Any, m: int, k: int) -> tuple[list[Any], Any]:
    """Arguments, the output second, and what comes out of three trips."""
    b = np.random.default_rng(k).integers(0, 4, (64, k))
    given = bits_of(b.astype(np.float32), of_b) if of_b.kind == "float" else b
    wanted = np.zeros((m, 64))
    r, c = np.indices((m, 64))
    own = r % 64 // 16 * 16 + r % 8, c % 8 // 2 * 2  # where element 0 of the operand lies, of the thread that has a sum
    for j in range(3):
        p = (np.arange(m)[:, None] * 7 + np.arange(k) * 5 + j) % 8
        wanted += p @ b.T + np.where(c < 32, (own[0] * 7 + own[1] * 5 + j) % 8, 1)
    arguments = [given.astype(of_b.numpy).ravel(), np.zeros(m * 64, sum_.numpy), np.int32(3)]
    return arguments, wanted.ravel()


@pytest.mark.parametrize(("element", "of_b", "sum_", "m", "k"), BYTES, ids=str)
def test_products_of_bytes(element: Any, of_b: Any, sum_: Any, m: int, k: int) -> None:
    arguments, wanted = launch_of_bytes(element, of_b, sum_, m, k)
    built = check(of_bytes, {"T": element, "B": of_b, "SUM": sum_, "M": m, "K": k})
    for schedule in SCHEDULES:
        arguments[1][:] = 0
        run(built, 1, 128, arguments, schedule=schedule, check=True)
        assert np.array_equal(arguments[1], wanted)
    made = compile_cubin(entry_of(built, "sm_90a").source, "sm_90a")
    assert not re.search(r"C7\d\d\d", made.log) and made.stack == made.spills == 0


def test_each_wait_of_bytes_is_needed() -> None:
    arguments, wanted = launch_of_bytes(*BYTES[0])
    built = check(of_bytes, dict(zip(("T", "B", "SUM", "M", "K"), BYTES[0], strict=True)))
    found = scored(built, 128, arguments, arguments[1], wanted, TRIED)
    assert found.wrong and not found.survivors and not found.excused


def test_threads_exchange_once_for_each_time_it_is_written(nvrtc: Any) -> None:
    """Of two wgmmas that read what was written once, the second finds it laid out: 4 shuffles of 16 elements, and no branch."""
    built = check(of_bytes, dict(zip(("T", "B", "SUM", "M", "K"), BYTES[1], strict=True)))
    ptx = nvrtc(entry_of(built, "sm_90a").source, "sm_90a").ptx
    assert len(re.findall(r"shfl\.sync", ptx)) == 4


def test_the_exchange_is_the_hardwares_layout() -> None:
    """What each thread of a quad has after the exchange, by the helper's own numbers, is what PTX says of the operand."""
    for q in range(4):  # row 0 is the lower half of a word, row 8 the upper; of each pair of words 16 columns
        word = [[(8 * half_ + 2 * t, 8 * half_ + 2 * t + 1) for half_ in range(2)] for t in range(4)]
        outer = q in (0, 3)
        sources = 0x2130 >> 4 * q & 3, 0x3021 >> 4 * q & 3
        one, two = (word[s][int((s not in (0, 3)) ^ late)] for s, late in zip(sources, (False, True), strict=True))
        assert (one + two if outer else two + one) == tuple(range(4 * q, 4 * q + 4))
