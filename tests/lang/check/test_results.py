"""Results of several values, structs, vectors and tuples, at any perspective (prism/lang/check: signature, tuple_assign)."""

# ruff: noqa: F821 - locals that kernels declare

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES
from prism.lang import (
    CompileError,
    block,
    bool_,
    const,
    float32,
    function,
    grid,
    group,
    id,
    int2,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    struct,
    template,
    thread,
    warp,
    warp_sum,
)
from prism.lang.tree.plan import Barrier


@struct
class Corner:
    row: int32
    column: int32


@prism("device")
@requires(block[1], thread[64])
def tuple_of_block(i: int32 @ block[1], n: int32 @ grid[1]) -> (int32, float32) @ block[1]:
    if i > 5:
        return i, 0
    return i // n, i % n + 0.5


@prism("device")
@requires(block[1], thread[64])
def corner_of_block(i: int32 @ block[1], n: int32 @ grid[1]) -> Corner @ block[1]:
    return i // n, i % n


@prism("device")
@requires(grid[1], thread[1])
def pair_of_grid(n: int32 @ grid[1]) -> int2 @ grid[1]:
    return n + 1, n + 2


@prism("device")
@requires(warp[1])
def sums(value: int32 @ thread[1]) -> (int32, bool_) @ warp[1]:
    total: int32 @ warp[1] = warp_sum(value)
    return total, total > 500


@prism("device")
@requires(thread[1])
def swap(a: int32 @ thread[1], b: int32 @ thread[1]) -> (int32, int32) @ thread[1]:
    return b, a


@prism("device")
@requires(thread[1])
def twice(a: int32 @ thread[1], b: int32 @ thread[1]) -> (int32, int32) @ thread[1]:
    a, b = swap(a, b)
    return swap(a + 1, b)


@prism("global")
@template(PLACE=function)
@requires(grid[1], block[1], thread[64])
def kernel(y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    g: int32 @ grid[1]
    h: int32 @ block[1]
    g, h = pair_of_grid(n)
    b: int32 @ block[1] = id()
    with partition(y, block[1], 512 * b) as y_block, group(block[1]):
        row: int32 @ block[1]
        column: float32 @ thread[1]  # narrower than the result
        row, column = PLACE(b, n)
        trips: int32 = 0
        for _ in range(row):  # all threads of the block agree on it
            trips += 1
        t: int32 @ thread[1] = id()
        total: int32 @ warp[1]
        large: bool_ @ warp[1]
        with group(warp[1]):
            total, large = sums(t)
        u: int32 @ thread[1]
        v: int32 @ thread[1]
        u, v = twice(t, 100)
        with partition(y_block, thread[1], 8 * t) as mine, group(thread[1]):
            mine[0], mine[1], mine[2], mine[3] = row, column, trips, total
            mine[4], mine[5] = 1 if large else 0, g * 100 + h
            mine[6], mine[7] = swap(u, v)


def expected(n: int, blocks: int) -> np.ndarray:
    b, t = np.meshgrid(np.arange(blocks), np.arange(64), indexing="ij")
    total = np.where(t < 32, np.arange(32).sum(), np.arange(32, 64).sum())
    return np.stack([b // n, b % n, b // n, total, total > 500, (n + 1) * 100 + n + 2 + 0 * b, 101 + 0 * t, t], -1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_several_values_at_every_unit(schedule: str) -> None:
    y = np.zeros(4 * 512, np.float32)
    kernel[4, 64](y, 3, template={"PLACE": corner_of_block}, check=True, schedule=schedule)
    assert np.array_equal(y.reshape(4, 64, 8), expected(3, 4))
    kernel[8, 64](y := np.zeros(8 * 512, np.float32), 3, template={"PLACE": tuple_of_block}, check=True)
    wanted = expected(3, 8).astype(np.float32)
    wanted[..., 1] += 0.5
    wanted[6:, :, 0] = wanted[6:, :, 2] = np.arange(6, 8)[:, None]
    wanted[6:, :, 1] = 0
    assert np.array_equal(y.reshape(8, 64, 8), wanted)


def test_the_text_compiles_and_has_no_barrier() -> None:
    program = package.check(kernel, {"PLACE": tuple_of_block})
    assert not any(isinstance(each, Barrier) for each in program.plans[program.entry].barriers)
    assert package.compile(kernel, {"PLACE": tuple_of_block}).cubin


@prism("device")
@requires(block[1], thread[64])
def ends(tile: ptr(const(float32)) @ block[1]) -> (float32, float32) @ block[1]:
    return tile[0], tile[63]


@prism("global")
@requires(grid[1], block[1], thread[64])
def differences(y: ptr(float32) @ grid[1]):
    with partition(y, block[1], 64 * id()) as y_block, group(block[1]):
        t: int32 @ thread[1] = id()
        tile: shared(float32[64])
        first: float32 @ block[1]
        last: float32 @ block[1]
        with partition(tile, thread[1], t) as slot, partition(y_block, thread[1], t) as own, group(thread[1]):
            slot[0] = own[0]
        first, last = ends(tile)
        with partition(y_block, thread[1], t) as mine, group(thread[1]):
            mine[0] = last - first


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_stands_before_a_call_that_reads(schedule: str) -> None:
    y = np.arange(128, dtype=np.float32) ** 2
    wanted = np.repeat(y.reshape(2, 64)[:, 63] - y.reshape(2, 64)[:, 0], 64)
    differences[2, 64](y, check=True, schedule=schedule)
    assert np.array_equal(y, wanted)
    program = package.check(differences)
    assert sum(isinstance(each, Barrier) for each in program.plans[program.entry].barriers) == 1


@prism("device")
@requires(block[1], thread[64])
def largest(x: ptr(const(float32)) @ block[1]) -> float32 @ block[1]:
    return max(x[0], x[1])


@pytest.mark.parametrize("reads", [ends, largest])
def test_memory_that_a_block_agrees_on_must_not_change(reads: Any) -> None:
    """What is loaded once for a block is an operand, of a struct's constructor or of `max`, and no place."""
    assert package.check(reads).entry.trusts == {next(iter(package.check(reads).entry.parameters)).name}


HEAD = """\
from prism.lang import block, group, id, int2, int32, prism, ptr, requires, struct, thread

@struct
class Corner:
    row: int32
    column: int32

@prism("device")
@requires(block[1], thread[1])
def place(n: int32 @ block[1]) -> (int32, int32) @ {unit}:
    t: int32 @ thread[1] = id()
    return n, {value}

@prism("device")
@requires(block[1], thread[1])
def f(n: int32 @ block[1]):
    i: int32 @ block[1]
    j: int32 @ block[1]
    c: Corner @ block[1] = Corner()
    v: int2 @ block[1] = int2()
    {line}
"""


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ({}, ""),
        ({"line": "i, j = c"}, ""),
        ({"line": "i, j = v"}, ""),
        ({"line": "i, c.row = place(n)"}, ""),
        ({"line": "[i, j] = place(n)"}, "an assignment has not a value for each variable"),
        ({"line": "i = place(n)"}, r"expected int32, found \(int32, int32\)"),
        ({"line": "i, nothing = place(n)"}, "`nothing` is assigned, but not declared"),
        ({"line": "i, n = place(n)"}, ""),
        ({"value": "t"}, "write-down"),
        ({"unit": "thread[1]"}, "write-down"),
        ({"unit": "thread[1]", "value": "t"}, "write-down"),
        ({"value": "1.5"}, "int32"),
    ],
)
def test_what_is_refused(facts: dict[str, Any], fault: str, tmp_path: Any) -> None:
    text = HEAD.format(**{"unit": "block[1]", "value": "n + 1", "line": "i, j = place(n)", **facts})
    path = tmp_path / "refused.py"
    path.write_text(text)
    scope: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), scope)
    if not fault:
        package.check(scope["f"])
        return
    with pytest.raises(CompileError, match=fault) as caught:
        package.check(scope["f"])
    assert all(error.code in ("type", "syntax", "name", "write-down") for error in caught.value.errors)
