"""`id()` and `count()` of threads through the whole grid: 32 bits, or 64 where they are declared so; never cut off unsaid.

Tests of prism/launcher.py.
"""
# ruff: noqa: F821 -- template parameters

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.lang import (
    block,
    count,
    dtype,
    float32,
    grid,
    group,
    id,
    int32,
    int64,
    partition,
    ptr,
    requires,
    template,
    thread,
    uint64,
    warp,
)
from prism.lang.facts.budget import grid_limit
from prism.launcher import host_entry
from prism.runtime.launch import check_shape


@prism("global")
@template(U=dtype)
@requires(grid[1], block[1], thread[32])
def indexed(y: ptr(U) @ grid[1]):
    i: U @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = i


@prism("global")
@template(U=dtype)
@requires(grid[1], block[1], thread[32])
def counted(y: ptr(U) @ grid[1]):
    w: U @ thread[32] = id()
    warps: U @ grid[1] = count(warp[1])
    with partition(y, thread[1], 32 * w + int64(id()) % 32) as mine, group(thread[1]):
        mine[0] = warps - w


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_offset(y: ptr(float32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_lambda(y: ptr(float32) @ grid[1]):
    with partition(y, thread[1], lambda i: id() + i) as mine, group(thread[1]):
        mine[0] = 1


@prism("device")
@requires(grid[1], block[1], thread[32])
def of_all() -> int32 @ thread[1]:
    return id(thread[1])


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_call(y: ptr(float32) @ grid[1]):
    i: int64 @ thread[1] = of_all()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def in_blocks(y: ptr(float32) @ grid[1]):
    b: int64 @ block[1] = id()
    with (
        partition(y, block[1], b * 1024) as out,
        group(block[1]),
        partition(out, thread[1], id()) as mine,
        group(thread[1]),
    ):
        mine[0] = 1


@pytest.mark.parametrize(
    ("kernel", "given", "most"),
    [
        (indexed, "int32", 2**31), (indexed, "uint32", 2**31), (indexed, "int64", None), (indexed, "uint64", None),
        (counted, "int32", 2**32 - 1), (counted, "int64", None), (by_offset, None, 2**31), (by_lambda, None, 2**31),
        (by_call, None, 2**31), (in_blocks, None, None),
    ],
)  # fmt: skip
def test_how_many_threads_a_launch_may_have(kernel: prism.Kernel, given: str | None, most: int | None) -> None:
    program = prism.check(kernel, {} if given is None else {"U": given})
    entry = host_entry(program)
    assert grid_limit(program) == entry.grid_threads == most
    check_shape(entry, 2**31 // 1024, 1024)
    if most is None:
        check_shape(entry, 2**31 - 1, 1024)
        return
    with pytest.raises(prism.LaunchError, match="counts the grid's threads in 32 bits"):
        check_shape(entry, 2**23, 1024)
    with pytest.raises(prism.LaunchError):
        check_shape(entry, np.int32(2**23), np.int32(1024))


@pytest.mark.parametrize("given", ["int64", "uint64"])
def test_64_bits_are_counted_in_64(given: str) -> None:
    """They were counted in 32 bits, and then converted."""
    text = prism.compile(counted, template={"U": given}, arch="sm_90a").cuda
    assert "(unsigned long long)blockIdx.x * blockDim.x + threadIdx.x) / 32u" in text
    assert "(unsigned long long)gridDim.x * blockDim.x) / 32u" in text


def test_32_bits_stay_as_they_were() -> None:
    text = prism.compile(counted, template={"U": "int32"}, arch="sm_90a").cuda
    assert "((blockIdx.x * blockDim.x + threadIdx.x) / 32u)" in text


@pytest.mark.parametrize("given", [int32, int64, uint64])
def test_on_the_machine(given: object) -> None:
    kind = np.dtype(str(given))
    y = np.zeros(192, kind)
    indexed[3, 64](y, check=True)
    assert np.array_equal(y, np.arange(192))
    counted[3, 64](y, check=True)
    assert np.array_equal(y, 6 - np.arange(192) // 32)


def test_a_launch_that_is_too_large_is_refused_on_the_machine_too() -> None:
    with pytest.raises(prism.LaunchError, match="at most 2147483648 of them"):
        indexed[2**22, 1024](np.zeros(1, np.int32))
