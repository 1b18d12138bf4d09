"""Programs, cut down, in which generated ones showed a fault of the compiler or the reference machine."""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, run
from prism.runtime.build import entry_of
from tests.examples.programs import aligned
from tests.generated import edge_roles
from tests.generated.programs import HEAD, loaded
from tests.generated.verify import accepted

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
COPIED = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        a: shared(int32[4], ring=1)
        filler, user = roles(thread, 1, 1)
        v: int32 @ thread[1] = 0
        u: int32 @ thread[1] = id()
        for k in range(4):
            with claim(a, filler) as r, partition(r, thread[1], id() * 4) as p, async_(p) as d, group(thread[1]):
                cp_async(d[0], x[4 * k], 16)
            s: shared(int32[32]) @ block[1]
            with partition(s, thread[1], u) as p, async_(p) as d, group(thread[1]):
                cp_async(d[0], x[u], 4)
            with claim(a, user) as r:
                v += r[1]
        with partition(out, thread[1], offset=u) as mine, group(thread[1]):
            mine[0] = v
"""
STORED = """
@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def kernel(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        r: shared(float32[64], ring=2)
        s: shared(float32[64], align=16) @ block[1]
        filler, storer = roles(warp, 1, 1)
        u: int32 @ thread[1] = id()
        for i in range(n):
            with claim(r, filler) as t, one(thread):
                bulk_load(t, x[0])
            with claim(out, thread[1]) as o, claim(r, storer) as t, one(thread):
                bulk_store(o[128 * i], t)
            with partition(s, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = float32(i)
            with claim(out, thread[1]) as o, claim(s, storer) as t, one(thread):
                bulk_store(o[128 * i + 64], t)
"""


def test_stores_beside_those_of_a_ring_are_waited_for() -> None:
    """The wait stands behind the texts of the roles, where the reference machine went on with nobody."""
    with loaded(HEAD + STORED) as names:
        built = prism.check(names["kernel"])
    for schedule in SCHEDULES:
        x, y = aligned(np.arange(64, dtype=np.float32)), aligned(np.zeros(640, np.float32))
        run(built, 1, 64, [x, y, 5], check=True, schedule=schedule)
        assert (y.reshape(5, 2, 64)[:, 0] == x).all()
        assert (y.reshape(5, 2, 64)[:, 1] == np.arange(5)[:, None]).all()


def test_copies_beside_those_of_a_ring_are_committed() -> None:
    """Their group's end was left out, as no ring waits for it; the next copy to the same place does."""
    with loaded(HEAD + COPIED) as names:
        built = prism.check(names["kernel"])
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    for schedule in SCHEDULES:
        run(built, 1, 32, [x, out], check=True, schedule=schedule)
        assert out.tolist() == [0, 1 + 5 + 9 + 13] + [0] * 30


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


POINTER_IN_AN_ARM = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[4]) @ block[1]
        for k in range(n):
            with partition(s, thread[16], lambda i: i * 2 + id()) as part:
                with group(thread[16]):
                    with claim(part, thread[1]) as own:
                        match split(thread):
                            case 1:
                                q: ptr(const(int32)) @ thread[1] = x
                            case 1:
                                own[0] -= n
"""
VECTOR_OF_THE_BLOCK = """
@prism("global")
@requires(grid[1], block[1], thread[2])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, thread[1], id()) as out:
        v: int2 @ grid[1] = int2(n, n + 1)
        with group(thread[1]):
            out[0] = v.x - v.y
"""


def test_an_arm_may_declare_a_pointer_in_a_loop() -> None:
    """What the second arm did in the trip before was taken for the first's."""
    with loaded(HEAD + POINTER_IN_AN_ARM) as names:
        prism.check(names["kernel"])


def test_a_vector_is_no_number_for_each_thread() -> None:
    """A block of two threads took the two components of one vector for two values that differ."""
    with loaded(HEAD + VECTOR_OF_THE_BLOCK) as names:
        built = prism.check(names["kernel"])
    out = np.zeros(2, np.int32)
    run(built, 1, 2, [out, 5], check=True)
    assert out.tolist() == [-1, -1]


COMPONENTS = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], offset=0) as out, group(block[1]):
        s: shared(int4[32]) @ block[1]
        with partition(s, thread[1], id()) as mine, group(thread[1]):
            mine[0] = int4(n, n + 1, n + 2, n + 3)
        v: int32 @ thread[1] = s[5][id() % 4] * 10 + s[6].z
        with partition(out, thread[1], id()) as mine, group(thread[1]):
            mine[0] = v
"""


def test_a_component_of_a_vector_in_memory_has_a_number() -> None:
    with loaded(HEAD + COMPONENTS) as names:
        built = prism.check(names["kernel"])
    out = np.zeros(32, np.int32)
    run(built, 1, 32, [out, 5], check=True)
    assert out.tolist() == [(5 + k % 4) * 10 + 7 for k in range(32)]


STRUCTS_OF_ZERO = """
@struct
class Pair:
    a: int32
    b: float32


@prism("global")
@requires(grid[1], thread[1])
def kernel(y: ptr(Pair) @ grid[1], z: ptr(complex64) @ grid[1]):
    with partition(y, thread[1], id()) as mine, partition(z, thread[1], id()) as other, group(thread[1]):
        p: Pair[2] = {0}
        q: vector(Pair, 2)[2] = {0}
        c: complex64[2] = {0}
        mine[0] = p[1]
        other[0] = c[1] if q[0][1].a == 0 else complex64(1, 1)
"""


@pytest.mark.parametrize("seed", [5_011_896, 9_700_388, 9_700_665])
def test_roles_in_loops_are_not_too_large(seed: int) -> None:
    """Some 60 lines: the same few accesses come round the loops having met other barriers and fences."""
    edge = edge_roles.program(seed)
    with loaded(edge.head + edge.text) as names:
        prism.check(names["kernel"])


def test_an_array_of_structs_may_be_zeroed() -> None:
    """The emitted text assigned the number 0 to a struct: only NVRTC refused it."""
    with loaded(HEAD + STRUCTS_OF_ZERO) as names:
        built = prism.check(names["kernel"])
    assert accepted([entry_of(built, "sm_90a").source]) == {}
    y, z = np.ones(4, names["Pair"]), np.ones(4, np.complex64)
    run(built, 1, 4, [y, z], check=True)
    assert not y["a"].any() and not y["b"].any() and not z.any()
