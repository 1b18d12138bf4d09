"""Rings: each operation of the plan, where it stands, and its counts, spelled out by hand; and what is refused.

Tests of prism/lang/rings: cycles, loads, stations, visits, waits.
"""

# ruff: noqa: F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

import pytest

from prism.lang import (
    CUtensorMap,
    async_,
    atomic_add,
    attr,
    bf16,
    block,
    bulk_load,
    bulk_store,
    claim,
    const,
    constexpr,
    count,
    cp_async,
    fragment,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    set_registers,
    shared,
    split,
    template,
    thread,
    tma_load,
    warp,
    warpgroup,
    wgmma,
)  # fmt: skip
from prism.lang.pipeline import build
from prism.lang.types.perspective import Level, Perspective
from tests.lang.plans import barriers, told

# -- the target program -----------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
@template(BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int), LATE=constexpr(int))
def hgemm(
    map_a: const(CUtensorMap(bf16, BM, BK, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(bf16, BN, BK, swizzle=128)) @ grid[1],
    c: ptr(bf16) @ grid[1], m: int @ grid[1], n: int @ grid[1], k: int @ grid[1],
):  # fmt: skip
    with partition(c, block[1], offset=0, races="allow") as c_block, group(block[1]):
        a: shared(bf16[BM, BK], ring=STAGES, swizzle=128)
        b: shared(bf16[BN, BK], ring=STAGES, swizzle=128)
        acc: fragment(float, 64, BN) @ warpgroup[1]
        consumers, producer = roles(warpgroup, 2, 1)
        row: int @ block[1] = 0
        with producer:
            set_registers(40)
        with consumers:
            set_registers(232)
        for kk in range(0, k // BK):
            with claim(a, producer) as sa, claim(b, producer) as sb:
                with one(thread):
                    tma_load(sa, map_a[row * BM, kk * BK])
                    tma_load(sb, map_b[row * BN, kk * BK])
            with claim(a, consumers, in_flight=LATE) as sa, claim(b, consumers, in_flight=LATE) as sb:
                w: int @ warpgroup[1] = id()
                with group(warpgroup[1]):
                    wgmma(acc, sa[64 * w, 0], sb, accumulate=kk > 0)
        t: int @ thread[1] = id()
        with partition(c_block, thread[1], offset=t * (BN // 2)) as mine:
            with consumers, group(warpgroup[1]), group(thread[1]):
                for i in range(0, count(acc)):
                    mine[i] = bf16(acc[i])


TILES = {"BM": 128, "BN": 256, "BK": 64}


def test_the_target_program():
    assert told(hgemm, **TILES, STAGES=4, LATE=0) == [
        "18 < wait a_b_read of the last lap",
        "18 < expect a_b_filled 16384",
        "19 < expect a_b_filled 32768",
        "19 > arrive a_b_filled",
        "20 > advance a_b",
        "23 < wait a_b_filled",
        "23 < registers",
        "23 > commit wgmma",
        "23 > pending wgmma 0",
        "23 > arrive a_b_read by warps",
    ]
    assert barriers(hgemm, **TILES, STAGES=4, LATE=0) == ["a_b_filled[4] 1", "a_b_read[4] 8"]


@pytest.mark.parametrize("late", [1, 2])
def test_in_flight_the_release_comes_later_and_is_drained(late):
    assert told(hgemm, **TILES, STAGES=4, LATE=late) == [
        "15 > pending wgmma 0",
        f"15 > arrive a_b_read by warps late {late} drain",
        "18 < wait a_b_read of the last lap",
        "18 < expect a_b_filled 16384",
        "19 < expect a_b_filled 32768",
        "19 > arrive a_b_filled",
        "20 > advance a_b",
        "23 < wait a_b_filled",
        "23 < registers",
        "23 > commit wgmma",
        f"23 > pending wgmma {late}",
        f"23 > arrive a_b_read by warps late {late}",
    ]


def test_the_drain_is_the_consumers_alone():
    program = build(hgemm, {**TILES, "STAGES": 4, "LATE": 1})
    paths = [op.path for op in program.plans[program.entry].operations if op.path]
    assert paths == [((Level.THREAD, 0, 256), Perspective(Level.THREAD, 128))] * 2


def test_the_target_programs_shared_memory():
    program = build(hgemm, {**TILES, "STAGES": 3, "LATE": 0})
    layout = program.layouts[program.entry]
    assert {ring.name: (at, layout.strides[ring]) for ring, at in layout.offsets.items()} == {
        "a": (0, 16384),
        "b": (49152, 32768),
    }
    assert [(barrier.name, at) for barrier, at in layout.mbarriers.items()] == [
        ("a_b_filled", 147456),
        ("a_b_read", 147480),
    ]
    assert layout.bytes == 147504


@prism("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
def persistent(
    map_a: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1],
    c: ptr(float) @ grid[1], tiles: int @ grid[1], k: int @ grid[1],
):  # fmt: skip
    with partition(c, block[1], offset=0, races="allow") as c_block, group(block[1]):
        a: shared(bf16[64, 64], ring=3, swizzle=128)
        b: shared(bf16[64, 64], ring=3, swizzle=128)
        consumers, rest, producer = roles(warpgroup, 1, 1, 1)
        acc: fragment(float, 64, 64) @ warpgroup[1]
        for tile in range(tiles):
            for kk in range(k):
                with claim(a, producer) as sa, one(thread):
                    tma_load(sa, map_a[tile * 64, kk * 64])
                with claim(b, producer) as sb, one(thread):
                    tma_load(sb, map_b[tile * 64, kk * 64])
                with claim(a, consumers, in_flight=1) as sa, claim(b, consumers, in_flight=2) as sb:
                    wgmma(acc, sa, sb, accumulate=kk > 0)
            t: int @ thread[1] = id()
            with partition(c_block, thread[1], offset=t * 32) as mine:
                with consumers, group(thread[1]):
                    for i in range(0, count(acc)):
                        mine[i] = acc[i]


def test_rings_over_an_outer_loop_count_on_and_drain_behind_the_inner_one():
    assert told(persistent) == [
        "11 > pending wgmma 0",
        "11 > arrive a_b_read by warps late 1 drain",
        "13 < wait a_b_read of the last lap",
        "13 < expect a_filled 8192",
        "13 > arrive a_filled",
        "15 < expect b_filled 8192",
        "15 > arrive b_filled",
        "16 > advance a_b",
        "17 < wait a_filled",
        "17 < wait b_filled",
        "17 < registers",
        "17 > commit wgmma",
        "17 > pending wgmma 1",
        "17 > arrive a_b_read by warps late 1",
    ]
    assert barriers(persistent) == ["a_filled[3] 1", "b_filled[3] 1", "a_b_read[3] 4"]


# -- hand-offs --------------------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(288, 1)")
@requires(grid[1], block[1], thread[288])
def handed(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(int32[4], ring=2)
        u: int @ thread[1] = id()
        v: int32 @ thread[1] = 0
        for i in range(n):
            with claim(s, thread[1]) as own:
                match split(thread):
                    case 256:
                        pass
                    case 32:
                        match split(thread):
                            case 1:
                                address: int = 4 * i
                                own[0] = x[address]
                                own[1] = x[address + 1]
                                address = 0
            with claim(s, thread[256]) as seen:
                match split(thread):
                    case 256:
                        with group(thread[1]):
                            at: int = u % 2
                            v += seen[at]
                            v += 1
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_w8_w9_a_handoff_between_arms():
    assert told(handed) == [
        "14 < wait s_read of the last lap",
        "15 > arrive s_filled",
        "17 > advance s",
        "22 < wait s_filled",
        "22 > arrive s_read by warps",
    ]
    assert barriers(handed) == ["s_filled[2] 1", "s_read[2] 8"]


@prism("global")
@requires(grid[1], block[1], thread[64])
@template(COPIES=constexpr(int))
def everybody(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(int32[64], ring=COPIES)
        u: int @ thread[1] = id()
        v: int32 @ thread[1] = 0
        for i in range(n):
            with partition(s, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = x[i] + u
            with partition(s, block[1]) as seen:
                v = v + seen[(u + 1) % 64]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_a_station_of_all_threads_waits_for_itself_and_is_no_block_barrier():
    assert told(everybody, COPIES=1) == [
        "7 < wait s_read of the last lap",
        "7 > arrive s_filled by warps",
        "8 > advance s",
        "9 < wait s_filled",
        "9 > arrive s_read by warps",
    ]
    assert barriers(everybody, COPIES=1) == ["s_filled[1] 1 per 32 threads", "s_read[1] 1 per 32 threads"]


def test_with_two_copies_the_visits_between_have_seen_to_the_last_laps_readers():
    assert told(everybody, COPIES=2) == ["7 > arrive s_filled by warps", "8 > advance s", "9 < wait s_filled"]
    assert barriers(everybody, COPIES=2) == ["s_filled[2] 1 per 32 threads"]


@prism("global")
@requires(grid[1], block[1], thread[16])
def halves(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(int32[64], ring=2)
        left, right = roles(thread, 8, 8)
        u: int @ thread[1] = id()
        v: int32 @ thread[1] = 0
        for i in range(n):
            with claim(s, left) as own, claim(own, thread[1]) as mine, one(thread):
                mine[0] = x[i]
            with claim(s, right) as seen, group(thread[1]):
                v += seen[0]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_parts_of_warps_arrive_thread_by_thread():
    assert barriers(halves) == ["s_filled[2] 1", "s_read[2] 8"]
    assert told(halves)[-2:] == ["10 < wait s_filled", "10 > arrive s_read"]


# -- own parts, several readers ---------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(288, 1)")
@requires(grid[1], block[1], thread[288])
def scanned(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], counter: ptr(int) @ grid[1], tiles: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        number: shared(int[4], ring=2)
        tile: shared(float[1024], ring=3)
        scanners, producer = roles(warp, 8, 1)
        drawn: int @ block[1] = 0
        while True:
            with claim(number, producer) as all_of, claim(all_of, thread[1]) as n, one(thread):
                n[0] = atomic_add(counter[0], 1)
            with partition(number, block[1]) as n:
                drawn = n[0]
            if drawn >= tiles:
                break
            with claim(tile, producer) as t, one(thread):
                if drawn >= 0:
                    bulk_load(t, x[drawn * 1024])
            total: float @ thread[1] = 0.0
            with claim(tile, scanners) as t:
                u: int @ thread[1] = id()
                with partition(t, thread[1], offset=4 * u) as mine, group(thread[1]):
                    for i in range(4):
                        total += mine[i]
            with claim(tile, scanners) as t:
                u: int @ thread[1] = id()
                with partition(t, thread[1], offset=4 * u) as mine, group(thread[1]):
                    for i in range(4):
                        mine[i] = mine[i] + total
            with claim(out, thread[1]) as o, claim(tile, producer) as t, one(thread):
                bulk_store(o[drawn * 1024], t, disjoint=True)


def test_the_scans_four_stations():
    """Read, then written in place, by the same threads at the same elements: nothing between. Copied in and out by one thread.

    Nobody waits for those who have read the number: with two copies, all but the producer's warp have said so by its tile.
    """
    assert told(scanned) == [
        "7 < warp thread[32]",
        "8 > arrive number_filled",
        "9 > advance number",
        "10 < wait number_filled",
        "14 > arrive tile_filled",
        "15 < expect tile_filled 4096",
        "20 < wait tile_filled",
        "25 > fence",
        "25 > arrive tile_filled_2 by warps",
        "27 > advance tile",
        "28 < wait tile_filled_2",
        "28 > commit bulk",
        "28 > pending bulk 0 read",
    ]
    assert barriers(scanned) == ["number_filled[2] 1", "tile_filled[3] 1", "tile_filled_2[3] 8"]


@prism("global")
@attr("__launch_bounds__(128, 1)")
@requires(grid[1], block[1], warp[4])
def readers(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[32], ring=4)
        left, right, third, producer = roles(warp, 1, 1, 1, 1)
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        for i in range(n):
            with claim(s, producer) as t, one(thread):
                bulk_load(t, x[i * 32])
            with claim(s, left) as t, group(thread[1]):
                v += t[0]
            with claim(s, right) as t, group(thread[1]):
                v += t[1]
            with claim(s, left) as t, group(thread[1]):
                v += t[2]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_the_writer_waits_for_all_readers_since_and_who_has_waited_does_not_wait_again():
    assert told(readers) == [
        "8 < wait s_read of the last lap",
        "8 < wait s_read_2 of the last lap",
        "8 < expect s_filled 128",
        "8 > arrive s_filled",
        "10 < wait s_filled",
        "12 < wait s_filled",
        "12 > fence",
        "12 > arrive s_read by warps",
        "13 > advance s",
        "14 > fence",
        "14 > arrive s_read_2 by warps",
    ]
    assert barriers(readers) == ["s_filled[4] 1", "s_read[4] 1", "s_read_2[4] 1"]


# -- what a station holds ---------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def converted(
    x: ptr(const(bf16)) @ grid[1], b_map: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1], n: int @ grid[1]
):
    with group(block[1]):
        a: shared(bf16[64, 64], ring=2, swizzle=128)
        b: shared(bf16[64, 64], ring=2, swizzle=128)
        consumers, producer = roles(warpgroup, 1, 1)
        acc: fragment(float, 64, 64) @ warpgroup[1]
        for i in range(n):
            with claim(b, producer) as sb, one(thread):
                tma_load(sb, b_map[0, i * 64])
            with claim(a, consumers) as sa, claim(b, consumers) as sb:
                u: int @ thread[1] = id()
                with partition(sa, thread[1], lambda r, c: (r + u // 2, c + u % 2 * 32)) as mine, group(thread[1]):
                    for j in range(32):
                        mine[0, j] = x[32 * u + j]
                wgmma(acc, sa, sb, accumulate=i > 0)


def test_conflicts_inside_a_visit_have_barriers_of_its_threads():
    """The consumers fill `a` themselves: a fence and a barrier of theirs before the tensor cores read it.

    That barrier tells them, too, that the other copy has been read: they have waited for their own products before it.
    """
    assert told(converted) == [
        "10 < wait a_b_filled of the last lap",
        "10 < expect b_filled 8192",
        "10 > arrive b_filled",
        "11 > advance b_a",
        "16 < fence",
        "16 < named thread[128]",
        "16 < wait b_filled",
        "16 < registers",
        "16 > commit wgmma",
        "16 > pending wgmma 0",
        "16 > arrive a_b_filled by warps",
    ]
    assert barriers(converted) == ["b_filled[2] 1", "a_b_filled[2] 4"]


@prism("global")
@attr("__launch_bounds__(160, 1)")
@requires(grid[1], block[1], thread[160])
def copied(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[128], ring=3)
        readers_, writers_ = roles(warp, 4, 1)
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        for i in range(n):
            with claim(s, writers_) as t:
                w: int @ thread[1] = id()
                with partition(t, thread[1], offset=4 * w) as mine, group(thread[1]):
                    cp_async(mine[0], x[128 * i + 4 * w])
            with claim(s, readers_) as t, group(thread[1]):
                v += t[u]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_cp_async_arrives_when_the_copies_have_come_in():
    assert told(copied) == [
        "10 < wait s_read of the last lap",
        "10 > arrive s_filled with copies",
        "11 > advance s",
        "12 < wait s_filled",
        "12 > arrive s_read by warps",
    ]
    assert barriers(copied) == ["s_filled[3] 32", "s_read[3] 4"]


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def copied_for_wgmma(x: ptr(const(bf16)) @ grid[1], n: int @ grid[1]):
    with group(block[1]):
        a: shared(bf16[64, 64], ring=2, swizzle=128)
        consumers, producer = roles(warpgroup, 1, 1)
        acc: fragment(float, 64, 64) @ warpgroup[1]
        for i in range(n):
            with claim(a, producer) as sa:
                u: int @ thread[1] = id()
                with (
                    async_(sa) as d,
                    partition(d, thread[1], lambda r, c: (r + u // 2, c + u % 2 * 32)) as mine,
                    group(thread[1]),
                ):
                    for j in range(4):
                        cp_async(mine[0, 8 * j], x[i * 4096 + u * 32 + 8 * j])
            with claim(a, consumers) as sa:
                wgmma(acc, sa, sa, accumulate=i > 0)


def test_cp_async_before_the_tensor_cores_is_waited_for_and_fenced():
    assert told(copied_for_wgmma) == [
        "13 < wait a_read of the last lap",
        "13 > commit cp_async",
        "13 > pending cp_async 0",
        "13 > fence",
        "13 > arrive a_filled by warps",
        "15 > advance a",
        "16 < wait a_filled",
        "16 < registers",
        "16 > commit wgmma",
        "16 > pending wgmma 0",
        "16 > arrive a_read by warps",
    ]
    assert barriers(copied_for_wgmma) == ["a_filled[2] 4", "a_read[2] 4"]


@prism("global")
@attr("__launch_bounds__(160, 1)")
@requires(grid[1], block[1], thread[160])
def stored(y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[128], ring=3)
        workers, storer = roles(warp, 4, 1)
        with claim(out, thread[1]) as o:
            for i in range(n):
                for j in range(n):
                    with claim(s, workers) as t:
                        u: int @ thread[1] = id()
                        with partition(t, thread[1], offset=u) as mine, group(thread[1]):
                            mine[0] = 1.0
                    with claim(s, storer, in_flight=2) as t, one(thread):
                        bulk_store(o[128 * (n * i + j)], t, n=64)
                        bulk_store(o[128 * (n * i + j) + 64], t[64], n=64)


def test_bulk_stores_in_flight_count_two_groups_a_visit():
    assert told(stored) == [
        "6 > pending bulk 0 read",
        "6 > arrive s_read late 2 drain",
        "10 < wait s_read of the last lap",
        "10 > fence",
        "10 > arrive s_filled by warps",
        "11 > advance s",
        "12 < wait s_filled",
        "12 > commit bulk",
        "13 > commit bulk",
        "13 > pending bulk 4 read",
        "13 > arrive s_read late 2",
    ]
    assert barriers(stored) == ["s_filled[3] 4", "s_read[3] 1"]


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(grid[1], block[1], warp[2])
def stepped(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[32], ring=2)
        r: shared(float[32], ring=2)
        q: shared(float[32], ring=3)
        reader, loader = roles(warp, 1, 1)
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        for i in range(n):
            with claim(s, loader) as t, one(thread):
                bulk_load(t, x[i * 32])
            with claim(s, reader) as t, group(thread[1]):
                v += t[0]
            if i == 7:
                continue
            with claim(r, loader) as t, claim(q, loader) as w, one(thread):
                bulk_load(t, x[i * 32])
                bulk_load(w, x[i * 32])
            with claim(r, reader) as t, claim(q, reader) as w, group(thread[1]):
                v += t[0] + w[0]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_a_jump_between_rounds_parts_cycles_and_so_do_different_copies():
    program = build(stepped)
    cycles = program.plans[program.entry].cycles
    assert [(cycle.name, cycle.copies) for cycle in cycles] == [("s", 2), ("r", 2), ("q", 3)]
    assert [line for line in told(stepped) if "advance" in line] == [
        "11 > advance s",
        "18 > advance r",
        "18 > advance q",
    ]


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[2], warpgroup[2])
def spread(
    x: const(CUtensorMap(bf16, 32, 64, swizzle=128)) @ grid[1], z: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1],
    n: int @ grid[1],
):  # fmt: skip
    with group(block[2]):
        r: int @ block[1] = id()
        with group(block[1]):
            a: shared(bf16[64, 64], ring=2, swizzle=128)
            b: shared(bf16[64, 64], ring=2, swizzle=128)
            acc: fragment(float, 64, 64) @ warpgroup[1]
            consumer, loader = roles(warpgroup, 1, 1)
            for i in range(n):
                with claim(a, loader) as sa, claim(b, loader) as sb, one(thread):
                    tma_load(sa, z[64 * r, i * 64])
                    tma_load(sb[32 * r, 0], x[32 * r, i * 64], multicast=0b11)
                with claim(a, consumer) as sa, claim(b, consumer) as sb:
                    wgmma(acc, sa, sb)


def test_a_multicast_counts_the_bytes_and_the_readers_of_all_blocks():
    assert told(spread) == [
        "13 < wait a_b_read of the last lap",
        "13 < expect a_b_filled 8192",
        "14 < expect a_b_filled 8192",
        "14 > arrive a_b_filled",
        "15 > advance a_b",
        "16 < wait a_b_filled",
        "16 < registers",
        "16 > commit wgmma",
        "16 > pending wgmma 0",
        "16 > arrive a_b_read by warps",
    ]
    assert barriers(spread) == ["a_b_filled[2] 1", "a_b_read[2] 8 of blocks 0b11"]


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(grid[1], block[1], warp[2])
def in_place(x: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(x, block[1], offset=0) as part, group(block[1]):
        s: shared(float[32], ring=2)
        adding, copying = roles(warp, 1, 1)
        u: int @ thread[1] = id()
        for i in range(n):
            with partition(part, block[1], offset=32 * i) as here:
                with claim(s, copying) as t, one(thread):
                    bulk_load(t, here[0])
                with claim(s, adding) as t:
                    lane: int @ thread[1] = id()
                    with partition(t, thread[1], offset=lane) as mine, group(thread[1]):
                        mine[0] = mine[0] + 1.0
                with claim(here, thread[1]) as o, claim(s, copying) as t, one(thread):
                    bulk_store(o[0], t)
        with partition(part, thread[1], offset=u) as mine, group(thread[1]):
            mine[0] = 0.0


def test_what_is_loaded_may_be_overwritten_once_a_visit_has_waited_for_it():
    """The tiles of different trips are proved apart; after the loop the stores have ended before anybody writes."""
    assert told(in_place) == [
        "8 < expect s_filled 128",
        "8 > arrive s_filled",
        "12 < wait s_filled",
        "12 > fence",
        "12 > arrive s_filled_2 by warps",
        "13 > advance s",
        "14 < wait s_filled_2",
        "14 > commit bulk",
        "14 > pending bulk 0 read",
        "15 < pending bulk 0",
        "15 < block block[1]",
    ]
