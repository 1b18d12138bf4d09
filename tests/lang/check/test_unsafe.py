"""`unsafe` and `extern`: text spliced into the emitted code, effects known to inference, meanings on the reference machine.

Tests of prism/interpret/raw.py; prism/lang/check/raw.py; prism/lang/emit/statements.py.
"""

# ruff: noqa: F821 - locals declared without a value

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.cli import main
from prism.interpret import RaceError, run
from prism.interpret.errors import NoMeaningError
from prism.lang import (
    block,
    const,
    extern,
    grid,
    group,
    id,
    partition,
    prism,
    ptr,
    requires,
    shared,
    thread,
    uint32,
    unsafe,
)  # fmt: skip

ARCHES = ["sm_80", "sm_90a"]


def shifted(v, d):
    rows = np.broadcast_to(v, (32,))
    return np.concatenate([rows[: int(d)], rows[: 32 - int(d)]])


@prism("device")
@requires(thread[32])
@extern("return __shfl_up_sync(0xffffffffu, v, d);", meaning=shifted)
def shfl_up(v: uint32 @ thread[1], d: uint32 @ thread[32]) -> uint32 @ thread[1]:
    pass


def put(p, v):
    p[0] = v


@prism("device")
@requires(thread[1])
@extern("p[0] = v; // p", writes=["p"], meaning=put)
def store(p: ptr(uint32) @ thread[1], v: uint32 @ thread[1]):
    pass


def doubled(v, w):
    return 2 * v + w, w + 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def mixed(x: ptr(const(uint32)) @ grid[1], y: ptr(uint32) @ grid[1], n: int @ grid[1]):
    with partition(y, thread[1], id()) as out:
        with group(block[1]):
            line: shared(uint32[32]) @ block[1]
            v: uint32 @ thread[1] = x[id()]
            w: uint32 @ thread[1] = 5
            unsafe("v = 2 * v + w; w = w + 1;", reads=[v, w], writes=[v, w], meaning=doubled)
            with partition(line, thread[1], id()) as mine:
                with group(thread[1]):
                    store(mine, v + w)
            other: uint32 @ thread[1] = line[(id() + 1) % 32]
            total: uint32 @ thread[1] = shfl_up(other, 1)
            unsafe("#pragma unroll 2")
            for k in range(n):
                total += k
            with group(thread[1]):
                out[0] = total


def expected(x, n):
    line = 2 * x + 5 + 6
    other = np.roll(line, -1)
    total = np.concatenate([other[:1], other[:-1]])
    return total + n * (n - 1) // 2


@pytest.mark.parametrize("check", [True, False])
def test_meanings(check):
    x, y = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    run(package.check(mixed), 1, 32, [x, y, 4], check=check)
    assert np.array_equal(y, expected(x, 4))


def test_effects_cost_a_barrier_that_is_needed():
    program = package.check(mixed)
    plan = program.plans[program.entry]
    assert len(plan.barriers) == 1 and "store" in plan.barriers[0].first.text
    with pytest.raises(RaceError):
        run(program.with_plan(plan.drop_step(plan.barriers[0])), 1, 32, [np.zeros(32, np.uint32)] * 2 + [1], check=True)


@pytest.mark.parametrize("arch", ARCHES)
def test_compiles(arch, nvrtc):
    text = package.compile(mixed, arch=arch).cuda
    lines = [line.strip() for line in text.splitlines()]
    at = next(k for k, line in enumerate(lines) if line.startswith("#pragma unroll 2"))
    assert lines[at + 1].startswith("for (")
    assert nvrtc(text, arch).cubin


@prism("global")
@requires(grid[1], block[1], thread[64])
def by_mention(y: ptr(int) @ grid[1]):
    with group(block[1]):
        double: shared(int[64]) @ block[1]
        t: int @ thread[1] = id()
        with partition(double, thread[1], t) as mine:
            with group(thread[1]):
                unsafe('mine[0] = 2 * t; asm volatile("// mine t");')
        unsafe("if (t == 0) for (int k = 0; k < 64; ++k) y[k] = double[k];")


def test_names_in_the_text_are_the_kernels(nvrtc):
    text = package.compile(by_mention).cuda
    assert "double_" in text and 'asm volatile("// mine t");' in text
    assert nvrtc(text, "sm_90a").cubin
    program = package.check(by_mention)
    assert [b.kind for b in program.plans[program.entry].barriers] == ["block"]


def test_no_meaning_is_refused_by_name():
    with pytest.raises(NoMeaningError, match="this `unsafe` text has no meaning"):
        run(package.check(by_mention), 1, 64, [np.zeros(64, np.int32)])

    @prism("device")
    @requires(thread[1])
    @extern("return clock();")
    def clock() -> int @ thread[1]:
        pass

    @prism("global")
    @requires(grid[1], thread[1])
    def timed(y: ptr(int) @ grid[1]):
        with partition(y, thread[1], id()) as mine:
            with group(thread[1]):
                mine[0] = clock()

    assert "return clock();" in package.compile(timed).cuda
    with pytest.raises(NoMeaningError, match="extern function `clock`"):
        run(package.check(timed), 1, 1, [np.zeros(1, np.int32)])


def test_extern_is_not_pure():
    program = package.check(mixed)
    assert [f.pure for f in program.functions] == [False] * 3


def test_the_command_lists_them(capsys, tmp_path):
    assert main(["check", "--unsafe", f"{__file__}:mixed"]) == 0
    found = capsys.readouterr().out
    assert "unsafe in mixed: v = 2 * v + w; w = w + 1;" in found and "extern in shfl_up" in found
    assert "write p (declared); has a meaning on the CPU" in found
