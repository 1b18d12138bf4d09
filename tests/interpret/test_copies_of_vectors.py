"""Asynchronous copies of memory that holds vectors: `cp_async` by some bytes, bulk copies of a ring's tile and back.

Tests of prism/interpret/regions.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import run
from tests.examples.programs import aligned
from tests.generated.programs import HEAD, loaded

KERNEL = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(x: ptr(const(TYPE)) @ grid[1], y: ptr(TYPE) @ grid[1], z: ptr(TYPE) @ grid[1]):
    with partition(y, block[1], 0) as out, partition(z, block[1], 0) as other, group(block[1]):
        t: int32 @ thread[1] = id()
        s: shared(TYPE[32], align=16)
        with partition(s, thread[1], t) as p, async_(p) as coming, group(thread[1]):
            cp_async(coming[0], x[31 - t], BYTES, valid=BYTES * (t % 2))
        with claim(out, thread[1]) as whole:
            match split(thread):
                case 1:
                    bulk_store(whole[0], s)
        r: shared(TYPE[32], ring=2)
        one_, two = roles(thread, 16, 16)
        with partition(other, thread[1], t) as mine:
            for k in range(3):
                with claim(r, one_) as filled, one(thread):
                    bulk_load(filled, x[0])
                with claim(r, two) as filled:
                    v: TYPE @ thread[1] = filled[(id() + 5) % 32]
                    with group(thread[1]):
                        mine[0] = v
"""
TYPES = {
    "int2": np.int32,
    "float4": np.float32,
    "half8": np.float16,
    "vector(bfloat16, 4)": np.uint16,
    "half2": np.float16,
}
LENGTHS = {"int2": 2, "float4": 4, "half8": 8, "vector(bfloat16, 4)": 4, "half2": 2}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_copies(kind: str, check: bool) -> None:
    """The machine took the bytes of one number for an element's: it copied too much, and found addresses misaligned."""
    length, dtype = LENGTHS[kind], TYPES[kind]
    text = KERNEL.replace("TYPE", kind).replace("BYTES", str(length * np.dtype(dtype).itemsize))
    with loaded(HEAD + text) as names:
        built = prism.check(names["kernel"])
    x, y, z = (aligned(np.zeros(32 * length, dtype)) for _ in range(3))
    x[:] = np.arange(32 * length)
    run(built, 1, 32, [x, y, z], check=check)
    rows = x.reshape(32, length)
    assert np.array_equal(y.reshape(32, length), rows[::-1] * (np.arange(32) % 2).astype(dtype)[:, None])
    assert np.array_equal(z.reshape(32, length)[16:], rows[(np.arange(16) + 5) % 32])
