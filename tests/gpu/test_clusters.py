"""Blocks of a cluster in each other's memory on the GPU: barriers that one warp publishes, late blocks and early ends.

All warps read far memory up to a barrier behind which its owner writes it again, or ends.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.lang import block, c_int, grid, group, id, int32, partition, ptr, requires, shared, template, thread

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

# ruff: noqa: F821 -- names that the kernels declare


@prism.kernel
@requires(grid[1], block["B"], thread["T"])
@template([("B", c_int), ("T", c_int)])
def rounds(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """In each round every block writes its row, and each thread reads of the next block: nobody waits between."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[B]):
        box: shared(int32[B, T])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % T
        v: int32 @ thread[1] = 0
        with group(thread[1]):
            v = mine[0]
        for k in range(n):
            with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
                own[0] = v + k
            with group(thread[1]):
                v = box[(b + 1) % B, (t + 33) % T]
        with group(thread[1]):
            mine[0] = v


@prism.kernel
@requires(grid[1], block["B"], thread["T"])
@template([("B", c_int), ("T", c_int)])
def gives(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Who comes first writes into a block that may not have begun, and all end behind the barrier."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[B]):
        box: shared(int32[B, T])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % T
        with partition(box, thread[1], lambda j: ((b + 1) % B, t + j)) as theirs, group(thread[1]):
            theirs[0] = mine[0] + n
        with group(thread[1]):
            mine[0] = box[b, t]


@prism.kernel
@requires(grid[1], block["B"], thread["T"])
@template([("B", c_int), ("T", c_int)])
def takes(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Each reads of the last block, and ends; the barrier before waits for blocks that have not begun."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[B]):
        box: shared(int32[B, T])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % T
        with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
            own[0] = mine[0] + n
        with group(thread[1]):
            mine[0] = box[B - 1 - b, T - 1 - t]


def expected(kernel, x, n, blocks, threads):
    rows = x.astype(np.int64).reshape(-1, blocks, threads)
    if kernel is rounds:
        for k in range(n):
            rows = np.roll(np.roll(rows + k, -1, axis=1), -33, axis=2)
    elif kernel is gives:
        rows = np.roll(rows + n, 1, axis=1)
    else:
        rows = (rows + n)[:, ::-1, ::-1]
    return rows.astype(np.int32).ravel()


SIZES = [(2, 64), (2, 1024), (4, 256), (8, 96), (8, 512)]
WHICH = {"rounds": rounds, "gives": gives, "takes": takes}


@pytest.mark.parametrize("blocks,threads", SIZES)
@pytest.mark.parametrize("name", WHICH)
def test_many_clusters(name: str, blocks: int, threads: int) -> None:
    kernel, clusters = WHICH[name], 3000 // blocks
    x = np.random.default_rng(blocks * threads).integers(0, 1000, clusters * blocks * threads, np.int32)
    for n in (0, 1, 2, 57):
        given = cupy.asarray(x)
        kernel[clusters * blocks, threads](given, n, template={"B": blocks, "T": threads})
        assert np.array_equal(cupy.asnumpy(given), expected(kernel, x, n, blocks, threads)), n


@pytest.mark.parametrize("name", WHICH)
def test_many_launches(name: str) -> None:
    """Blocks come when others end: one launch behind the other, each with few clusters."""
    kernel, (blocks, threads), clusters = WHICH[name], (8, 128), 20
    x = np.random.default_rng(7).integers(0, 1000, clusters * blocks * threads, np.int32)
    want = x
    given = cupy.asarray(x)
    for n in range(300):
        kernel[clusters * blocks, threads](given, n % 5, template={"B": blocks, "T": threads})
        want = expected(kernel, want, n % 5, blocks, threads)
    assert np.array_equal(cupy.asnumpy(given), want)
