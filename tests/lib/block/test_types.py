"""Every scalar type through the collectives, bfloat16 among them: as NumPy arrays of its bits."""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
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
    warp,
)
from prism.lib.thread import operators
from tests.rarely import rarely

KINDS = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


@prism("global")
@template(T=dtype, THREADS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def everything(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, block[1]) as target, partition(z, thread[1], 8 * t) as mine, group(block[1]):
        items: T[4] @ thread[1]
        flags: bool[4] @ thread[1]
        best: T[1] @ block[1]
        block.load_transposed(x, items, n, 0, THREADS=THREADS)
        block.merge_sort(items, THREADS=THREADS, LESS=operators.less)
        block.blocked_to_striped(items, THREADS=THREADS)
        block.striped_to_blocked(items, THREADS=THREADS)
        last: T @ block[1] = block.heads(items, flags, 0, True, WIDTH=4, DIFFERENT=operators.not_equal)
        own: T @ thread[1] = 0
        for k in range(4):
            own = max(own, items[k])
        place: int32 @ block[1] = block.argmax(own, t, best)
        lane: T @ thread[1] = warp.rotate(own, 1)
        far: T @ thread[1] = block.rotate(own, 1, THREADS=THREADS)
        most: T @ block[1] = block.reduce_valid(own, 40, 0, OP=operators.maximum)
        end: T @ block[1] = block.scan_segments(items, flags, 0, 0, WIDTH=4, OP=operators.add, EXCLUSIVE=False)
        block.store_transposed(target, items, n, THREADS=THREADS)
        with group(thread[1]):
            mine[0] = last
            mine[1] = best[0]
            mine[2] = T(place)
            mine[3] = lane
            mine[4] = far
            mine[5] = most
            mine[6] = end


def bits(x: np.ndarray, kind: str) -> np.ndarray:
    """Small whole numbers as an array of a type: exact in each."""
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) if kind == "bfloat16" else x.astype(kind)


def numbers(x: np.ndarray, kind: str) -> np.ndarray:
    return (x.astype(np.uint32) << 16).view(np.float32) if kind == "bfloat16" else x


@pytest.mark.parametrize("kind", KINDS)
def test_small_numbers(kind: str) -> None:
    x = np.random.default_rng(0).integers(0, 60, 64 * 4)
    y, z = bits(np.zeros(256), kind), bits(np.zeros(512), kind)
    everything[1, 64](bits(x, kind), y, z, 256, template={"T": kind, "THREADS": 64}, check=True)
    x.sort()
    heads = np.concatenate([[True], x[1:] != x[:-1]])
    places = np.arange(256) - np.maximum.accumulate(np.where(heads, np.arange(256), 0)) + 1
    # A segment's elements are equal: their running sums are multiples. Those of 8 bits wrap; bfloat16 rounds from 256 on.
    exact = x * places < (256 if kind == "bfloat16" else 128)
    assert np.array_equal(numbers(y, kind)[exact], (x * places)[exact])
    own = x.reshape(64, 4).max(axis=1)
    found = numbers(z, kind).reshape(64, 8)
    assert (found[:, 0] == x[-1]).all() and (found[:, 1] == x[-1]).all()
    assert (found[:, 2] == np.argmax(own)).all()
    assert np.array_equal(found[:, 3], np.roll(own.reshape(2, 32), -1, axis=1).ravel())
    assert np.array_equal(found[:, 4], np.roll(own, -1))
    assert (found[:, 5] == own[:40].max()).all()


@pytest.mark.parametrize("kind", rarely(KINDS, but=list(KINDS)[::3]))
def test_they_compile(kind: str) -> None:
    assert package.compile(everything, {"T": kind, "THREADS": 64}).cubin
