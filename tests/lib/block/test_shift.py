"""block.offset, rotate, broadcast, shift_up and shift_down, against NumPy; called again and again.

Tests of prism/lib/block: exchange, shift.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import RaceError, run
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
)
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers


@prism("global")
@template(T=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def moved(
    x: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    z: ptr(T) @ grid[1],
    w: ptr(T) @ grid[1],
    distance: int32 @ grid[1],
    source: int32 @ grid[1],
    otherwise: T @ grid[1],
):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, partition(z, thread[1], i) as other, partition(w, thread[1], i) as third:
        with group(block[1]):
            value: T @ thread[1] = x[i]
            far: T @ thread[1] = block.offset(value, distance, otherwise, THREADS=THREADS)
            far = block.offset(far, distance, otherwise, THREADS=THREADS)
            round: T @ thread[1] = block.rotate(value, distance, THREADS=THREADS)
            one: T @ block[1] = block.broadcast(value, source)
            two: T @ block[1] = block.broadcast(far, source)
            with group(thread[1]):
                mine[0] = far
                other[0] = round
                third[0] = one + two


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), WIDTH=constexpr(int), UP=constexpr(bool))
def shifted(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], ends: ptr(T) @ grid[1], n: int32 @ grid[1], edge: T @ grid[1]
):
    i: int32 @ thread[1] = id()
    with partition(ends, thread[1], i) as mine, partition(y, block[1]) as target, group(block[1]):
        items: T[ITEMS] @ thread[1]
        end: T @ block[1] = edge
        block.load(x, items, n, edge, WIDTH=WIDTH, VECTORIZED=False)
        for _ in range(2):
            if UP:
                end = block.shift_up(items, end, WIDTH=WIDTH)
            else:
                end = block.shift_down(items, end, WIDTH=WIDTH)
        block.store(target, items, n, WIDTH=WIDTH, VECTORIZED=False)
        with group(thread[1]):
            mine[0] = end


@pytest.mark.parametrize("threads", [32, 96, 256])
@pytest.mark.parametrize("distance", [0, 1, -1, 31, -33, 300])
def test_values_from_other_threads(threads: int, distance: int) -> None:
    x = np.random.default_rng(0).integers(0, 99, threads, dtype=np.int32)
    source = threads - 1
    far = np.full(threads, -5, np.int32)
    for t in range(threads):
        if 0 <= t + distance < threads and 0 <= t + 2 * distance < threads:
            far[t] = x[t + 2 * distance]
    for schedule, seed in SCHEDULES:
        y, z, w = (np.zeros_like(x) for _ in range(3))
        arguments = (x, y, z, w, distance, source, -5)
        moved[1, threads](*arguments, template={"THREADS": threads}, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, far)
        assert np.array_equal(z, np.roll(x, -distance))
        assert (w == x[source] + far[source]).all()


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("kind", ["int32", "float64", "float16", "uint8"])
@pytest.mark.parametrize(("threads", "items", "width"), [(32, 1, 1), (96, 4, 4), (128, 6, 2)])
def test_shift_twice(threads: int, items: int, width: int, kind: str, up: bool) -> None:
    n = threads * items
    x = np.random.default_rng(0).integers(0, 99, n).astype(kind)
    template = {"ITEMS": items, "WIDTH": width, "UP": up}
    for schedule, seed in SCHEDULES[:3]:
        y, ends = np.zeros_like(x), np.zeros(threads, kind)
        arguments = (x, y, ends, n, np.array(7, kind)[()])
        shifted[1, threads](*arguments, template=template, check=True, schedule=schedule, seed=seed)
        # the end that falls out of the first shift comes in again in the second
        assert np.array_equal(y, [x[-1], 7, *x[:-2]] if up else [*x[2:], 7, x[0]])
        assert (ends == (x[-2] if up else x[1])).all()


def test_each_barrier_is_needed_and_they_compile() -> None:
    template = {"T": "int32", "THREADS": 96}
    program = package.check(moved, template)
    x = np.arange(96, dtype=np.int32)
    mutants = without_barriers(program)
    assert mutants and all(barrier.kind == "block" for barrier, _ in mutants)
    for _, mutant in mutants:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                run(
                    mutant, 1, 96, (x, *(np.zeros_like(x) for _ in range(3)), 40, 50, 0),
                    check=True, schedule=schedule, seed=seed,
                )  # fmt: skip
    assert package.compile(moved, template).cubin
    assert package.compile(shifted, {"T": "float16", "ITEMS": 4, "WIDTH": 4, "UP": True}).cubin
