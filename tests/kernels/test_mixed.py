"""Products with weights of 4 and 8 bits on the reference machine: every dtype, tile, edge and schedule; what must be waited for.

Kernels: kernels/mixed: words, few, product, configurations. Tests of prism/lib/algorithms/mixed: plan.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from prism.interpret import SCHEDULES, run, schedules
from prism.kernels.mixed import (
    FEW,
    HOST,
    HOST_FEW,
    TILES,
    FewCut,
    Weights,
    choose,
    few_cut,
    multiply_few,
    multiply_packed,
    pack_words,
    prepare_factors,
    unpack_words,
)  # fmt: skip
from prism.lang.tree.plan import Program, Wait
from prism.lib.algorithms.mixed.api import decide_mixed
from prism.lib.algorithms.mixed.cases import pack, unpack
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from prism.runtime.instance import instance
from tests.mutation import caught, without_barriers
from tests.rarely import rarely

KINDS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
BITS = 4, 8
FEW_CUT = FewCut(4, 1, 2, 4, zeros=True)
SHAPES = [(1, 1, 32, 32), (8, 16, 64, 64), (9, 33, 192, 64), (17, 40, 128, 128), (5, 20, 160, 160), (3, 70, 96, 32)]


def given(m: int, n: int, k: int, size: int, bits: int, kind: str, zeros: bool) -> tuple[tuple[Any, ...], Any]:
    """Rows, words, scales, zero points, whose products are exact; and the product."""
    rng = np.random.default_rng(m + n + k + bits)
    q = rng.integers(0, 2**bits, (k, n)).astype(np.uint8)
    scales = 2.0 ** rng.integers(-2, 2, (k // size, n))
    points = rng.integers(0, 2**bits, (k // size, n)).astype(np.uint8)
    x = rng.integers(-1, 2, (m, k))
    less = points if zeros else np.full_like(points, 2 ** (bits - 1))
    w = (q - less.repeat(size, 0).astype(float)) * scales.repeat(size, 0)
    return (x.astype(KINDS[kind]), pack(q, bits), scales.astype(KINDS[kind]), points), (x @ w).astype(KINDS[kind])


@functools.cache
def program(kernel: Any, **facts: Any) -> Program:
    return instance(kernel, tuple(sorted(facts.items()))).program


def few(m, n, k, size, cut=FEW_CUT, kind="float16", code=None, **options) -> bool:
    cut = replace(cut, fine=size % 64 != 0 and size != k, whole=n % cut.columns == 0)
    (x, words, scales, points), wanted = given(m, n, k, size, cut.bits, kind, cut.zeros)
    out = np.full((m, n + 3), 7, KINDS[kind])
    code = code or program(multiply_few, T=kind, TS=kind, CUT=cut)
    grid = -(-m // cut.rows) * -(-n // cut.columns)
    arguments = [
        x.ravel(),
        k,
        words.ravel(),
        scales.ravel(),
        points.ravel(),
        n,
        1,
        n,
        1,
        out.ravel(),
        n + 3,
        m,
        n,
        k,
        size,
    ]
    run(code, grid, cut.threads, arguments, **{"check": True, **options})
    assert (out[:, n:] == 7).all(), "written beside the result"
    return np.array_equal(out[:, :n], wanted)


def many(m, n, k, size, cut=HOST, kind="float16", bits=4, zeros=True, *, plain=False, code=None, **options) -> bool:
    (x, words, scales, points), wanted = given(m, n, k, size, bits, kind, zeros)
    out = np.full((m, n + 8), 7, KINDS[kind])
    fine = size % 64 != 0 and size != k
    tile = cut.cut(transpose_a=False, transpose_b=False, out_bytes=2, trans=True)
    code = code or program(multiply_packed, T=kind, CUT=tile, WEIGHTS=Weights(bits, fine), PLAIN=plain)
    pitch, rows = -(-n // cut.bm) * cut.bm, len(scales) + fine
    factors = np.zeros(2 * rows * pitch, np.uint32)
    before = program(prepare_factors, T=kind, TS=kind, BITS=bits, ZEROS=zeros)
    taken = [scales.ravel(), points.ravel(), n, 1, n, 1, factors, n, len(scales), pitch, rows * pitch]
    run(before, -(-rows * pitch // 256), 256, taken, check=True)
    room, none = out[:, :n], np.zeros(1, np.float32)
    arguments = [words.reshape(len(words), -1), x, np.zeros_like(wanted), room, out.ravel(), n + 8, factors, pitch]
    arguments += [m, n, k, size, 2, none]
    run(code, 2, cut.threads, arguments, **{"check": True, **options})
    assert (out[:, n:] == 7).all(), "written beside the result"
    return np.array_equal(room, wanted)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_words(kind: str, bits: int) -> None:
    """Packed as the cases' oracle does it, of any strides; and back."""
    low = 0 if kind == "uint8" else -(2 ** (bits - 1))
    q = np.random.default_rng(bits).integers(low, low + 2**bits, (70, 40)).astype(kind)
    for some in (q, q[:1, :1], q[::2], q.T):
        k, n = some.shape
        wanted = pack(some, bits)
        found, deep = np.zeros(wanted.size, np.int32), 16 * wanted.shape[1]
        code = program(pack_words, Q=kind, BITS=bits)
        steps = [step // some.itemsize for step in some.strides]
        reach = np.lib.stride_tricks.as_strided(some, (1 + (k - 1) * steps[0] + (n - 1) * steps[1],), (1,))
        arguments = [reach, *steps, found, n, k, deep, found.size, -low]
        run(code, -(-found.size // 256), 256, arguments, check=True)
        assert np.array_equal(found, wanted.ravel())
        assert np.array_equal(unpack(wanted, k, n), some.astype(int) - low)
        back = np.zeros(k * n, kind)
        run(
            program(unpack_words, Q=kind, BITS=bits), -(-k * n // 256), 256, [found, back, n, k, deep, -low], check=True
        )
        assert np.array_equal(back.reshape(k, n), some)


@pytest.mark.parametrize("bits, kind, zeros", list(itertools.product(BITS, KINDS, [False, True])))
def test_few_rows(bits: int, kind: str, zeros: bool) -> None:
    cut = replace(FEW_CUT, bits=bits, zeros=zeros)
    for shape in SHAPES:
        assert few(*shape, cut, kind), shape


@pytest.mark.parametrize("tiles, strips, ahead", [(1, 1, 1), (2, 4, 1), (4, 1, 2), (1, 2, 4)])
def test_tiles_of_few_rows(tiles: int, strips: int, ahead: int) -> None:
    for m, n in ((8 * tiles + 1, 16 * strips + 1), (8 * tiles - 1, 32 * strips)):
        assert few(m, n, 320, 64, replace(FEW_CUT, tiles=tiles, strips=strips, ahead=ahead))


@pytest.mark.parametrize("bits, kind, zeros", list(itertools.product(BITS, KINDS, [False, True])))
def test_many_rows(bits: int, kind: str, zeros: bool) -> None:
    for m, n, k, size in ((70, 136, 192, 64), (5, 8, 32, 32), (130, 264, 96, 32)):
        assert many(m, n, k, size, kind=kind, bits=bits, zeros=zeros)


@pytest.mark.parametrize("cut", rarely(TILES, but=TILES[-2:]), ids=lambda cut: cut.name)
def test_tiles_of_many_rows(cut: Any) -> None:
    assert many(cut.bn + 8, cut.bm + 8, 128, 64, cut)


def test_rows_that_tensor_copies_do_not_take() -> None:
    assert many(70, 21, 96, 96, plain=True)


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES)))
def test_schedules(schedule: str, seed: int) -> None:
    assert many(70, 136, 256, 128, schedule=schedule, seed=seed)
    assert few(9, 40, 320, 64, schedule=schedule, seed=seed)


def test_what_is_waited_for() -> None:
    """Without the barrier before sums are added, or the wait for what was loaded, the machine finds it."""
    mutants = list(
        without_barriers(program(multiply_few, T="float16", TS="float16", CUT=replace(FEW_CUT, whole=False)))
    )
    assert mutants
    for _, mutant in mutants:
        assert caught(mutant, lambda mutant, **how: few(9, 40, 320, 64, code=mutant, **how))
    tile = HOST.cut(transpose_a=False, transpose_b=False, out_bytes=2, trans=True)
    code = program(multiply_packed, T="float16", CUT=tile, WEIGHTS=Weights(4), PLAIN=False)
    plan = code.plans[code.entry]
    waits = [op for op in plan.operations if isinstance(op, Wait)]
    assert waits
    for op in waits:
        assert caught(
            code.with_plan(plan.drop_step(op)), lambda mutant, **how: many(260, 264, 256, 128, code=mutant, **how)
        )


def test_what_is_held_stays_in_registers() -> None:
    """On Hopper, of the tiles that are chosen; and few rows are multiplied on Ampere."""
    for bits in BITS:
        for m, n, zeros in itertools.product((1, 16, 32), (1024, 8192), (False, True)):
            cut = replace(few_cut(bits, m, n, 132, zeros=zeros), whole=True, zeros=zeros)
            code = program(multiply_few, T="bfloat16", TS="bfloat16", CUT=cut)
            entry = entry_of(code, "sm_90a")
            assert compile_cubin(entry.source, entry.arch).spills == 0, cut
        entry = entry_of(code, "sm_80")
        compile_cubin(entry.source, entry.arch)
        for cut in TILES:
            tile = cut.cut(transpose_a=False, transpose_b=False, out_bytes=2, trans=True)
            facts = {"CUT": tile, "WEIGHTS": Weights(bits), "PLAIN": False}
            entry = entry_of(program(multiply_packed, T="bfloat16", **facts), "sm_90a")
            assert compile_cubin(entry.source, entry.arch).spills == 0, cut


def planned(m: int, n: int, k: int, arch: str = "sm_90a", bits: int = 4) -> Any:
    arrays = {
        "x": np.zeros((m, k), np.float16), "weights": np.zeros((-(-n // 16), k // 16, 8 * bits), np.int32),
        "scales": np.zeros((k // 64, n), np.float16),
    }  # fmt: skip
    gpu = SimpleNamespace(host=arch == "", arch=arch, multiprocessors=132)
    return decide_mixed({name: describe(one) for name, one in arrays.items()}, None, gpu).plan.steps[-1]


def test_launches() -> None:
    """Few rows go to registers straight; all do where there is no wgmma. There are about as many blocks as processors."""
    for m, arch, name in (
        (1, "sm_90a", "multiply_few"), (FEW, "sm_90a", "multiply_few"), (FEW + 1, "sm_90a", "multiply_packed"),
        (500, "sm_80", "multiply_few"), (HOST_FEW, "", "multiply_few"), (HOST_FEW + 1, "", "multiply_packed"),
    ):  # fmt: skip
        assert planned(m, 4096, 4096, arch).instance.kernel.__name__ == name, (m, arch)
    assert 99 <= planned(1, 8192, 8192).blocks <= 264
    assert planned(4096, 8192, 4096).blocks <= 132
    assert choose(8192, 8192, 8192, 132).bn == 192, "wide where there is enough"
    assert choose(64, 8192, 8192, 132).bn == 64
