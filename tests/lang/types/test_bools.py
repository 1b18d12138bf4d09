"""A bool that is read from memory is true where its byte is not 0: an array's bytes are what the caller put there."""
# ruff: noqa: F821 -- template parameters

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.lang import (
    block,
    const,
    grid,
    group,
    id,
    int32,
    load_vector,
    partition,
    ptr,
    requires,
    shared,
    thread,
    vector,
)
from prism.lang.types.structs import struct_of
from prism.runtime.compile import compile_cubin

ODD = np.frombuffer(b"\xff\x02\x00\x01" * 32, bool)
PLAIN = ODD.view(np.uint8) != 0


Flagged = struct_of(np.dtype([("flag", bool), ("number", np.int32)], align=True))


@prism("global")
@requires(grid[1], block[1], thread[128])
def counted(x: ptr(const(bool)) @ grid[1], y: ptr(int32) @ grid[1], z: ptr(bool) @ grid[1]):
    with partition(y, thread[1], id()) as mine, partition(z, thread[1], id()) as copied, group(block[1]):
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            mine[0] = int32(x[t]) + (2 if x[t] else 0) + (4 if x[t] == x[3] else 0)
            copied[0] = x[t]


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_vectors(x: ptr(const(bool)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        word: vector(bool, 4) = load_vector(x[0], 4)
        mine[0] = int32(word[0]) + int32(word[1]) + int32(word[2]) + int32(word[3])


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_structs(x: ptr(const(Flagged)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = int32(x[i].flag) + 10 * x[i].number


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_itself(y: ptr(bool) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        s: shared(bool[32])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as own, group(thread[1]):
            own[0] = t % 2 == 0
        with group(thread[1]):
            mine[0] = s[31 - t]


def test_elements() -> None:
    y, z = np.zeros(128, np.int32), np.zeros(128, bool)
    counted[1, 128](ODD, y, z, check=True)
    assert np.array_equal(y, 3 * PLAIN + 4 * PLAIN)
    assert z.tobytes() == PLAIN.tobytes(), "true is written as 1"


def test_vectors_and_structs() -> None:
    y = np.zeros(32, np.int32)
    by_vectors[1, 32](ODD, y, check=True)
    assert set(y.tolist()) == {3}
    records = np.zeros(32, Flagged.dtype)
    records["flag"].view(np.uint8)[...] = ODD[:32].view(np.uint8)
    records["number"] = np.arange(32)
    by_structs[1, 32](records, y, check=True)
    assert np.array_equal(y, PLAIN[:32] + 10 * np.arange(32))


def test_what_a_kernel_wrote() -> None:
    y = np.zeros(32, bool)
    by_itself[1, 32](y, check=True)
    assert np.array_equal(y, np.arange(32) % 2 == 1)


@pytest.mark.parametrize("kernel", [counted, by_vectors, by_structs, by_itself])
def test_on_a_gpu_the_byte_is_compared(kernel: prism.Kernel) -> None:
    text = prism.compile(kernel, arch="sm_90a").cuda
    assert "px_truth(" in text.split("__global__")[1]
    assert "px_truth(mine" not in text and "px_truth(y[" not in text, "what is written is a place"
    compile_cubin(text, "sm_90a")
