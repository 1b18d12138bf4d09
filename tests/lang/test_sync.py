"""The synchronisation plan: the barriers of LANGUAGE 11's oracles, enough by the reference machine, and each one needed.

Tests of prism/lang/barriers: flow, walk, walk_access, walk_changes, walk_context, walk_state;
prism/lang/facts/touches.py.
"""

# ruff: noqa: B007, F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

import numpy as np
import pytest

from prism.explanation import explain
from prism.interpret import RaceError, run
from prism.lang import (
    CompileError,
    attr,
    block,
    claim,
    const,
    count,
    grid,
    group,
    id,
    int32,
    may_alias,
    partition,
    prism,
    ptr,
    requires,
    shared,
    split,
    thread,
    warp,
)  # fmt: skip
from prism.lang.pipeline import build
from prism.lang.tree import For
from prism.lang.tree.walk import statements

SCHEDULES = [("round-robin", 0), ("random", 1), ("random", 2), ("reversed", 0)]


def found(kernel):
    """The entry's barriers: kind and unit, the line they stand before (from the kernel's first), whether by a back-edge."""
    program = build(kernel)
    start = program.entry.span.line
    return [(b.kind, b.before.span.line - start, b.loop) for b in program.plans[program.entry].barriers]


def kinds(kernel):
    return [kind for kind, _, _ in found(kernel)]


def holds(kernel, *arguments, blocks=1, threads=64, needed=True):
    """Run with all barriers under every schedule; then without each in turn: some schedule finds the race."""
    program = build(kernel)
    for schedule, seed in SCHEDULES:
        run(program, blocks, threads, [*arguments], check=True, schedule=schedule, seed=seed)
    for plan in program.plans.values():
        for barrier in plan.barriers:
            mutant = program.with_plan(plan.drop_step(barrier))
            if needed:
                with pytest.raises(RaceError):
                    for schedule, seed in SCHEDULES:
                        run(mutant, blocks, threads, [*arguments], check=True, schedule=schedule, seed=seed)
    return program


def zeros(n):
    return np.zeros(n, np.int32)


# -- straight lines, branches -----------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def straight(y: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as out:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = u
            a: int32 @ thread[1] = s[0]
            b: int32 @ thread[1] = s[1]
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = a + b
            c: int32 @ thread[1] = s[2]
            with group(thread[1]):
                out[0] = c


def test_w3_reads_need_none_and_writes_do():
    assert found(straight) == [("block", 9, False), ("block", 12, False), ("block", 14, False)]
    holds(straight, zeros(64))


def test_w13_the_end_of_a_kernel_needs_none():
    program = build(straight)
    last = max(b.before.span.line for b in program.plans[program.entry].barriers)
    assert last < program.entry.span.line + 16


@prism("global")
@requires(grid[1], block[1], thread[32])
def branch(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = u
            a: int32 @ thread[1] = s[(u + 1) % 64]
            if n > 0:
                with partition(s, thread[1], offset=u) as mine:
                    with group(thread[1]):
                        mine[0] = a
            b: int32 @ thread[1] = s[(u + 1) % 64]
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = b


def test_w4_after_a_branch_the_barrier_is_at_the_join():
    lines = [line for _, line, _ in found(branch)]
    assert len(lines) == 3 and lines[-1] == 13
    holds(branch, zeros(64), np.int32(1))
    holds(branch, zeros(64), np.int32(0), needed=False)


@prism("global")
@requires(grid[1], block[1], thread[64])
def asked_twice(y: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            r: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            v: int32 @ thread[1] = 0
            k: int32 @ block[1] = n
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = u
            if k > 0:
                with partition(r, thread[1], offset=u) as mine:
                    with group(thread[1]):
                        mine[0] = s[(u + 1) % 64]
                v = v + r[(u + 1) % 64]
            if k > 0:
                with partition(s, thread[1], offset=u) as mine:
                    with group(thread[1]):
                        mine[0] = v
            k = k + m
            if k > 0:
                v = v + s[(u + 1) % 64]
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = v


def test_a_condition_asked_twice_is_taken_both_times_or_not_at_all():
    """The write under the second `if` needs no barrier: the first one had one. What has changed may answer otherwise."""
    assert [line for _, line, _ in found(asked_twice)] == [13, 15, 22]
    for n, m in ((1, 0), (0, 0), (0, 1), (1, -1)):
        holds(asked_twice, zeros(64), np.int32(n), np.int32(m), needed=(n, m) == (1, 0))


@prism("global")
@requires(grid[1], block[1], thread[32])
def blocks_differ(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], lambda i: b * 32 + i) as left:
        with group(block[1]):
            if b > 0:
                with partition(left, thread[1], lambda i: i) as o:
                    with group(thread[1]):
                        o[0] = 1
    with partition(y, block[1], lambda i: (1 - b) * 32 + i) as right:
        with group(block[1]):
            v: int32 @ thread[1] = 0
            if b > 0:
                pass
            else:
                v = right[0]


def test_blocks_may_answer_differently():
    with pytest.raises(CompileError) as caught:
        build(blocks_differ)
    assert caught.value.code in ("grid-sync", "race")


# -- loops ------------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[64])
def pingpong(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            r: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = u
            for k in range(n):
                v: int32 @ thread[1] = s[(u + 1) % 64]
                with partition(r, thread[1], offset=u) as mine:
                    with group(thread[1]):
                        mine[0] = v
                w: int32 @ thread[1] = r[(u + 1) % 64]
                with partition(s, thread[1], offset=u) as mine:
                    with group(thread[1]):
                        mine[0] = w
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = s[0] if False else 1


def test_two_buffers_take_one_barrier_a_step():
    program = holds(pingpong, zeros(64), np.int32(3))
    lines = [b.before.span.line - program.entry.span.line for b in program.plans[program.entry].barriers]
    assert len([line for line in lines if 9 <= line <= 17]) == 2, lines


@prism("global")
@requires(grid[1], block[1], thread[64])
def tiled(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            a: shared(int32[64]) @ block[1]
            b: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            total: int32 @ thread[1] = 0
            for k in range(n):
                with partition(a, thread[1], offset=u) as mine:
                    with group(thread[1]):
                        mine[0] = x[u]
                with partition(b, thread[1], offset=u) as mine:
                    with group(thread[1]):
                        mine[0] = x[u]
                with group(thread[1]):
                    total += a[(u + 1) % 64] * b[(u + 2) % 64]
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = total


def test_a_tiled_product_takes_two_barriers_a_step():
    program = holds(tiled, zeros(64), zeros(64), np.int32(3))
    barriers = program.plans[program.entry].barriers
    assert [(b.kind, b.loop) for b in barriers] == [("block", True), ("block", False)]


@prism("global")
@requires(grid[1], block[1], thread[64])
def hoisted(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = u
            total: int32 @ thread[1] = 0
            for k in range(n):
                for j in range(n):
                    with group(thread[1]):
                        total += s[(u + j) % 64]
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = total


def test_what_only_the_entry_needs_stands_before_the_loops():
    assert found(hoisted) == [("block", 9, False)]
    holds(hoisted, zeros(64), np.int32(3))


@prism("global")
@requires(grid[1], block[1], thread[64])
def same_thread(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[256]) @ block[1]
            u: int32 @ thread[1] = id()
            for k in range(n):
                with partition(s, thread[1], offset=u * 4) as mine:
                    with group(thread[1]):
                        for i in range(4):
                            mine[i] = k
                with partition(s, thread[1], offset=4 * u) as mine:
                    with group(thread[1]):
                        mine[0] = mine[3]
            for k in range(n):
                with partition(out, thread[1], offset=k * count(thread[1]) + u) as o:
                    with group(thread[1]):
                        o[0] = k


def test_the_same_thread_needs_none():
    program = holds(same_thread, zeros(192), np.int32(3))
    assert program.plans[program.entry].barriers == ()


@prism("global")
@requires(grid[1], block[1], thread[64])
def neighbours(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[256]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = u
            v: int32 @ thread[1] = 0
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    if u < 63:
                        v = mine[1]
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = v


def test_one_offset_is_not_one_thread_where_the_indices_reach_the_next():
    assert kinds(neighbours) == ["block"]
    holds(neighbours, zeros(64))


# -- narrower units, claims, arms -------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[96])
def three_warps(y: ptr(int32) @ grid[1]):
    """Write by all; each warp syncs within itself; then everybody reads another warp's element."""
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[96]) @ block[1]
            u: int32 @ thread[1] = id()
            w: int32 @ thread[32] = id()
            v: int32 @ thread[1] = 0
            with partition(s, thread[32], offset=w * 32) as part:
                with group(thread[32]):
                    lane: int32 @ thread[1] = id()
                    with partition(part, thread[1], offset=lane) as mine:
                        with group(thread[1]):
                            mine[0] = lane
                    with group(thread[1]):
                        v = part[(lane + 1) % 32]
            v = v + s[(u + 32) % 96]
            v = v + s[(u + 64) % 96]
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = v


def test_a_warps_barrier_does_not_order_the_block():
    assert kinds(three_warps) == ["warp", "block"]
    holds(three_warps, zeros(96), threads=96)


@prism("global")
@requires(grid[1], block[1], thread[64])
def claimed(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[1]) @ block[1]
            u: int32 @ thread[1] = id()
            v: int32 @ thread[1] = 0
            for k in range(n):
                with claim(s, thread[1]) as own:
                    match split(thread):
                        case 1:
                            own[0] = k
                v = v + s[0]
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = v


def test_w7_t15_a_claim_then_the_block_meets_outside_the_arm():
    assert [kind for kind, _, _ in found(claimed)] == ["block", "block"]
    assert found(claimed)[1][1] == 11
    holds(claimed, zeros(64), np.int32(3))


@prism("global")
@requires(grid[1], block[1], thread[128])
@attr("__launch_bounds__(128)")
def named(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[128]) @ block[1]
            u: int32 @ thread[1] = id()
            p: int32 @ thread[64] = id()
            v: int32 @ thread[1] = 0
            with partition(s, thread[64], offset=p * 64) as half:
                with group(thread[64]):
                    lane: int32 @ thread[1] = id()
                    for k in range(n):
                        with partition(half, thread[1], offset=lane) as mine:
                            with group(thread[1]):
                                mine[0] = k + lane
                        with group(thread[1]):
                            v += half[(lane + 33) % 64]
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = v


def test_w15_whole_warps_take_a_named_barrier():
    assert kinds(named) == ["named", "named"]
    holds(named, zeros(128), np.int32(3), threads=128)


# -- calls ------------------------------------------------------------------------------------------------------------------


@prism("device")
@requires(block[1], thread[64])
def rotate(value: int32 @ thread[1]) -> int32 @ thread[1]:
    scratch: shared(int32[64]) @ block[1]
    u: int32 @ thread[1] = id()
    with partition(scratch, thread[1], offset=u) as mine:
        with group(thread[1]):
            mine[0] = value
    result: int32 @ thread[1] = scratch[(u + 1) % 64]
    return result


@prism("global")
@requires(grid[1], block[1], thread[64], smem=256)  # room for one frame: the calls and `s` take each other's bytes
def twice(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            u: int32 @ thread[1] = id()
            a: int32 @ thread[1] = rotate(u)
            b: int32 @ thread[1] = rotate(a)
            s: shared(int32[64]) @ block[1]
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = b
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = b


def test_w11_bytes_that_are_used_again_are_a_conflict():
    program = build(twice)
    start = program.entry.span.line
    assert [b.before.span.line - start for b in program.plans[program.entry].barriers] in ([5, 7], [5, 8])
    holds(twice, zeros(64))


@prism("device")
@requires(block[1], thread[64])
def shift(a: ptr(const(int32)) @ block[1], b: ptr(int32) @ block[1]):
    u: int32 @ thread[1] = id()
    v: int32 @ thread[1] = a[(u + 1) % 64]
    with partition(b, thread[1], offset=u) as mine:
        with group(thread[1]):
            mine[0] = v


@prism("global")
@requires(grid[1], block[1], thread[64])
def passes(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            r: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = u
            for k in range(n):
                shift(s, r)
                shift(r, s)
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = 1


def test_t10_a_callees_effects_are_the_callers_to_order():
    program = holds(passes, zeros(64), np.int32(2))
    assert [len(p.barriers) for f, p in program.plans.items() if f.name == "shift"] == [0]
    assert len(program.plans[program.entry].barriers) == 2


@prism("device")
@requires(thread[1])
def mirrored(a: ptr(const(int32)) @ block[1], k: int32 @ thread[1]) -> int32 @ thread[1]:
    sum: int32 = 0
    for i in range(k, k + 2):
        sum += a[63 - i % 64]
    return sum


@prism("global")
@requires(grid[1], block[1], thread[64])
def reads(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int32[64]) @ block[1]
        u: int32 @ thread[1] = id()
        for r in range(3):
            with partition(s, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = x[u] + r
            with partition(out, thread[1], offset=u) as o, group(thread[1]):
                o[0] = o[0] + mirrored(s, u) + (s[5] if u > 3 else mirrored(s, 7))


def test_calls_that_only_read_stand_beside_other_accesses():
    """Of one thread, they need no order among them: one barrier before the statement is theirs, one round the loop."""
    program = holds(reads, np.arange(64, dtype=np.int32), zeros(64))
    assert len(program.plans[program.entry].barriers) == 2
    x, y = np.random.default_rng(0).integers(0, 9, 64).astype(np.int32), zeros(64)
    run(program, 1, 64, (x, y), check=True)
    u, both = np.arange(64), lambda k, r: x[63 - k] + x[63 - (k + 1) % 64] + 2 * r
    expected = sum(both(u, r) + np.where(u > 3, x[5] + r, both(7, r)) for r in range(3))
    assert np.array_equal(y, expected)


@prism("global")
@requires(grid[1], block[1], thread[128])
def table_and_warps(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        table: shared(int32[128]) @ block[1]
        own: shared(int32[128]) @ block[1]
        u: int32 @ thread[1] = id()
        with partition(table, thread[1], offset=u) as mine, group(thread[1]):
            mine[0] = x[u]
        sum: int32 @ thread[1] = 0
        for k in range(n):
            with partition(own, warp[1], offset=32 * id()) as part, group(warp[1]):
                lane: int32 @ thread[1] = id()
                with partition(part, thread[1], offset=lane) as mine, group(thread[1]):
                    mine[0] = table[127 - u] + k
                with group(thread[1]):
                    sum += part[31 - lane]
        with partition(out, thread[1], offset=u) as mine, group(thread[1]):
            mine[0] = sum


def test_what_a_loop_needs_once_is_ordered_before_it():
    """All learn of the table before the loop; in it, warps order what is theirs. One of the block would do for both, a trip."""
    n, x = 3, np.arange(128, dtype=np.int32) ** 2
    program = holds(table_and_warps, x, zeros(128), np.int32(n), threads=128)
    (plan,) = program.plans.values()
    loop = next(s for s in statements(program.entry.body) if isinstance(s, For))
    inside = {id(s) for s in statements(loop.body)}
    found = [(b.kind, id(b.before) in inside) for b in plan.barriers]
    assert sorted(found) == [("block", False), ("warp", True), ("warp", True)]
    y, u = zeros(128), np.arange(128)
    run(program, 1, 128, (x, y, n), check=True)
    assert np.array_equal(y, n * x[127 - (u - u % 32 + 31 - u % 32)] + n * (n - 1) // 2)


@prism("device")
@requires(thread[1])
def bumped(a: ptr(int32) @ thread[1]) -> int32 @ thread[1]:
    a[0] += 1
    return a[0]


@prism("device")
@requires(thread[1])
def bumped_below(a: ptr(int32) @ thread[1]) -> int32 @ thread[1]:
    return bumped(a)


@prism("global")
@requires(grid[1], thread[1])
def bumped_twice(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        v: int32 = bumped_below(mine) + mine[0]


def test_calls_that_write_do_not():
    with pytest.raises(CompileError, match="the order of these accesses to memory is not defined"):
        build(bumped_twice)


@prism("global")
@requires(grid[1], block[1], thread[64])
def aliased(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        s: shared(int32[64]) @ block[1]
        u: int32 @ thread[1] = id()
        shift(s, s)


def test_one_object_for_two_parameters_is_refused():
    with pytest.raises(CompileError, match="may_alias") as caught:
        build(aliased)
    assert caught.value.code == "race"


# -- refused ----------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[32])
def again(y: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as out:
        with group(thread[1]):
            out[0] = t
    with partition(y, thread[1], offset=t + 1) as out:
        with group(thread[1]):
            out[0] = t


@prism("global")
@requires(grid[1], block[1], thread[32])
def again_the_same(y: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as out:
        with group(thread[1]):
            out[0] = t
    with partition(y, thread[1], offset=t) as out:
        with group(thread[1]):
            out[0] = out[0] + 1


@prism("global")
@requires(grid[1], block[1], thread[32])
@may_alias("x", "y")
def in_place(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    v: int32 @ thread[1] = x[t + 1]
    with partition(y, thread[1], offset=t) as out:
        with group(thread[1]):
            out[0] = v


@pytest.mark.parametrize("kernel", [again, in_place])
def test_w14_a_conflict_between_blocks_is_refused(kernel):
    with pytest.raises(CompileError, match="grid") as caught:
        build(kernel)
    assert caught.value.code == "grid-sync"


def test_the_same_part_again_is_fine():
    assert found(again_the_same) == []
    holds(again_the_same, zeros(128), blocks=2)


@prism("global")
@requires(grid[1], block[1], thread[32])
def overlapping(y: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as out:
        with group(thread[1]):
            out[0] = t
            out[1] = t


@prism("global")
@requires(grid[1], block[1], thread[32])
def everywhere(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], offset=3) as out:
        with group(thread[1]):
            out[0] = 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def meant(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], offset=3, races="allow") as out:
        with group(thread[1]):
            out[0] = 1


@pytest.mark.parametrize("kernel", [overlapping, everywhere])
def test_parts_that_overlap_are_refused(kernel):
    with pytest.raises(CompileError, match="threads 0 and 1") as caught:
        build(kernel)
    assert caught.value.code == "race"


def test_races_that_are_meant_are_accepted():
    assert found(meant) == []


@prism("global")
@requires(grid[1], block[1], thread[64])
def again_in_its_warp(y: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    for k in range(3):
        with partition(y, warp[1], offset=id() * 32, races="allow") as part, group(warp[1]):
            u: int32 @ thread[1] = id()
            with partition(part, thread[1], offset=(u + k) % 32) as own, group(thread[1]):
                own[0] = t


def test_what_units_may_do_to_each_other_their_own_threads_may_not():
    """Warps' parts may meet; what a warp's threads write into it in one trip and the next is ordered all the same."""
    assert kinds(again_in_its_warp) == ["warp"]
    holds(again_in_its_warp, zeros(64))


@prism("global")
@requires(grid[1], block[1], thread[32])
def filled(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(s, thread[1], offset=0) as mine:
                with group(thread[1]):
                    for i in range(u, 64, 32):
                        mine[i] = i
            with partition(out, thread[1], offset=u) as o:
                with group(thread[1]):
                    o[0] = s[63 - u]


def test_what_follows_a_loop_is_not_in_another_trip_of_it():
    assert [(kind, loop) for kind, _, loop in found(filled)] == [("block", False)]
    assert "in the next trip" not in explain(build(filled)).partition("no further barrier")[0]
    holds(filled, zeros(64), threads=32)


# -- explain ----------------------------------------------------------------------------------------------------------------


def test_explain_shows_what_forces_each_barrier():
    text = explain(build(tiled))
    assert "__syncthreads()" in text and "in the next trip" in text and "2 barriers" in text
    assert "shared memory: 512 bytes" in text


def test_plans_are_the_same_every_time():
    assert explain(build(passes)) == explain(build(passes))


@prism("global")
@requires(grid[1], block[1], thread[64])
def asked_inside(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """The second `n >= 1` is known on some of the ways there, and on others it is not."""
    with partition(y, thread[1], id()) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        s: shared(int32[64])
        total: int32 @ thread[1] = 0
        with partition(s, thread[1], t) as own, group(thread[1]):
            own[0] = t
        if n >= 3:
            if n >= 1:
                with group(thread[1]):
                    total = s[63 - t]
        if n >= 1:
            with partition(s, thread[1], t) as own, group(thread[1]):
                own[0] = total + t
        with group(thread[1]):
            mine[0] = total


@prism("global")
@requires(grid[1], block[1], thread[64])
def asked_outside(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """The same the other way: what was done where nothing is known meets what is done where the condition holds."""
    with partition(y, thread[1], id()) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        s: shared(int32[64])
        total: int32 @ thread[1] = 0
        if n >= 3:
            if n >= 1:
                with group(thread[1]):
                    total = t
        else:
            with partition(s, thread[1], t) as own, group(thread[1]):
                own[0] = t
        if n >= 1:
            if n < 3:
                with group(thread[1]):
                    total = s[63 - t]
        with group(thread[1]):
            mine[0] = total


@pytest.mark.parametrize("kernel", [asked_inside, asked_outside])
def test_a_condition_that_is_known_on_some_ways(kernel):
    assert "block" in kinds(kernel)
    program = build(kernel)
    for n in (0, 1, 3):
        for schedule, seed in SCHEDULES:
            y = np.zeros(64, np.int32)
            run(program, 1, 64, [y, n], check=True, schedule=schedule, seed=seed)
            wanted = {asked_inside: n >= 3, asked_outside: 1 <= n < 3}[kernel]
            assert y.tolist() == (list(range(63, -1, -1)) if wanted else list(range(64)) if n >= 3 else [0] * 64)
