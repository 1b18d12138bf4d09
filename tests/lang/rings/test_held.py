"""prism/lang/rings/stations.py: a role holds a copy over a loop in which others have stations of other rings."""

# ruff: noqa: F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

import numpy as np
import pytest

from prism.interpret import MachineError, run, schedules
from prism.lang import (
    CUtensorMap,
    attr,
    bf16,
    block,
    bulk_load,
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
    warp,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lang.tree.plan import Arrive, Wait
from tests.lang.plans import words


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
@template(Q=constexpr(int), K=constexpr(int), LATE=constexpr(int), TWICE=constexpr(bool))
def scored(
    map_q: const(CUtensorMap(bf16, 64, 16, swizzle=32)) @ grid[1],
    map_k: const(CUtensorMap(bf16, 16, 16, swizzle=32)) @ grid[1],
    c: ptr(float) @ grid[1], tiles: int @ grid[1], n: int @ grid[1],
):  # fmt: skip
    """As persistent attention has it: the consumers hold q's tile while the loader brings k's, tile after tile."""
    with partition(c, block[1], offset=0) as out, group(block[1]):
        q: shared(bf16[64, 16], ring=Q, swizzle=32)
        k: shared(bf16[16, 16], ring=K, swizzle=32)
        consumers, loader = roles(warp, 4, 1)
        scores: fragment(float, 64, 16) @ warpgroup[1]
        for tile in range(tiles):
            with claim(q, loader) as q_in, one(thread):
                tma_load(q_in, map_q[tile * 64, 0])
            with consumers, group(thread[1]):
                for i in range(count(scores)):
                    scores[i] = 0.0
            with claim(q, consumers) as q_now:
                for j in range((n + tile) % 4):
                    with claim(k, loader) as k_in, one(thread):
                        tma_load(k_in, map_k[j * 16, 0])
                    with claim(k, consumers, in_flight=LATE) as k_now, group(warpgroup[1]):
                        wgmma(scores, q_now, k_now)
                if TWICE:
                    with claim(k, loader) as k_in, one(thread):
                        tma_load(k_in, map_k[0, 0])
                    with claim(k, consumers, in_flight=LATE) as k_now, group(warpgroup[1]):
                        wgmma(scores, q_now, k_now)
            t: int @ thread[1] = id()
            with partition(out, thread[1], offset=(tile * 128 + t) * 8) as mine, consumers, group(thread[1]):
                for i in range(count(scores)):
                    mine[i] = scores[i]


def scored_arguments(tiles, n):
    random = np.random.default_rng(n)
    q, k = (random.integers(-3, 4, (rows, 16)).astype(np.float32) for rows in (64 * max(tiles, 1), 64))
    halves = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (q, k)]
    return [*halves, np.zeros(tiles * 128 * 8, np.float32), np.int32(tiles), np.int32(n)], q, k


def scored_wanted(q, k, tiles, n, twice):
    found = np.zeros((tiles, 128, 8), np.float32)
    t, i = np.meshgrid(np.arange(128), np.arange(8), indexing="ij")
    rows, columns = t // 32 * 16 + t % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + t % 4 * 2 + i % 2
    for tile in range(tiles):
        times = np.array([j < (n + tile) % 4 for j in range(4)]) + np.array([twice, 0, 0, 0])
        keys = (times[:, None, None] * k.reshape(4, 16, 16)).sum(0)
        found[tile] = (q[tile * 64 : tile * 64 + 64] @ keys.T)[rows, columns]
    return found.reshape(-1)


@pytest.mark.parametrize(
    ("q", "k", "late", "twice"),
    [(1, 2, 1, False), (2, 2, 0, False), (1, 3, 1, False), (2, 1, 0, True), (1, 2, 1, True)],
)
def test_a_copy_is_held_over_a_loop_with_stations_of_others(q, k, late, twice):
    program = build(scored, {"Q": q, "K": k, "LATE": late, "TWICE": twice})
    steps = [op for op in program.plans[program.entry].operations if isinstance(op, Arrive | Wait) and op.path]
    held = [op for op in steps if isinstance(op, Wait) or not op.drain]
    assert {op.barrier.name: op.barrier.count for op in held} == {"q_filled": 1, "q_read": 4}  # no warp of the loader's
    for tiles, n in ((0, 0), (1, 0), (5, 1)):
        for schedule, seed in schedules(5):
            arguments, left, right = scored_arguments(tiles, n)
            run(program, 1, 256, arguments, check=True, schedule=schedule, seed=seed)
            np.testing.assert_array_equal(
                arguments[2], scored_wanted(left, right, tiles, n, twice), f"{schedule} {seed}"
            )


def survivors(kernel, facts, threads, arguments, schedules_=10):
    """Return what may be left out of a plan, and no schedule tells."""
    program = build(kernel, facts)
    plan = program.plans[program.entry]
    found = []
    for step in (*plan.barriers, *plan.operations):
        try:
            for schedule, seed in schedules(schedules_):
                fresh = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
                mutant = program.with_plan(plan.drop_step(step))
                run(mutant, 1, threads, fresh, check=True, schedule=schedule, seed=seed)
        except MachineError:
            continue
        found.append(words(step))
    return found


@pytest.mark.parametrize(("q", "k", "late"), [(1, 2, 1), (2, 2, 0), (1, 1, 0)])
def test_each_step_of_a_held_copy_is_needed(q, k, late):
    facts = {"Q": q, "K": k, "LATE": late, "TWICE": False}
    # Two would do no harm. What is given back behind the loop would be so in the next tile's first trip. And where each trip
    # waits for its own product, there is none left behind the loop: but what is in a loop is not counted on outside.
    left = ["arrive k_read by warps late 1 drain"] if late else ["pending wgmma 0"]
    assert survivors(scored, facts, 256, scored_arguments(5, 2)[0]) == left


def test_only_its_role_waits_for_a_held_copy():
    program = build(scored, {"Q": 1, "K": 2, "LATE": 1, "TWICE": False})
    users, loader = emit(lower(program)).source.split("// threads 128 to 159")
    assert users.count("px_mbarrier_wait(px_bar_q_filled") == 1
    assert "px_mbarrier_wait(px_bar_q_filled" not in loader and "px_arrive_warp(px_bar_q_read" not in loader
    # It is given back when the last product that reads it has ended, behind the loop.
    behind = users[users.index("wgmma.wait_group.sync.aligned 0") :]
    assert behind.index("px_arrive_warp(px_bar_q_read)") > 0 and "px_wgmma" not in behind


@prism("device")
@template(COPIES=constexpr(int))
@requires(block[1], warp[3])
def added(
    rows: shared(int[64], ring=COPIES) @ block[1], adders: roles(warp, 2), loader: roles(warp, 1),
    x: ptr(const(int)) @ grid[1], parts: int @ grid[1],
) -> int @ thread[1]:  # fmt: skip
    t: int @ thread[1] = id()
    total: int @ thread[1] = 0
    for j in range(parts):
        with claim(rows, loader) as coming, one(thread):
            bulk_load(coming, x[64 * j])
        with claim(rows, adders) as here, group(thread[1]):
            total += here[t]
    return total


@prism("global")
@requires(grid[1], block[1], warp[3])
def weighted(
    w: ptr(const(int)) @ grid[1],
    x: ptr(const(int)) @ grid[1],
    y: ptr(int) @ grid[1],
    tiles: int @ grid[1],
    parts: int @ grid[1],
):
    """Roles are passed to a function inside the claim, and the held copy is used in two arms of its role."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        weights: shared(int[64], ring=2)
        part: shared(int[64], ring=3)
        adders, loader = roles(warp, 2, 1)
        t: int @ thread[1] = id()
        total: int @ thread[1] = 0
        for i in range(tiles):
            with claim(weights, loader) as coming, one(thread):
                bulk_load(coming, w[64 * i])
            with claim(weights, adders) as held:
                sums: int @ thread[1] = added(part, adders, loader, x, parts)
                with adders, group(thread[1]):
                    total += held[t] * sums
                for j in range(parts):
                    with claim(part, loader) as coming, one(thread):
                        bulk_load(coming, x[64 * j])
                    with claim(part, adders) as here, group(thread[1]):
                        total += held[t] * here[t]
        with partition(out, thread[1], t) as mine, adders, group(thread[1]):
            mine[0] = total


def test_a_copy_is_held_over_a_function_with_stations():
    w, x = np.arange(192, dtype=np.int32), np.arange(128, dtype=np.int32)
    program = build(weighted, {})
    for schedule, seed in schedules(8):
        y = np.zeros(64, np.int32)
        run(program, 1, 96, [w, x, y, 3, 2], check=True, schedule=schedule, seed=seed)
        np.testing.assert_array_equal(y, 2 * w.reshape(3, 64).sum(0) * x.reshape(2, 64).sum(0), schedule)
