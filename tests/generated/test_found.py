"""Programs, cut down, in which generated ones showed a fault of the compiler or the reference machine."""

from __future__ import annotations

import numpy as np

import prism
from prism.interpret import run
from tests.generated.programs import HEAD, loaded

ARM = """
@prism("global")
@requires(grid[1], block[1], thread[128])
def kernel(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            s: shared(int32[128]) @ block[1]
            u: int32 @ thread[1] = id()
            with partition(s, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = u
            v: int32 @ thread[1] = 0
            with claim(s, thread[96]) as part:
                match split(thread):
                    case 96:
                        with partition(part, thread[1], offset=95 - id()) as mine:
                            with group(thread[1]):
                                mine[0] = 1
                        v = part[id(thread[1])]
            with partition(out, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = v
"""
WARP = """
@prism("global")
@requires(grid[1], block[1], thread[48])
def kernel(y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=0) as out:
        with group(block[1]):
            u: int32 @ thread[1] = id()
            v: int32 @ thread[1] = 0
            match split(thread):
                case 32:
                    v = warp_sum(u)
            with partition(out, thread[1], offset=u) as mine:
                with group(thread[1]):
                    mine[0] = v
"""
UNUSED = """
@prism("device")
@requires(thread[8])
def first(a: int32 @ thread[8], unused: int32 @ thread[1]) -> int32 @ thread[8]:
    return a


@prism("device")
@requires(thread[8])
def kernel(a: int32 @ thread[8], b: int32 @ thread[1]):
    v: int32 @ thread[8] = first(a, b)
"""


def test_a_barrier_of_an_arm_that_does_not_divide_the_block() -> None:
    with loaded(HEAD + ARM) as names:
        built = prism.check(names["kernel"])
    out = np.zeros(128, np.int32)
    run(built, 1, 128, [out], check=True)
    assert out.tolist() == [1] * 96 + [0] * 32


def test_a_warps_collective_in_a_block_of_a_warp_and_a_half() -> None:
    with loaded(HEAD + WARP) as names:
        built = prism.check(names["kernel"])
    out = np.zeros(48, np.int32)
    run(built, 1, 48, [out], check=True)
    assert out.tolist() == [31 * 32 // 2] * 32 + [0] * 16


def test_a_pure_function_keeps_its_declared_result() -> None:
    with loaded(HEAD + UNUSED) as names:
        prism.check(names["kernel"])
