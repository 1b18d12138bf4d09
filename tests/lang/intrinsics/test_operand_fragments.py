"""A fragment of 8-bit elements declared as an operand: its elements are where the first operand of a wgmma has them.

Tests of prism/lang/check/fragments.py; prism/interpret/fragments.py; prism/lang/emit/pairs.py.
"""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from prism import check
from prism.interpret import SCHEDULES, run
from prism.interpret.fragments import places
from prism.lang import (
    attr,
    block,
    column,
    const,
    count,
    dtype,
    float8_e4m3fn,
    float8_e5m2,
    float32,
    fragment,
    grid,
    group,
    id,
    int8,
    int32,
    partition,
    prism,
    ptr,
    requires,
    row,
    shared,
    template,
    thread,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.types import FLOAT8_E4M3FN, Fragment
from prism.lang.types.shorts import bits_of
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.mutation import TRIED, score


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
@template(T=dtype, SUM=dtype)
def of_bytes(b: ptr(const(T)) @ grid[1], o: ptr(SUM) @ grid[1], trips: int32 @ grid[1]):
    """The sums of products of an operand of 128 rows and 64 columns, which is written anew in each trip."""
    with partition(o, block[1], 0) as out, group(block[1]):
        tile: shared(T[32, 64], swizzle=64)
        p: fragment(T, 128, 64, operand=True) @ warpgroup[1] = 0
        sums: fragment(SUM, 128, 32) @ warpgroup[1] = 0
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (e // 64, e % 64)) as mine, group(thread[1]):
            for e in range(t, 32 * 64, 128):
                mine[e] = b[e]
        for j in range(trips):
            with group(thread[1]):
                for i in range(count(p)):
                    p[i] = T((row(p, i) * 7 + column(p, i) * 5 + j) % 8)
            with group(warpgroup[1]):
                wgmma(sums, p, tile)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[row(sums, i) * 32 + column(sums, i)] = sums[i]


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
@template(T=dtype)
def converted(x: ptr(const(float32)) @ grid[1], b: ptr(const(T)) @ grid[1], o: ptr(float32) @ grid[1]):
    """`x @ b.T`, of 64 x 64 numbers, converted two at a time."""
    with partition(o, block[1], 0) as out, group(block[1]):
        tile: shared(T[64, 64], swizzle=64)
        p: fragment(T, 64, 64, operand=True) @ warpgroup[1] = 0
        sums: fragment(float32, 64, 64) @ warpgroup[1] = 0
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda e: (e // 64, e % 64)) as mine, group(thread[1]):
            for e in range(t, 64 * 64, 128):
                mine[e] = b[e]
        with group(thread[1]):
            for i in range(count(p)):
                p[i] = T(x[row(p, i) * 64 + column(p, i)])
        with group(warpgroup[1]):
            wgmma(sums, p, tile)
        with partition(out, thread[1], lambda e: e, races="allow") as mine, group(thread[1]):
            for i in range(count(sums)):
                mine[row(sums, i) * 64 + column(sums, i)] = sums[i]


KINDS = [(float8_e4m3fn, float32), (float8_e5m2, float32), (int8, int32)]


def launch_of_bytes(element: Any, sum_: Any) -> tuple[list[Any], Any]:
    """Arguments, the output second, and what comes out of three trips: small integers, exact."""
    b = np.random.default_rng(0).integers(0, 4, (32, 64))
    given = bits_of(b.astype(np.float32), element) if element.kind == "float" else b
    wanted = np.zeros((128, 32))
    for j in range(3):
        wanted += ((np.arange(128)[:, None] * 7 + np.arange(64) * 5 + j) % 8) @ b.T
    return [given.astype(element.numpy).ravel(), np.zeros(128 * 32, sum_.numpy), np.int32(3)], wanted.ravel()


@pytest.mark.parametrize(("element", "sum_"), KINDS, ids=str)
def test_it_is_the_product(element: Any, sum_: Any) -> None:
    arguments, wanted = launch_of_bytes(element, sum_)
    built = check(of_bytes, {"T": element, "SUM": sum_})
    for schedule in SCHEDULES:
        arguments[1][:] = 0
        run(built, 1, 128, arguments, schedule=schedule, check=True)
        assert np.array_equal(arguments[1], wanted)


def test_each_wait_and_fence_is_needed() -> None:
    arguments, wanted = launch_of_bytes(*KINDS[0])
    built = check(of_bytes, dict(zip(("T", "SUM"), KINDS[0], strict=True)))

    def right(mutant: Any, **options: Any) -> bool:
        arguments[1][:] = 0
        run(mutant, 1, 128, arguments, **options)
        return np.array_equal(arguments[1], wanted)

    found = score(built, right, 128, TRIED)
    assert found.wrong and not found.survivors and not found.excused


@pytest.mark.parametrize("element", [float8_e4m3fn, float8_e5m2], ids=str)
def test_pairs_are_converted_where_they_are_read(element: Any, nvrtc: Any) -> None:
    """Two numbers an instruction, no exchange between threads, no spill; and the product is that of rounded numbers."""
    random = np.random.default_rng(0)
    x, b = random.integers(-4, 5, (64, 64)).astype(np.float32), random.integers(-2, 3, (64, 64)).astype(np.float32)
    built, out = check(converted, {"T": element}), np.zeros(64 * 64, np.float32)
    run(built, 1, 128, [x.ravel(), bits_of(b, element).astype(np.uint8).ravel(), out], check=True)
    assert np.array_equal(out.reshape(64, 64), x @ b.T)
    text = entry_of(built, "sm_90a").source
    ptx = nvrtc(text, "sm_90a").ptx
    assert len(re.findall(rf"cvt\.rn\.satfinite\.{element.cuda.removeprefix('px_')}x2\.f32", ptx)) == 16
    assert "shfl" not in ptx
    made = compile_cubin(text, "sm_90a")
    assert not re.search(r"C7\d\d\d", made.log) and made.stack == made.spills == 0


def test_places_are_the_hardwares() -> None:
    """PTX, 9.7.15.5.1: of 8-bit elements a thread's registers are 4 columns of a row, of that 8 below, and 16 columns on."""
    rows, columns = places(Fragment(FLOAT8_E4M3FN, 64, 64, operand=True))
    for t in (0, 5, 42, 127):
        for i in range(32):
            register, byte = i // 4, i % 4
            assert rows[t, i] == t // 32 * 16 + t % 32 // 4 + register % 2 * 8
            assert columns[t, i] == register // 4 * 32 + register % 4 // 2 * 16 + t % 4 * 4 + byte
    assert len(set(zip(rows.ravel().tolist(), columns.ravel().tolist(), strict=True))) == 64 * 64
