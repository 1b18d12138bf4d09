"""Shared memory beyond what a block can have: refused where a kernel is compiled, at the object that is too much.

Tests of prism/lang/lower/limits.py.
"""

# ruff: noqa: F821 - locals and template parameters

from __future__ import annotations

import re
from pathlib import Path

import pytest

import prism
from prism.lang import (
    CompileError,
    block,
    const,
    constexpr,
    float32,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip
from prism.lang.lower.limits import SHARED_LIMITS, check_architecture
from prism.launcher import device_entry


@prism.lang.prism("device")
@template(N=int)
@requires(block[1], thread[32])
def staged(x: ptr(const(float32)) @ block[1]):
    inner: shared(float32[N])
    t: int32 @ thread[1] = id()
    with partition(inner, thread[1], t) as slot, group(thread[1]):
        slot[0] = x[t]


@prism.lang.prism("global")
@template(N=constexpr(int), CALLED=constexpr(int))
@requires(grid[1], block[1], thread[32])
def large(x: ptr(const(float32)) @ grid[1]):
    with group(block[1]):
        first: shared(float32[1024])
        t: int32 @ thread[1] = id()
        with partition(first, thread[1], t) as slot, group(thread[1]):
            slot[0] = x[t]
        second: shared(float32[N])
        with partition(second, thread[1], t) as slot, group(thread[1]):
            slot[0] = first[31 - t]
        staged(x, N=CALLED)


def elements(arch: str) -> int:
    """How many elements `second` can have there, beside 1024 of `first` and 32 of `inner`."""
    return SHARED_LIMITS[int(re.sub(r"\D", "", arch))] // 4 - 1024 - 32


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_90a", "sm_120a"])
def test_as_much_as_a_block_can_have_and_one_element_more(arch: str) -> None:
    fits = prism.compile(large, {"N": elements(arch), "CALLED": 32}, arch=arch)
    assert fits.shared_bytes == SHARED_LIMITS[int(re.sub(r"\D", "", arch))]
    with pytest.raises(CompileError) as caught:
        prism.compile(large, {"N": elements(arch) + 32 + 4, "CALLED": 32}, arch=arch)
    error = caught.value
    assert (error.code, error.rule) == ("arch", "R16")
    lines = Path(__file__).read_text().splitlines()
    assert "second: shared" in lines[error.span.line - 1]
    assert f"`second`: {4 * (elements(arch) + 36)} bytes (line {error.span.line})" in error.notes[0]
    assert "`first`: 4096 bytes" in error.notes[0] and "`inner`: 128 bytes (called at line" in error.notes[0]
    assert ("or compile for" in error.help) == (arch in ("sm_75", "sm_86", "sm_120a", "sm_80"))


def test_a_callee_that_is_too_much_is_shown_at_the_call() -> None:
    with pytest.raises(CompileError) as caught:
        prism.compile(large, {"N": 32, "CALLED": 60_000})
    assert "staged(x" in Path(__file__).read_text().splitlines()[caught.value.span.line - 1]


def test_a_launch_is_checked_against_its_device() -> None:
    program = prism.check(large, {"N": 25_000, "CALLED": 32})
    check_architecture(program, "sm_86", 163 << 10)  # a device of more than others of its architecture
    with pytest.raises(CompileError, match="a block can have 101376 on sm_86"):
        device_entry(program, "sm_86", 99 << 10)


def test_checking_alone_names_no_architecture() -> None:
    prism.check(large, {"N": 1_000_000, "CALLED": 32})
