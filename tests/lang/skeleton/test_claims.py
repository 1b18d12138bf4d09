"""Facts of kernels' certificates: proved where an argument is found that the checker accepts, else the prover's word alone.

Tests of prism/lang/skeleton/claims.py and prism/lang/arguments/express.py.
"""
# ruff: noqa: F821 -- names that kernels declare

from __future__ import annotations

from typing import Any

import pytest

import prism
from prism.lang import (
    assume,
    atomic_add,
    attr,
    block,
    claim,
    distinct,
    grid,
    group,
    id,
    int32,
    int64,
    one,
    partition,
    ptr,
    requires,
    shared,
    strides_nest,
    thread,
    uint8,
    uint32,
)  # fmt: skip
from prism.lang.certify.arguments import read, verdicts
from prism.lang.skeleton import Certified, describe


def certified(kernel: Any) -> Certified:
    return prism.compile(kernel).certificate


def origins(kernel: Any) -> dict[str, int]:
    """The origins of a kernel's facts; each argument is one that the checker accepts."""
    found = certified(kernel)
    assert found.finding.status == "accepted"
    said = list(verdicts(found.argued))
    assert len(said) == len(found.arguments) and all(proved for _, proved in said)
    return found.origins


@prism.kernel
@requires(grid[1], block[1], thread[128])
def rows(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], lambda k: i * n + k) as mine, group(thread[1]):
        for k in range(n):
            mine[k] = k


@prism.kernel
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def tile(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t // 8 * 8 + ((t % 8) ^ (t // 8))) as mine, group(thread[1]):
            mine[0] = t
        with partition(out, thread[1], t) as slot, group(thread[1]):
            slot[0] = s[63 - t]


@prism.kernel
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def bytes_of(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        s: shared(int32[512])
        t: int32 @ thread[1] = id()
        w: uint32 @ thread[1] = uint32(uint8(t * 4))
        with partition(s, thread[1], w) as mine, group(thread[1]):
            mine[0] = t


@prism.kernel
@attr("__launch_bounds__(32)")
@requires(grid[1], block[1], thread[32])
def drawn(y: ptr(int32) @ grid[1], next: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1]) as whole, group(block[1]):
        t: int32 @ thread[1] = id()
        desk: shared(int32[1])
        with claim(desk, thread[1]) as own, one(thread):
            own[0] = atomic_add(next[0], 1)
        here: int32 @ block[1] = desk[0]
        assume(distinct(here))
        if here < n:
            with partition(whole, thread[1], 32 * here + t) as mine, group(thread[1]):
                mine[0] = here


@prism.kernel
@requires(grid[1], thread[32])
def nest(
    y: ptr(int32) @ grid[1],
    rows: int32 @ grid[1],
    columns: int32 @ grid[1],
    row: int64 @ grid[1],
    column: int64 @ grid[1],
):
    assume(columns >= 1 and strides_nest(rows, row, columns, column))
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], (i // columns) * row + (i % columns) * column) as mine, group(thread[1]):
        if i // columns < rows:
            mine[0] = i


@prism.kernel
@requires(grid[1], thread[32])
def shifted(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    assume(n == 1 or n == 2)
    with partition(y, thread[1], lambda k: (i << (n - 1)) + k) as mine, group(thread[1]):
        mine[0] = i


@pytest.mark.parametrize("kernel", [rows, tile, bytes_of, drawn, nest])
def test_facts_have_arguments(kernel: Any) -> None:
    found = origins(kernel)
    assert found.get("proved", 0) >= 1 and set(found) == {"proved"}, found


def test_what_is_claimed_is_the_machines_index() -> None:
    """The conversion to 8 bits stands in the claim, though no bit of these threads' numbers is lost."""
    ((_, claim, argument),) = read(certified(bytes_of).argued)
    assert "u8" in str(claim.index) and argument.steps
    assert claim.vars[0][1:] == (0, 63)


def test_what_the_checker_does_not_take_is_not_called_proved() -> None:
    found = certified(shifted)
    assert "proved" not in found.origins or found.origins.get("inferred", 0) + found.origins.get("runs", 0) > 0
    assert "proved" not in describe(found).replace("nothing proves", "") or "inferred" in describe(found)


def test_numbers_that_drop_bits_are_not_proved() -> None:
    @prism.kernel
    @attr("__launch_bounds__(128)")
    @requires(grid[1], block[1], thread[128])
    def lost(y: ptr(int32) @ grid[1]):
        with group(block[1]):
            s: shared(int32[512])
            t: int32 @ thread[1] = id()
            w: uint32 @ thread[1] = uint32(uint8(t * 4))
            with partition(s, thread[1], w, races="none") as mine, group(thread[1]):
                mine[0] = t

    assert not certified(lost).arguments
