"""Cooperative kernels whose parts move from trip to trip: the barrier of the grid is between the trips. See `Launch`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism.lang import block, count, grid, group, id, int32, partition, prism, ptr, requires, thread
from tests.examples.programs import Launch


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def odd_even(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """Odd-even transposition sort: a thread has a pair of neighbours, and in the next step another pair."""
    i: int32 @ thread[1] = id()
    for k in range(steps):
        with partition(x, thread[1], 2 * i + k % 2) as pair, group(thread[1]):
            if 2 * i + k % 2 + 1 < n:
                if pair[0] > pair[1]:
                    low: int32 = pair[1]
                    pair[1] = pair[0]
                    pair[0] = low


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def rising(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """Each thread adds 1 to the elements from its own on, one a trip."""
    i: int32 @ thread[1] = id()
    for k in range(steps):
        with partition(x, thread[1], i + k) as m, group(thread[1]):
            m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def rising_while(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """The same, by a name that the loop changes."""
    i: int32 @ thread[1] = id()
    k: int32 @ grid[1] = 0
    while k < steps:
        with partition(x, thread[1], i + k) as m, group(thread[1]):
            m[0] += 1
        k += 1


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def nested(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """The same in two loops: the inner one moves the parts, the outer one moves them again."""
    i: int32 @ thread[1] = id()
    for j in range(steps):
        for k in range(2):
            with partition(x, thread[1], i + j + k) as m, group(thread[1]):
                m[0] += 1


@prism("device")
@requires(grid[1], block[1], thread[32], cooperative=True)
def raised(x: ptr(int32) @ grid[1], first: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i + first) as m, group(thread[1]):
        m[0] += 1


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def rising_in_a_function(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    for k in range(steps):
        raised(x, k)


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def handed_on(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """Each part goes from block to block, and each thread of it from thread to thread."""
    b: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    for k in range(steps):
        with partition(x, block[1], 32 * ((b + k) % blocks)) as part, group(block[1]):
            t: int32 @ thread[1] = id()
            with partition(part, thread[1], (t + k) % 32) as m, group(thread[1]):
                m[0] = 3 * m[0] + b


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def two_views(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """Two partitions of one array, and a read of it by its own name."""
    i: int32 @ thread[1] = id()
    sum: int32 @ thread[1] = 0
    for k in range(steps):
        with partition(x, thread[1], i + k) as m, group(thread[1]):
            m[0] += sum
        with partition(x, thread[1], 2 * i + k) as m, group(thread[1]):
            m[0] = 2 * m[0]
        with group(thread[1]):
            sum = x[i // 2]


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def marked(x: ptr(int32) @ grid[1], n: int32 @ grid[1], steps: int32 @ grid[1]):
    """Two threads store one value to each element; a trip later another one, to another element."""
    i: int32 @ thread[1] = id()
    for k in range(steps):
        with partition(x, thread[1], (i + k) // 2, races="allow") as m, group(thread[1]):
            m[0] = k + 1


def model(name: str, x: np.ndarray, blocks: int, steps: int) -> np.ndarray:
    """What a kernel makes of x, for blocks of 32 threads."""
    y, i = x.copy(), np.arange(32 * blocks)
    sums = np.zeros(len(i), np.int32)
    for k in range(steps):
        match name:
            case "nested":
                y[i + k] += 1
                y[i + k + 1] += 1
            case "handed_on":
                part = y[: len(i)].reshape(blocks, 32)
                of = np.arange(blocks)[:, None]
                part[(of[:, 0] + k) % blocks] = 3 * part[(of[:, 0] + k) % blocks] + of
            case "two_views":
                y[i + k] += sums
                y[2 * i + k] *= 2
                sums = y[i // 2]
            case "marked":
                y[(i + k) // 2] = k + 1
            case _:
                y[i + k] += 1
    return y


def sorted_pairs(blocks: int, rest: int = 0) -> Launch:
    """Odd-even transposition sort of 64 elements a block, less a few."""
    n = 64 * blocks - rest
    x = np.random.default_rng(n).integers(-1000, 1000, n, dtype=np.int32)
    return Launch(odd_even, (blocks, 32), (x, np.int32(n), np.int32(n)), {0: np.sort(x)})


KERNELS = (rising, rising_while, nested, rising_in_a_function, handed_on, two_views, marked)


def moved(kernel: Callable[..., None], blocks: int, steps: int) -> Launch:
    """One of the kernels whose results `model` knows."""
    n = 64 * blocks + 2 * steps
    x = np.random.default_rng(n).integers(-5, 5, n, dtype=np.int32)
    expected = model(kernel.__name__, x, blocks, steps)
    return Launch(kernel, (blocks, 32), (x, np.int32(n), np.int32(steps)), {0: expected})  # type: ignore[arg-type]
