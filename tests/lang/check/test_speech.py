"""`assert_`, `print_`, `count()`, unrolling, early returns, clusters.

Tests of prism/interpret/speak.py; prism/lang/check/speak.py; prism/lang/emit/speak.py.
"""

# ruff: noqa: F821 - locals declared without a value

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.interpret import AssertError, run
from prism.lang import (
    CompileError,
    assert_,
    block,
    const,
    constexpr,
    count,
    grid,
    group,
    half,
    id,
    partition,
    print_,
    prism,
    ptr,
    requires,
    split,
    template,
    thread,
    warp,
)  # fmt: skip
from prism.runtime.launch import LaunchError

ARCHES = ["sm_80", "sm_90a"]


@prism("device")
@requires(thread[32])
def report(n: int @ thread[32]):
    print_("n = {}, {{100%}}", n)


@prism("global")
@requires(grid[1], block[1], thread[64])
def talk(x: ptr(const(half)) @ grid[1], n: int @ grid[1]):
    print_("the grid")
    with group(block[1]):
        b: int @ block[1] = 0 * count(thread[1])
        print_("{} of {}, {}", b, n, n > 2)
        with group(thread[32]):
            assert_(n < 10, 'n is "small"?')
            report(n)
        match split(warp):
            case 1:
                print_("first")
            case 1:
                with group(thread[1]):
                    if x[0] > 1.0:
                        print_("x = {}", x[0])


def test_what_is_said(capsys):
    run(package.check(talk), 2, 64, [np.array([2.5], np.float16), 3], check=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("the grid") == 1
    assert [line for line in lines if " of 3" in line] == ["block 0: 0 of 3, True", "block 1: 0 of 3, True"]
    assert [line for line in lines if "n = 3" in line] == [
        f"thread[32] {w} of block {b}: n = 3, {{100%}}" for b in range(2) for w in range(2)
    ]
    assert lines.count("thread[32] 0 of block 1: first") == 1
    assert len([line for line in lines if line.endswith("x = 2.5")]) == 64


def test_what_does_not_hold():
    with pytest.raises(AssertError) as caught:
        run(package.check(talk), 1, 64, [np.zeros(1, np.float16), 12])
    assert "small" in str(caught.value) and "assert_(n < 10, 'n is" in str(caught.value)


@pytest.mark.parametrize("arch", ARCHES)
def test_compiles(arch, nvrtc):
    text = package.compile(talk, arch=arch).cuda
    assert "__assertfail(" in text and "printf(" in text
    assert nvrtc(text, arch).cubin


# -- count, returns, loops ------------------------------------------------------------------------------------------------


@prism("device")
@requires(thread[1])
def sign(x: int @ thread[1]) -> int @ thread[1]:
    if x < 0:
        return -1
    for k in range(4, unroll=2):
        if x == k:
            return k * 10
    return 1 if x % 2 == 0 else 2


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(U=constexpr(int))
def counted(y: ptr(int) @ grid[1], n: int @ grid[1]):
    with partition(y, thread[1], id()) as out:
        t: int @ thread[1] = id()
        all_: int @ thread[1] = count()
        with group(block[1]):
            if n < 0:
                pass
            mine: int @ thread[1] = count()
            warps: int @ warp[1] = count()
            with group(thread[1]):
                k: int = 0
                while k < 100:
                    k += 7
                    if k > t:
                        break
                for i in range(8, unroll=U):
                    k += i
                out[0] = 10000 * all_ + 100 * mine + warps + sign(t - 1) + k


def test_counts_and_returns():
    y = np.zeros(128, np.int32)
    run(package.check(counted, {"U": 4}), 2, 64, [y, 1], check=True)
    t = np.arange(128)
    x = t - 1
    signs = np.where(x < 0, -1, np.where(x < 4, 10 * x, np.where(x % 2 == 0, 1, 2)))
    k = np.minimum((t // 7 + 1) * 7, 105) + 28
    assert np.array_equal(y, 10000 * 128 + 100 * 64 + 2 + signs + k)


@pytest.mark.parametrize("arch", ARCHES)
def test_counts_compile(arch, nvrtc):
    text = package.compile(counted, {"U": 4}, arch=arch).cuda
    assert "#pragma unroll 4" in text and nvrtc(text, arch).cubin


# -- clusters -------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[4], thread[32])
def clusters(y: ptr(int) @ grid[1]):
    with partition(y, thread[1], id()) as out:
        c: int @ block[4] = id()
        with group(block[4]):
            b: int @ block[1] = id()
            t: int @ thread[1] = id()
            blocks: int @ block[4] = count(block[1])
            with group(block[1]):
                with group(thread[1]):
                    out[0] = 10000 * c + 1000 * b + 100 * blocks + t


@pytest.mark.parametrize("check", [True, False])
def test_ids_inside_a_cluster(check):
    y = np.zeros(256, np.int32)
    run(package.check(clusters), 8, 32, [y], check=check)
    at = np.arange(256)
    expected = 10000 * (at // 128) + 1000 * (at // 32 % 4) + 400 + at % 128
    assert np.array_equal(y, expected)


def test_clusters_compile(nvrtc):
    compiled = package.compile(clusters, arch="sm_90a")
    assert "__cluster_dims__(4, 1, 1)" in compiled.cuda
    found = nvrtc(compiled.cuda, "sm_90a")
    assert ".explicitcluster" in found.ptx and ".reqnctapercluster 4" in found.ptx


def test_clusters_need_sm_90():
    with pytest.raises(CompileError) as caught:
        package.compile(clusters, arch="sm_80").cuda
    assert caught.value.code == "arch" and "a cluster of 4 blocks" in str(caught.value)


def test_a_launch_is_whole_clusters():
    with pytest.raises(LaunchError, match="a multiple of 4 blocks"):
        clusters[6, 32](np.zeros(192, np.int32))
    y = np.zeros(256, np.int32)
    clusters[8, 32](y)
    assert y[255] == 10000 + 3000 + 400 + 127
