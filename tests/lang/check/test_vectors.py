"""Vectors by name, their components, loads and stores of 16 bytes, arrays of them; objects of several dimensions.

Tests of prism/lang/check: elements, parts; prism/lang/facts/align.py; prism/lang/intrinsics/vectors.py;
prism/lang/types/__init__.py.
"""

# ruff: noqa: F821 - locals declared without a value

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.interpret import MisalignedError, run
from prism.lang import (
    CompileError,
    block,
    const,
    constexpr,
    float2,
    float2_cast,
    float4,
    float4_cast,
    grid,
    group,
    half,
    half8,
    half8_cast,
    id,
    int4,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip
from prism.lang.facts.align import accesses
from prism.lang.types import FLOAT32, Vector


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(WIDE=constexpr(bool))
def swap(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], a: float @ grid[1]):
    with partition(y, thread[1], 4 * id()) as mine:
        t: int @ thread[1] = id()
        with group(thread[1]):
            v: float4 = float4_cast(x[4 * t])
            w: float4[2] = {0}
            u: float4 = {0}
            w[1] = float4(v.w, v.z, v.y, 2 * t)
            w[0].y = a
            u.x = w[0].y + w[0].x
            u[1] = v[1]
            w[1].z = v.y if t < 3 else u.x
            best: float4 = w[1] if t < 5 else float4(u.x)
            if WIDE:
                float4_cast[mine[0]] = best
            else:
                float2_cast[mine[2]] = float2(best.z, best.w)
                float2_cast[mine[0]] = float2(best.x, best.y)


def expected(x, a):
    v = x.reshape(-1, 4)
    t = np.arange(len(v))
    out = np.stack([v[:, 3], v[:, 2], np.where(t < 3, v[:, 1], a), 2 * t], axis=1).astype(np.float32)
    out[5:] = a
    return out.ravel()


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("check", [True, False])
def test_loads_and_stores(wide, check):
    x = np.random.default_rng(0).normal(size=128).astype(np.float32)
    y = np.zeros_like(x)
    run(package.check(swap, {"WIDE": wide}), 1, 32, [x, y, 0.5], check=check)
    assert np.array_equal(y, expected(x, np.float32(0.5)))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("wide", [True, False])
def test_compiles(wide, arch, nvrtc):
    found = nvrtc(package.compile(swap, {"WIDE": wide}, arch=arch).cuda, arch)
    assert "ld.global" in found.ptx and ("st.global.v4" in found.ptx) is wide


def test_accesses_are_proved_aligned():
    verdicts = [a.verdict for a in accesses(package.check(swap, {"WIDE": False}).entry)]
    assert verdicts == ["aligned", "aligned", "aligned"]


def test_names_are_types():
    assert float4 == Vector(FLOAT32, 4) and int4.bytes == 16 == half8.bytes
    with pytest.raises(TypeError, match="belongs in a kernel"):
        float4_cast(1)
    with pytest.raises(TypeError):
        float4_cast[0]


@prism("global")
@requires(grid[1], block[1], thread[1])
def slide(x: ptr(const(half)) @ grid[1], y: ptr(half) @ grid[1], n: int @ grid[1]):
    with partition(y, thread[1], 8 * id()) as mine:
        t: int @ thread[1] = id()
        with group(thread[1]):
            half8_cast[mine[0]] = half8_cast(x[8 * t + n])


def test_the_machine_checks_what_is_not_proved():
    program = package.check(slide)
    assert [a.verdict for a in accesses(program.entry)] == ["unknown", "aligned"]
    x, y = np.arange(80, dtype=np.float16), np.zeros(64, np.float16)
    run(program, 1, 8, [x, y, 8], check=True)
    assert np.array_equal(y, x[8:72])
    with pytest.raises(MisalignedError):
        run(program, 1, 8, [x, y, 4], check=True)


# -- several dimensions ---------------------------------------------------------------------------------------------------


@prism("device")
@requires(block[1], thread[32])
def total(values: ptr(const(int)) @ block[1], n: int @ block[1]) -> int @ thread[1]:
    found: int @ thread[1] = 0
    for k in range(n):
        found += values[k]
    return found


@prism("global")
@requires(grid[1], block[1], thread[32])
def table(y: ptr(int) @ grid[1]):
    with partition(y, thread[1], id()) as out:
        with group(block[1]):
            grid_: shared(int[32][5]) @ block[1]
            pairs: shared(float2[4][8]) @ block[1]
            t: int @ thread[1] = id()
            with partition(grid_, thread[1], lambda j: (t, j)) as row:
                with group(thread[1]):
                    for j in range(5):
                        row[j] = 10 * t + j
            with partition(pairs, thread[1], lambda i, j: (i + t // 8, j + t % 8)) as pair:
                with group(thread[1]):
                    pair[0, 0] = float2(t, -t)
            all_: int @ thread[1] = total(grid_, 160)
            with group(thread[1]):
                local: int[2][3] = {0}
                local[1][2] = grid_[t][4] + grid_[(t + 1) % 32][0]
                local[0, 1] = all_ + int(pairs[t // 8][t % 8].y)
                out[0] = local[1, 2] + local[0][1]


@pytest.mark.parametrize("check", [True, False])
def test_several_dimensions(check):
    y = np.zeros(32, np.int32)
    run(package.check(table), 1, 32, [y], check=check)
    t = np.arange(32)
    assert np.array_equal(y, 10 * t + 4 + 10 * ((t + 1) % 32) + (10 * t[:, None] + np.arange(5)).sum() - t)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_several_dimensions_compile(arch, nvrtc):
    assert nvrtc(package.compile(table, arch=arch).cuda, arch).cubin


def test_a_row_a_thread_needs_one_barrier_before_it_is_read():
    program = package.check(table)
    assert len(program.plans[program.entry].barriers) == 1


def refused(body, parameters="p: ptr(float) @ thread[1], q: ptr(const(int)) @ thread[1]"):
    import linecache

    text = f'@prism("device")\n@requires(thread[1])\ndef f({parameters}):\n    {body}\n'
    file = f"<vectors {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {name: getattr(__import__("prism.lang").lang, name) for name in __import__("prism.lang").lang.__all__}
    exec(
        compile(text, file, "exec", dont_inherit=True, flags=__import__("__future__").annotations.compiler_flag), names
    )
    with pytest.raises(CompileError) as caught:
        package.check(names["f"])
    return caught.value


@pytest.mark.parametrize(
    "body, code",
    [
        ("v: float4 = float4(1.0, 2.0)", "type"),
        ("v: float4 = float4_cast(q[0])", "type"),
        ("v: float4 = float4_cast(p)", "type"),
        ("float4_cast[p[0]] = 1.0", "type"),
        ("float4_cast[p[0]] = float2(1.0)", "type"),
        ("v: float2 = {0}; v.z = 1.0", "type"),
        ("x: float = 1.0; x.y = 1.0", "type"),
        ("v: float4 = float4_cast[p[0], p[1]]", "type"),
        ("int4_cast[q[0]] = int4(1)", "const"),
        ("v: float4 = float4(1.0) if q[0] > 1 else float2(1.0)", "type"),
        ("s: shared(float[4]) @ block[1]", "shared-alloc"),
    ],
)
def test_refused(body, code):
    assert refused(body).code == code


def test_surely_misaligned_is_refused():
    @prism("global")
    @requires(grid[1], block[1], thread[1])
    def f(x: ptr(const(float)) @ grid[1]):
        t: int @ thread[1] = id()
        v: float4 @ thread[1] = float4_cast(x[8 * t + 2])

    with pytest.raises(CompileError) as caught:
        package.check(f)
    assert caught.value.code == "type" and "2 element(s) past a multiple of 4" in str(caught.value)


def test_surely_misaligned_in_each_trip_is_refused():
    """Whatever the loop's index is: `4 * k + 1` is one past a multiple of four."""

    @prism("global")
    @requires(grid[1], block[1], thread[1])
    def f(x: ptr(const(float)) @ grid[1], n: int @ grid[1]):
        for k in range(n):
            v: float4 @ thread[1] = float4_cast(x[k * 4 + 1])

    with pytest.raises(CompileError) as caught:
        package.check(f)
    assert caught.value.code == "type" and "1 element(s) past a multiple of 4" in str(caught.value)
