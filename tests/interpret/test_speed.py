"""The reference machine is fast enough to be used: it serves NumPy arrays."""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import prism
from prism.interpret import run
from prism.kernels.scan import Configuration
from prism.lang import (
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
from tests.kernels import test_scan as scans


def seconds(call: Callable[[], Any]) -> float:
    """Return what the second call takes: the first compiles."""
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def test_the_scan() -> None:
    x = np.random.default_rng(0).integers(-1000, 1000, 2**20, dtype=np.int32)
    assert np.array_equal(prism.lib.scan(x), np.cumsum(x, dtype=np.int32))
    assert seconds(lambda: prism.lib.scan(x)) < 2


def test_the_scan_with_all_checks() -> None:
    cut = Configuration(threads=256, items=16, width=4, blocks=1)
    case = scans.ADD
    x, y = case.data(2**16), np.zeros(2**16, np.int32)
    program = scans.program("int32", case.function, False, cut)

    def checked() -> None:
        scratch = scans.Scratch("int32")
        run(
            program,
            4,
            cut.threads,
            (x, y, len(x), 0, -1, False, 0, 0, scratch.words, scratch.capacity, scratch.control),
            check=True,
        )

    assert seconds(checked) < 10
    assert np.array_equal(y, np.cumsum(x, dtype=np.int32))


@prism("global")
@template(N=constexpr(int), D=constexpr(int))
@requires(grid[1], block[1], thread[64])
def weighted(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], tiles: int32 @ grid[1]):
    """As the inside of an attention: all threads read one element of a shared tile after the other."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        tile: shared(float32[N, D])
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for k in range(tiles):
            with partition(tile, thread[1], lambda e: (e // D, e % D)) as mine, group(thread[1]):
                for e in range(t, N * D, 64):
                    mine[e] = x[k * N * D + e]
            with group(thread[1]):
                for r in range(N):
                    for d in range(D):
                        total += (1 + t % 3) * tile[r, d]
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = total


def test_checks_cost_a_few_times_what_the_run_does() -> None:
    """It was 10 to 13 times as much, then 4, and is 2.5; measured in processor time, the least of three runs each."""
    x, y, template = np.ones(2 * 16 * 64, np.float32), np.zeros(64, np.float32), {"N": 16, "D": 64}

    def least(check: bool) -> float:
        times = []
        for _ in range(4):
            start = time.process_time()
            weighted[1, 64](x, y, 2, template=template, check=check)
            times.append(time.process_time() - start)
        return min(times[1:])

    plain, checked = least(False), least(True)
    assert np.array_equal(y, 2 * 16 * 64 * (1 + np.arange(64) % 3))
    assert checked < 4 * plain, (checked, plain)


def test_the_product() -> None:
    a, b = (np.random.default_rng(0).integers(-2, 3, (256, 256)).astype(np.float16) for _ in range(2))
    assert np.array_equal(prism.lib.hgemm(a, b), a.astype(np.float32) @ b.astype(np.float32))
    assert seconds(lambda: prism.lib.hgemm(a, b)) < 5
