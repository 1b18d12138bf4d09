"""A whole kernel: tiles scanned in registers and shared memory, joined by mailboxes; on every schedule, checked and not."""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import time

import numpy as np
import pytest

from prism.interpret import DeadlockError, run
from prism.lang import (
    block,
    const,
    constexpr,
    device,
    grid,
    group,
    id,
    int32,
    mailbox,
    partition,
    prism,
    ptr,
    publish,
    receive,
    requires,
    shared,
    shuffle_up,
    template,
    thread,
    uint32,
)  # fmt: skip


@device
@requires(thread[32])
def warp_scan(value: int32 @ thread[1]) -> int32 @ thread[1]:
    lane: int32 @ thread[1] = id()
    total: int32 @ thread[1] = value
    for k in range(5):
        other: int32 @ thread[1] = shuffle_up(total, 1 << k)
        with group(thread[1]):
            if lane >= (1 << k):
                total += other
    return total


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(ITEMS=constexpr(int))
def scan(
    x: ptr(const(int32)) @ grid[1],
    y: ptr(int32) @ grid[1],
    boxes: ptr(mailbox(int32)) @ grid[1],
    n: int32 @ grid[1],
    threads: int32 @ grid[1],
    epoch: uint32 @ grid[1],
):
    b: int32 @ block[1] = id()
    g: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=g * ITEMS) as out:
        with partition(boxes, block[1], offset=0) as box:
            with group(block[1]):
                sums: shared(int32[33]) @ block[1]
                items: int32[ITEMS] @ thread[1]
                t: int32 @ thread[1] = id()
                w: int32 @ thread[32] = id()
                total: int32 @ thread[1] = 0
                with group(thread[1]):
                    for i in range(ITEMS):
                        at: int32 @ thread[1] = g * ITEMS + i
                        items[i] = x[at] if at < n else 0
                        total += items[i]
                inclusive: int32 @ thread[1] = 0
                with group(thread[32]):
                    inclusive = warp_scan(total)
                with partition(sums, thread[1], offset=w) as mine:
                    with group(thread[1]):
                        if t % 32 == 31:
                            mine[0] = inclusive
                base: int32 @ thread[1] = inclusive - total
                with group(thread[1]):
                    for k in range(threads // 32):
                        if k < w:
                            base += sums[k]
                whole: int32 @ block[1] = 0
                for k in range(threads // 32):
                    whole += sums[k]
                previous: int32[1] @ thread[1]
                with partition(box, thread[1], offset=0) as slot:
                    with group(thread[1]):
                        receive(slot[b - 1 if b > 0 else 0], previous, 1, 1 if b > 0 else 0, 0, epoch)
                        if t == 0:
                            publish(slot[b], whole + previous[0], epoch)
                with group(thread[1]):
                    running: int32 @ thread[1] = base + previous[0]
                    for i in range(ITEMS):
                        running += items[i]
                        if g * ITEMS + i < n:
                            out[i] = running


BARRIER = {"base: int32": block[1]}


def compare(program, n, threads, items, blocks=None, **options):
    blocks = blocks or -(-n // (threads * items))
    rng = np.random.default_rng(1)
    x = rng.integers(-(2**20), 2**20, n, np.int32)
    y = np.zeros(n, np.int32)
    boxes = np.zeros(blocks, np.uint64)
    run(program, blocks, threads, [x, y, boxes, n, threads, 7], **options)
    assert np.array_equal(y, np.cumsum(x, dtype=np.int32))


@pytest.mark.parametrize("schedule", ["round-robin", "random", "reversed"])
@pytest.mark.parametrize("check", [False, True])
def test_scan(program, schedule, check):
    compare(program(scan, BARRIER, ITEMS=3), 700, 64, 3, check=check, schedule=schedule)


def test_scan_is_fast(program):
    built = program(scan, BARRIER, ITEMS=32)
    start = time.perf_counter()
    compare(built, 2**20, 1024, 32)
    elapsed = time.perf_counter() - start
    print(f"2^20 in {elapsed:.3f} s")
    assert elapsed < 5


def test_one_resident_block_can_deadlock(program):
    with pytest.raises(DeadlockError) as caught:
        compare(program(scan, BARRIER, ITEMS=1), 128, 64, 1, check=True, schedule="reversed", resident=1)
    assert "receive" in str(caught.value)
    assert caught.value.block == 1
