"""prism/lang/rings/releases.py: copies in flight are given back behind the wait of their own trip, else late."""

# ruff: noqa: F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism.interpret import MachineError, run, schedules
from prism.lang import (
    CUtensorMap,
    attr,
    bf16,
    block,
    claim,
    const,
    constexpr,
    count,
    fragment,
    grid,
    group,
    id,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    template,
    thread,
    tma_load,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.pipeline import build
from prism.lang.tree.plan import Advance, Arrive, Wait, WaitGroup
from tests.lang.plans import words

ALWAYS, SOMETIMES, NEVER, CUT_SHORT, SKEWED = range(5)
"""Where a trip reads what its wgmmas made: in each, under a condition, not at all, behind a way out of the loop; or `skewed`."""


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
@template(K=constexpr(int), V=constexpr(int), USE=constexpr(int))
def attending(
    map_k: const(CUtensorMap(bf16, 64, 16, swizzle=32)) @ grid[1],
    map_v: const(CUtensorMap(bf16, 16, 64, swizzle=128)) @ grid[1],
    c: ptr(float) @ grid[1], n: int @ grid[1],
):  # fmt: skip
    """Two products a trip, as attention has them: k's is used while v's goes on."""
    with partition(c, block[1], offset=0) as out, group(block[1]):
        k: shared(bf16[64, 16], ring=K, swizzle=32)
        other: shared(bf16[16, 16], swizzle=32)
        v: shared(bf16[16, 64], ring=V, swizzle=128)
        weights: shared(bf16[64, 64], swizzle=128)
        consumers, producer = roles(warpgroup, 1, 1)
        scores: fragment(float, 64, 16) @ warpgroup[1]
        sums: fragment(float, 64, 16) @ warpgroup[1]
        t: int @ thread[1] = id()
        with partition(other, thread[1], lambda i: (t % 16, i), races="allow") as mine, group(thread[1]):
            for i in range(16):
                mine[i] = 1.0
        with partition(weights, thread[1], lambda i: (t % 64, i), races="allow") as mine, group(thread[1]):
            for i in range(64):
                mine[i] = 1.0
        total: float @ thread[1] = 0.0
        with consumers, group(thread[1]):
            for i in range(count(sums)):
                sums[i] = 0.0
        for j in range(n):
            with claim(k, producer) as k_in, one(thread):
                tma_load(k_in, map_k[j * 64, 0])
            with claim(v, producer) as v_in, one(thread):
                tma_load(v_in, map_v[0, j * 64])
            with claim(k, consumers, in_flight=1) as k_now, group(warpgroup[1]):
                wgmma(scores, k_now, other, accumulate=False)
            with claim(v, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                wgmma(sums, weights, v_now)
            if USE == CUT_SHORT:
                if j == 3:
                    break
            with consumers:
                if USE == SOMETIMES:
                    if j != 1:
                        with group(thread[1]):
                            total += scores[0]
                elif USE != NEVER:
                    with group(thread[1]):
                        for i in range(count(scores)):
                            total += scores[i]
            with consumers:
                if USE == ALWAYS:
                    with group(thread[1]):
                        for i in range(count(sums)):
                            sums[i] *= 2.0
        with partition(out, thread[1], offset=t * 8) as mine, consumers, group(thread[1]):
            for i in range(count(sums)):
                mine[i] = sums[i] + total


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def skewed(
    map_k: const(CUtensorMap(bf16, 64, 16, swizzle=32)) @ grid[1],
    map_v: const(CUtensorMap(bf16, 16, 64, swizzle=128)) @ grid[1],
    c: ptr(float) @ grid[1], n: int @ grid[1],
):  # fmt: skip
    """k's product of one trip beside v's of the trip before: the loop is split into its first trip, its last, and the others."""
    with partition(c, block[1], offset=0) as out, group(block[1]):
        k: shared(bf16[64, 16], ring=2, swizzle=32)
        other: shared(bf16[16, 16], swizzle=32)
        v: shared(bf16[16, 64], ring=2, swizzle=128)
        weights: shared(bf16[64, 64], swizzle=128)
        consumers, producer = roles(warpgroup, 1, 1)
        scores: fragment(float, 64, 16) @ warpgroup[1]
        sums: fragment(float, 64, 16) @ warpgroup[1]
        t: int @ thread[1] = id()
        with partition(other, thread[1], lambda i: (t % 16, i), races="allow") as mine, group(thread[1]):
            for i in range(16):
                mine[i] = 1.0
        with partition(weights, thread[1], lambda i: (t % 64, i), races="allow") as mine, group(thread[1]):
            for i in range(64):
                mine[i] = 1.0
        total: float @ thread[1] = 0.0
        with consumers, group(thread[1]):
            for i in range(count(sums)):
                sums[i] = 0.0
        for j in range(0, n + 1):
            with claim(k, producer) as k_in, one(thread):
                if j < n:
                    tma_load(k_in, map_k[j * 64, 0])
            with claim(v, producer) as v_in, one(thread):
                if j > 0:
                    tma_load(v_in, map_v[0, (j - 1) * 64])
            with claim(k, consumers, in_flight=1) as k_now, group(warpgroup[1]):
                if j < n:
                    wgmma(scores, k_now, other, accumulate=False)
            with claim(v, consumers, in_flight=1) as v_now, group(warpgroup[1]):
                if j > 0:
                    wgmma(sums, weights, v_now)
            with consumers:
                if j < n:
                    with group(thread[1]):
                        for i in range(count(scores)):
                            total += scores[i]
                    with group(thread[1]):
                        for i in range(count(sums)):
                            sums[i] *= 2.0
        with partition(out, thread[1], offset=t * 8) as mine, consumers, group(thread[1]):
            for i in range(count(sums)):
                mine[i] = 2.0 * sums[i] + total


def program_of(k=2, v=2, use=ALWAYS):
    return build(skewed) if use == SKEWED else build(attending, {"K": k, "V": v, "USE": use})


def arguments_of(n):
    random = np.random.default_rng(n)
    k, v = (random.integers(-3, 4, shape).astype(np.float32) for shape in ((64 * max(n, 1), 16), (16, 64 * max(n, 1))))
    halves = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (k, v)]
    return [*halves, np.zeros(128 * 8, np.float32), np.int32(n)], k, v


def wanted(k, v, n):
    """Return what `attending` makes with each trip's products used."""
    sums = np.zeros(16)
    total = np.zeros(64)
    for j in range(n):
        sums = 2 * (sums + v[:, 64 * j : 64 * j + 64].sum(1))
        total += 4 * k[64 * j : 64 * j + 64].sum(1)  # a thread has four elements of each of its two rows
    found = np.zeros((128, 8))
    for t in range(128):
        rows = t // 32 * 16 + t % 32 // 4
        for i in range(8):
            found[t, i] = sums[i // 4 * 8 + t % 4 * 2 + i % 2] + total[rows] + total[rows + 8]
    return found


def late(program):
    """Return for how many rounds each ring's mbarrier is arrived late."""
    ops = program.plans[program.entry].operations
    return {op.barrier.name: op.delay for op in ops if isinstance(op, Arrive) and not op.drain}


@pytest.mark.parametrize(("k", "v"), [(2, 2), (3, 3), (2, 3), (4, 2)])
def test_copies_are_given_back_behind_the_waits_of_their_trip(k, v):
    program = program_of(k, v)
    # Of rings of different numbers of copies, the wait for the shorter one's readers sees to the other's.
    read = {"k_read" if k <= v else "", "v_read" if v <= k else ""} - {""}
    assert late(program) == {name: 0 for name in (*read, "k_filled", "v_filled")}
    assert not any(isinstance(op, Arrive) and op.drain for op in program.plans[program.entry].operations)
    is_right(program)


def is_right(program):
    for n in (0, 1, 2, 5):
        for schedule, seed in schedules(4):
            arguments, left, right = arguments_of(n)
            run(program, 1, 256, arguments, check=True, schedule=schedule, seed=seed)
            np.testing.assert_array_equal(
                arguments[2].reshape(128, 8), wanted(left, right, n), f"{n}, {schedule} {seed}"
            )


def test_in_the_pieces_of_a_loop_too():
    program = program_of(use=SKEWED)
    plan = program.plans[program.entry]
    assert {op.barrier.name for op in plan.operations if isinstance(op, Arrive)} == {
        "k_read",
        "v_read",
        "k_filled",
        "v_filled",
    }
    assert set(late(program).values()) == {0} and not any(isinstance(op, Arrive) and op.drain for op in plan.operations)
    # The first trip waits for k's product, the others for k's and for v's, the last one for v's, and there is no wait more.
    assert sorted(op.pending for op in plan.operations if isinstance(op, WaitGroup)) == [0, 0, 0, 1]
    is_right(program)
    steps = [op for op in plan.operations if isinstance(op, Arrive | WaitGroup)]
    # At the end of the last trip, behind which nobody fills v again.
    last = [op for op in steps if isinstance(op, Arrive) and op.barrier.name == "v_read" and op.side == "after"]
    assert [op for op in steps if not is_found(program, plan.drop_step(op))] == last


@pytest.mark.parametrize(("use", "k"), [(SOMETIMES, 0), (NEVER, 1), (CUT_SHORT, 1)])
def test_where_no_wait_of_every_trip_ends_them_they_are_given_back_late(use, k):
    # What is used under a condition is waited for before it, in every trip.
    program = program_of(use=use)
    assert {name: late(program)[name] for name in ("k_read", "v_read")} == {"k_read": k, "v_read": 1}
    for n in (0, 1, 6):
        for schedule, seed in schedules(3):
            run(program, 1, 256, arguments_of(n)[0], check=True, schedule=schedule, seed=seed)


def test_the_arrival_stands_right_behind_the_wait_that_ends_its_readers():
    for k, v in ((2, 2), (2, 3)):
        program = program_of(k, v)
        for steps in program.plans[program.entry].before().values():
            for at, step in enumerate(steps):
                if isinstance(step, Arrive):
                    assert isinstance(steps[at - 1], WaitGroup), list(map(words, steps))
                    assert steps[at - 1].pending == {"k_read": 1, "v_read": 0}[step.barrier.name]


def is_found(program, plan, n=5):
    """Whether some schedule tells that a plan is wrong."""
    arguments, left, right = arguments_of(n)
    try:
        for schedule, seed in schedules(10):
            fresh = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            run(program.with_plan(plan), 1, 256, fresh, check=True, schedule=schedule, seed=seed)
    except MachineError:
        return True
    return False


@pytest.mark.parametrize(("k", "v"), [(2, 2), (2, 3)])
def test_an_arrival_that_is_missing_early_or_counted_wrong_is_found(k, v):
    program = program_of(k, v)
    plan = program.plans[program.entry]
    assert not is_found(program, plan)
    early = [op for op in plan.operations if isinstance(op, Arrive) and op.side == "before"]
    assert early
    for op in early:
        assert is_found(program, plan.drop_step(op)), words(op)
        # Before the wait, not behind it: at the statement that issues the product.
        filled = op.barrier.name.replace("read", "filled")
        (product,) = (e for e in plan.operations if isinstance(e, Wait) and e.barrier.name == filled)
        moved = replace(op, at=product.at, side="after")
        others = tuple(moved if one is op else one for one in plan.operations)
        assert is_found(program, replace(plan, operations=others, skewed=None)), words(op)
        wait = next(
            one for one in plan.operations if isinstance(one, WaitGroup) and (one.at, one.side) == (op.at, op.side)
        )
        assert is_found(program, plan.drop_step(wait)), words(wait)
    for op in plan.operations:
        if isinstance(op, Advance):
            assert is_found(program, plan.drop_step(op)), words(op)
