"""Rows of objects of several dimensions, passed as pointers: what a partition gives a unit, its elements side by side.

Tests of prism/lang/facts/contiguous.py.
"""

# ruff: noqa: F821 - locals that kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, run
from prism.lang import (
    CompileError,
    attr,
    block,
    const,
    constexpr,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
    warp,
)
from prism.lang.barriers.overlap import verdicts
from prism.lang.facts.definitions import facts
from prism.lang.pipeline import build


@prism("device")
@template(N=constexpr(int))
@requires(warp[1])
def filled(row: ptr(int32) @ warp[1], v: int32 @ warp[1]):
    """Lane t's N elements of the row, 32 apart, become 100 * v + t."""
    t: int32 @ thread[1] = id()
    with partition(row, thread[1], t) as mine, group(thread[1]):
        for k in range(N):
            mine[32 * k] = 100 * v + t


@prism("device")
@requires(thread[1])
def sum_of(row: ptr(const(int32)) @ thread[1], n: int32 @ thread[1]) -> int32 @ thread[1]:
    total: int32 = 0
    for k in range(n):
        total += row[k]
    return total


@prism("global")
@attr("__launch_bounds__(128)")
@template(N=constexpr(int), FIRST=constexpr(int))
@requires(grid[1], block[1], thread[128])
def sums(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        rows: shared(int32[4, 64])
        t: int32 @ thread[1] = id()
        w: int32 @ warp[1] = id()
        with partition(rows, warp[1], lambda i: (w, FIRST + i)) as row, group(warp[1]):
            filled(row, w, N=N)
        with partition(rows, thread[1], lambda i: ((t + 1) % 4, FIRST + i)) as other, group(thread[1]):
            mine[0] = sum_of(other, 32 * N)


def test_a_row_for_a_warp_and_rows_to_read() -> None:
    program = build(sums, {"N": 2, "FIRST": 0})
    assert [v.status for _, v in verdicts(program.entry, facts(program.entry))] == ["disjoint"] * 3
    assert len(program.plans[program.entry].barriers) == 1  # none in the warps' rows
    for schedule in SCHEDULES:
        y = np.zeros(128, np.int32)
        run(program, 1, 128, [y], check=True, schedule=schedule)
        assert np.array_equal(y, 2 * (3200 * ((np.arange(128) + 1) % 4) + 496))
    source = package.compile(sums, {"N": 2, "FIRST": 0}, arch="sm_90a").cuda
    assert "prism_filled(&rows_[w_ * 64 + (0 + 0)], w_, " in source


@pytest.mark.parametrize("n, first", [(3, 0), (2, 1)])
def test_what_leaves_its_row_is_not_proved(n: int, first: int) -> None:
    """The element behind a row's end is the next row's first one, although the row's index is another."""
    program = build(sums, {"N": n, "FIRST": first})
    found = {v.view.name: v.status for _, v in verdicts(program.entry, facts(program.entry))}
    assert found["row"] == "unknown"
    with pytest.raises(Exception, match="machine-(race|bounds)"):
        run(program, 1, 128, [np.zeros(128, np.int32)], check=True)


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def of_a_tile(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], lambda r, c: (2 * id() + r) * n + c) as tile, group(block[1]):
        w: int32 @ warp[1] = id()
        with partition(tile, warp[1], lambda r, c: (w + r, c)) as part, group(warp[1]):
            with partition(part, warp[1], lambda i: (0, 32 + i)) as row:
                filled(row, w, N=1)


def test_a_row_of_a_tile_in_global_memory() -> None:
    y = np.zeros((4, 70), np.int32)
    of_a_tile[2, 64](y, 70, check=True)
    wanted = np.zeros_like(y)
    wanted[:, 32:64] = np.arange(32) + 100 * (np.arange(4) % 2)[:, None]
    assert np.array_equal(y, wanted)
    assert package.compile(of_a_tile, arch="sm_90a").cubin


@prism("global")
@requires(grid[1], block[1], thread[32])
def kept(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        rows: shared(int32[2, 32])
        t: int32 @ thread[1] = id()
        with partition(rows, thread[1], lambda r: (r, t)) as slot, group(thread[1]):
            slot[0] = t
            slot[1] = 100 + t
        k: int32 = 0
        with partition(rows, block[1], lambda i: (k, i)) as row:
            first: ptr(int32) @ block[1] = row
            k = 1
            with group(thread[1]):
                mine[0] = first[t] + 1000 * row[t]


def test_a_pointer_keeps_the_row_that_it_was_given() -> None:
    """A lambda is applied at each access, but a pointer is an address."""
    y = np.zeros(32, np.int32)
    kept[1, 32](y, check=True)
    assert np.array_equal(y, np.arange(32) + 1000 * (100 + np.arange(32)))
    assert "int* first_ = &rows_[k_ * 32 + 0];" in package.compile(kept, arch="sm_90a").cuda


def test_an_element_is_told_to_become_a_part(tmp_path) -> None:
    said = refused("[4, 32]", "lambda i: (w, i)", "block[1]", tmp_path, argument="row[8]")
    assert "error[call-ptr]" in said and "with partition(row, thread[32], lambda i: 8 + i) as part:" in said


@pytest.mark.parametrize(
    "shape, index",
    [("[4, 64]", "(w, 2 * i)"), ("[4, 64]", "(w + i, i)"), ("[64, 4]", "(i, w)"), ("[4, 64]", "(w, i ^ w)")],
)
def test_other_parts_are_no_pointers(shape: str, index: str, tmp_path) -> None:
    assert "do not lie side by side" in refused(shape, f"lambda i: {index}", "block[1]", tmp_path)


def test_a_clusters_rows_are_no_pointers(tmp_path) -> None:
    assert "each of 2 blocks has a part of `row`" in refused("[2, 32]", "lambda i: (0, i)", "block[2]", tmp_path)


def refused(shape: str, offset: str, place: str, folder, argument: str = "row") -> str:
    path = folder / "part.py"
    path.write_text(f"""
from prism.lang import block, grid, group, id, int32, partition, prism, ptr, requires, shared, thread, warp

@prism("device")
@requires(warp[1])
def filled(row: ptr(int32) @ warp[1]):
    with partition(row, thread[1], id()) as mine, group(thread[1]):
        mine[0] = 1

@prism("global")
@requires(grid[1], {place}, thread[64])
def kernel():
    with group({place}):
        s: shared(int32{shape})
        w: int32 @ warp[1] = id()
        with partition(s, warp[1], {offset}) as row, group(warp[1]):
            filled({argument})
""")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(CompileError) as caught:
        package.check(names["kernel"])
    return str(caught.value)
