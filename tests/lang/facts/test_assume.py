"""`assume(condition)` and `races="none"`: what a program says and nothing proves, used, counted, and tested by checked runs."""

import re

import numpy as np
import pytest

from prism.interpret import AssumeError, RaceError, run
from prism.lang import (
    assume,
    block,
    const,
    float32,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    thread,
)
from prism.lang.diagnostics import CompileError
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lang.safety import verdicts
from prism.lang.surface import Kernel


@prism("global")
@requires(grid[1], thread[1])
def rows(y: ptr(float32) @ grid[1], n: int32 @ grid[1], wide: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    row: int32 @ thread[1] = i // wide
    column: int32 @ thread[1] = i % wide
    assume(0 < wide and wide <= n)
    with partition(y, thread[1], row * n + column) as mine, group(thread[1]):
        mine[0] = i


@prism("global")
@requires(grid[1], thread[1])
def plain(y: ptr(float32) @ grid[1], n: int32 @ grid[1], wide: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    row: int32 @ thread[1] = i // wide
    column: int32 @ thread[1] = i % wide
    with partition(y, thread[1], row * n + column) as mine, group(thread[1]):
        mine[0] = i


def statuses(kernel: Kernel) -> set[tuple[str, str, str]]:
    return {(one.kind, one.status, one.what) for one in verdicts(build(kernel)) if one.kind != "alias"}


def test_what_is_assumed_is_used_and_counted() -> None:
    assert statuses(plain) == {("partition", "not proved", "partition `mine`")}
    assert statuses(rows) == {
        ("partition", "proved", "partition `mine`"),
        ("assumption", "checked", "`assume(0 < wide and wide <= n)`"),
    }


def test_nothing_of_it_is_emitted() -> None:
    def code(kernel: Kernel) -> str:
        return re.sub(r"\s*//.*", "", emit(lower(build(kernel))).source).replace("prism_plain", "prism_rows")

    assert code(rows) == code(plain) and "assume" not in code(rows)


def test_the_machine_tests_it_for_each_thread_checked_or_not() -> None:
    y = np.zeros(64, np.float32)
    rows[2, 16](y, 16, 8, check=True)
    assert y.reshape(4, 16)[1, :8].tolist() == list(range(8, 16))
    for check in (True, False):
        with pytest.raises(AssumeError) as caught:
            run(build(rows), 2, 16, (y, 4, 8), check=check)
        assert caught.value.code == "machine-assume" and "assume(0 < wide and wide <= n)" in str(caught.value)


@prism("global")
@requires(grid[1], thread[1])
def lanes(y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        i: int32 = int32(mine[0])
        assume(i < n)
        mine[0] = i + 1


def test_threads_may_differ_in_it() -> None:
    y = np.arange(32, dtype=np.float32)
    lanes[1, 32](y, 32, check=True)
    with pytest.raises(AssumeError, match="thread 31 of block 0"):
        lanes[1, 32](y, 32, check=True)


@prism("global")
@requires(grid[1], thread[1])
def elsewhere(y: ptr(float32) @ grid[1], n: int32 @ grid[1], wide: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    if n > 7:
        assume(0 < wide and wide <= n)
    with partition(y, thread[1], i // wide * n + i % wide) as mine, group(thread[1]):
        mine[0] = i
    assume(0 < wide and wide <= n)


@prism("global")
@requires(grid[1], thread[1])
def changed(y: ptr(float32) @ grid[1], n: int32 @ grid[1], wide: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    m: int32 @ grid[1] = n
    assume(0 < wide and wide <= m)
    m = m // 2
    with partition(y, thread[1], i // wide * m + i % wide) as mine, group(thread[1]):
        mine[0] = i


@pytest.mark.parametrize("kernel", [elsewhere, changed])
def test_it_holds_from_there_on_in_its_block_and_of_what_does_not_change(kernel: Kernel) -> None:
    assert ("partition", "not proved", "partition `mine`") in statuses(kernel)


def test_it_is_of_values_alone() -> None:
    @prism("global")
    @requires(grid[1], thread[1])
    def reads(x: ptr(const(int32)) @ grid[1]):
        assume(x[0] > 0)

    @prism("global")
    @requires(grid[1], thread[1])
    def says(n: int32 @ grid[1]):
        assume(n > 0, "positive")

    with pytest.raises(CompileError, match="an assumption is of values alone"):
        build(reads)
    with pytest.raises(CompileError, match="`assume` does not take these arguments"):
        build(says)


# -- races="none" ---------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def permuted(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    to: int32 @ thread[1] = x[i]
    with partition(y, thread[1], to, races="none") as mine, group(thread[1]):
        mine[0] = i


def test_a_partition_that_is_assumed_to_be_disjoint() -> None:
    assert statuses(permuted) == {("partition", "assumed", "partition `mine`")}
    x, y = np.random.default_rng(0).permutation(64).astype(np.int32), np.zeros(64, np.int32)
    permuted[2, 32](x, y, check=True)
    assert (y[x] == np.arange(64)).all()
    x[40] = x[3]
    with pytest.raises(RaceError):
        permuted[2, 32](x, y, check=True)


def test_what_surely_overlaps_is_refused_all_the_same() -> None:
    @prism("global")
    @requires(grid[1], thread[32])
    def meets(y: ptr(int32) @ grid[1]):
        with partition(y, thread[1], id() // 2, races="none") as mine, group(thread[1]):
            mine[0] = 1

    with pytest.raises(CompileError) as caught:
        build(meets)
    assert caught.value.code == "race"


def test_other_words_are_refused() -> None:
    @prism("global")
    @requires(grid[1], thread[32])
    def never(y: ptr(int32) @ grid[1]):
        with partition(y, thread[1], id(), races="never") as mine, group(thread[1]):
            mine[0] = 1

    with pytest.raises(CompileError, match="races"):
        build(never)
