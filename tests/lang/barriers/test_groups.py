"""Groups of copies and wgmmas on plain shared objects, fences, clusters: the plan's operations, spelled out by hand."""

# ruff: noqa: B007, F821 -- kernels: loops that only count, names that they declare
from __future__ import annotations

from prism.lang import (
    CUtensorMap,
    async_,
    attr,
    bf16,
    block,
    bulk_store,
    claim,
    const,
    cp_async,
    fragment,
    grid,
    group,
    id,
    one,
    partition,
    prism,
    ptr,
    requires,
    shared,
    thread,
    tma_store,
    warpgroup,
    wgmma,
    wgmma_async,
)  # fmt: skip
from prism.lang.pipeline import build
from tests.lang.plans import told

# -- cp_async ---------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[64])
def straight(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        first: shared(float[64])
        second: shared(float[64])
        third: shared(float[64])
        u: int @ thread[1] = id()
        with async_(first) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
            cp_async(mine[0], x[u], bytes=4)
        with async_(second) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
            cp_async(mine[0], x[u + 64], bytes=4)
        with async_(third) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
            cp_async(mine[0], x[u + 128], bytes=4)
        v: float @ thread[1] = first[(u + 1) % 64]
        v = v + second[(u + 1) % 64]
        v = v + third[(u + 1) % 64]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_w10_each_use_waits_for_its_own_copy_alone():
    assert told(straight) == [
        "6 > commit cp_async",
        "8 > commit cp_async",
        "10 > commit cp_async",
        "12 < pending cp_async 2",
        "12 < block block[1]",
        "13 < pending cp_async 1",
        "13 < block block[1]",
        "14 < pending cp_async 0",
        "14 < block block[1]",
    ]


@prism("global")
@requires(grid[1], block[1], thread[64])
def steady(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        first: shared(float[64])
        second: shared(float[64])
        third: shared(float[64])
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        with async_(first) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
            cp_async(mine[0], x[u], bytes=4)
        with async_(second) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
            cp_async(mine[0], x[u + 64], bytes=4)
        with async_(third) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
            cp_async(mine[0], x[u + 128], bytes=4)
        for i in range(n):
            v = v + first[(u + 1) % 64]
            with async_(first) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
                cp_async(mine[0], x[u + 192 * i], bytes=4)
            v = v + second[(u + 1) % 64]
            with async_(second) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
                cp_async(mine[0], x[u + 192 * i + 64], bytes=4)
            v = v + third[(u + 1) % 64]
            with async_(third) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
                cp_async(mine[0], x[u + 192 * i + 128], bytes=4)
        v = v + first[(u + 1) % 64]
        v = v + second[(u + 1) % 64]
        v = v + third[(u + 1) % 64]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_w6_w10_slots_in_a_loop_two_groups_stay_pending_and_the_end_waits_for_one_after_the_other():
    assert [line for line in told(steady) if "commit" not in line] == [
        "14 < pending cp_async 2",
        "14 < block block[1]",
        "15 < block block[1]",
        "17 < pending cp_async 2",
        "17 < block block[1]",
        "18 < block block[1]",
        "20 < pending cp_async 2",
        "20 < block block[1]",
        "21 < block block[1]",
        "23 < pending cp_async 2",
        "23 < block block[1]",
        "24 < pending cp_async 1",
        "24 < block block[1]",
        "25 < pending cp_async 0",
        "25 < block block[1]",
    ]


@prism("global")
@requires(grid[1], block[1], thread[64])
def sometimes(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        first: shared(float[64])
        second: shared(float[64])
        u: int @ thread[1] = id()
        with async_(first) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
            cp_async(mine[0], x[u], bytes=4)
        if n > 0:
            with async_(second) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
                cp_async(mine[0], x[u + 64], bytes=4)
        v: float @ thread[1] = first[(u + 1) % 64]
        v = v + second[(u + 1) % 64]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_the_fewest_groups_on_any_path_are_left_pending():
    """Where the second copy is not made, its group is not either: the wait before the first use covers both."""
    assert told(sometimes) == [
        "5 > commit cp_async",
        "8 > commit cp_async",
        "10 < pending cp_async 0",
        "10 < block block[1]",
    ]


@prism("global")
@requires(grid[1], block[1], thread[64])
def own(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[256])
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        for i in range(n):
            with async_(s) as d, partition(d, thread[1], offset=4 * u) as mine, group(thread[1]):
                cp_async(mine[0], x[4 * u + 256 * i])
            with partition(s, thread[1], offset=4 * u) as mine, group(thread[1]):
                v = v + mine[3]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_who_uses_what_it_copied_itself_waits_and_meets_nobody():
    assert told(own) == ["6 > commit cp_async", "9 < pending cp_async 0"]


@prism("global")
@requires(grid[1], block[1], thread[64])
def hoisted(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[64])
        u: int @ thread[1] = id()
        v: float @ thread[1] = 0.0
        with async_(s) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
            cp_async(mine[0], x[u], bytes=4)
        for i in range(n):
            v = v + s[(u + i) % 64]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_what_only_the_entry_needs_stands_before_the_loop():
    assert told(hoisted) == ["5 > commit cp_async", "7 < pending cp_async 0", "7 < block block[1]"]


@prism("global")
@requires(grid[1], block[1], thread[64])
def source(x: ptr(float) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with (
        partition(y, block[1], offset=0, races="allow") as out,
        partition(x, block[1], offset=64) as part,
        group(block[1]),
    ):
        s: shared(float[64])
        u: int @ thread[1] = id()
        with partition(part, thread[1], offset=u) as own_x:
            with async_(s) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
                cp_async(mine[0], own_x[0], bytes=4)
            with group(thread[1]):
                own_x[0] = 1.0
        v: float @ thread[1] = s[(u + 1) % 64]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_what_a_copy_reads_is_not_overwritten_before_it_has_ended():
    assert told(source) == ["9 > commit cp_async", "12 < pending cp_async 0", "13 < block block[1]"]


@prism("device")
@requires(block[1], thread[64])
def fetch(s: ptr(float) @ block[1], x: ptr(const(float)) @ block[1]):
    u: int @ thread[1] = id()
    with async_(s) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
        cp_async(mine[0], x[u], bytes=4)


@prism("global")
@requires(grid[1], block[1], thread[64])
def calls(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[64])
        u: int @ thread[1] = id()
        fetch(s, x)
        v: float @ thread[1] = s[(u + 1) % 64]
        with partition(out, thread[1], offset=u) as o, group(thread[1]):
            o[0] = v


def test_a_function_leaves_nothing_under_way_and_its_caller_meets():
    program = build(calls)
    device = program.plans[program.functions[0]]
    assert [type(op).__name__ for op in device.operations] == ["Commit", "WaitGroup"]
    assert device.operations[1].side == "after"
    assert told(calls) == ["5 < block block[1]"]


# -- stores -----------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[64])
def stored(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[64])
        u: int @ thread[1] = id()
        for i in range(n):
            with partition(s, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = x[u + 64 * i]
            with claim(out, thread[1]) as o, one(thread):
                bulk_store(o[64 * i], s)


def test_bulk_stores_read_before_the_next_write_and_before_the_kernels_end():
    assert told(stored) == [
        "1 > pending bulk 0 read",
        "5 < pending bulk 0 read",
        "5 < block block[1]",
        "7 < fence",
        "7 < block block[1]",
        "8 > commit bulk",
    ]


@prism("global")
@requires(grid[1], block[1], thread[64])
def doubled(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        s: shared(float[64])
        r: shared(float[64])
        u: int @ thread[1] = id()
        for i in range(n):
            with partition(s, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = x[u + 64 * i]
            with claim(out, thread[1]) as o, one(thread):
                bulk_store(o[128 * i], s)
            with partition(r, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = x[u + 64 * i]
            with claim(out, thread[1]) as o, one(thread):
                bulk_store(o[128 * i + 64], r)


def test_two_buffers_leave_one_store_pending():
    assert [line for line in told(doubled) if "pending" in line] == [
        "1 > pending bulk 0 read",
        "6 < pending bulk 1 read",
        "10 < pending bulk 1 read",
    ]


# -- wgmma ------------------------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
def product(map_c: CUtensorMap(float, 64, 32) @ grid[1], x: ptr(const(bf16)) @ grid[1], n: int @ grid[1]):
    with group(block[1]):
        a: shared(bf16[64, 64], swizzle=128)
        s: shared(float[64, 32])
        acc: fragment(float, 64, 64) @ warpgroup[1]
        u: int @ thread[1] = id()
        for i in range(n):
            with (
                partition(a, thread[1], lambda r, c: (r + u // 2, c + u % 2 * 32), races="allow") as mine,
                group(thread[1]),
            ):
                for j in range(32):
                    mine[0, j] = x[32 * u + j + 4096 * i]
            with group(warpgroup[1]):
                wgmma(acc, a, a, accumulate=i > 0)
        with partition(s, thread[1], lambda r, c: (r + u // 2, c + u % 2 * 16), races="allow") as mine:
            with group(thread[1]):
                for i in range(16):
                    mine[0, i] = acc[i]
        with one(thread):
            tma_store(map_c[0, 0], s)


def test_wgmma_on_plain_tiles():
    assert told(product) == [
        "1 > pending bulk 0 read",
        "9 < pending wgmma 0",
        "9 < block block[1]",
        "13 < fence",
        "13 < block block[1]",
        "14 < registers",
        "14 > commit wgmma",
        "16 < pending wgmma 0",
        "19 < fence",
        "19 < block block[1]",
        "20 > commit bulk",
    ]


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warpgroup[1])
def batches(x: ptr(const(bf16)) @ grid[1], y: ptr(float) @ grid[1]):
    t: int @ thread[1] = id()
    with partition(y, thread[1], offset=2 * t) as out, group(block[1]):
        a: shared(bf16[64, 64], swizzle=128)
        left: fragment(float, 64, 64) @ warpgroup[1]
        right: fragment(float, 64, 64) @ warpgroup[1]
        u: int @ thread[1] = id()
        with partition(a, thread[1], lambda r, c: (r + u // 2, c + u % 2 * 32), races="allow") as own, group(thread[1]):
            for j in range(32):
                own[0, j] = x[32 * u + j]
        with group(warpgroup[1]):
            with wgmma_async():
                wgmma(left, a, a, accumulate=False)
                wgmma(left, a, a)
            wgmma(right, a, a, accumulate=False)
            with group(thread[1]):
                out[0] = left[0]
            with group(thread[1]):
                out[1] = right[0]


def test_each_fragment_waits_for_its_own_batch():
    """The second batch needs no fence: nobody has touched a register since the first one's."""
    assert told(batches) == [
        "10 < fence",
        "10 < block block[1]",
        "11 < registers",
        "11 > commit wgmma",
        "14 > commit wgmma",
        "15 < pending wgmma 1",
        "17 < pending wgmma 0",
    ]


# -- clusters ---------------------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[2], thread[64])
def exchanged(y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[2], offset=0, races="allow") as out, group(block[2]):
        s: shared(float[2, 64])
        rank: int @ block[1] = id()
        u: int @ thread[1] = id() % 64
        v: float @ thread[1] = 1.0
        for i in range(n):
            with partition(s, block[1], lambda j: (rank, j)) as part, group(block[1]):
                t: int @ thread[1] = id()
                with partition(part, thread[1], offset=t) as mine, group(thread[1]):
                    mine[0] = v + t + rank
            v = v + s[1 - rank, 63 - u]
        with partition(out, thread[1], offset=rank * 64 + u) as o, group(thread[1]):
            o[0] = v


def test_a_clusters_object_takes_cluster_barriers_in_the_clusters_code():
    assert told(exchanged) == ["7 < cluster block[2]", "11 < cluster block[2]"]


def test_each_block_keeps_its_part_of_a_clusters_object():
    program = build(exchanged)
    assert program.layouts[program.entry].bytes == 256


# -- shared memory ----------------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(64, 1)")
@requires(grid[1], block[1], thread[64])
def laid_out(x: ptr(const(float)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], offset=0, races="allow") as out, group(block[1]):
        u: int @ thread[1] = id()
        small: shared(float[64])
        if n > 0:
            early: shared(float[6000])
            with partition(early, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = 1.0
        ring: shared(float[65], ring=3)
        tile: shared(bf16[64, 64], ring=2, swizzle=128)
        if n > 1:
            later: shared(float[6000])
            with partition(later, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = 1.0
        for i in range(n):
            with partition(ring, thread[1], offset=u) as mine, group(thread[1]):
                mine[0] = x[u]
            with partition(ring, block[1]) as seen:
                v: float @ thread[1] = seen[63 - u]
            with partition(tile, thread[1], offset=lambda y, x: (u, x)) as row, group(thread[1]):
                row[0, 0] = 1.0


def test_rings_stand_below_the_stack_and_mbarriers_behind_it():
    program = build(laid_out)
    layout = program.layouts[program.entry]
    at = {symbol.name: start for symbol, start in layout.offsets.items()}
    assert (at["tile"], at["ring"], at["small"]) == (0, 16384, 16384 + 3 * 272)
    assert at["early"] == at["later"] == at["small"] + 256
    assert {symbol.name: stride for symbol, stride in layout.strides.items()} == {"tile": 8192, "ring": 272}
    assert list(layout.mbarriers.values()) == [at["later"] + 24000] and layout.bytes == at["later"] + 24000 + 24


# -- what is waited for in the scope that issues it -------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def overwritten(x: ptr(float) @ grid[1], y: ptr(float) @ grid[1]):
    with (
        partition(y, block[1], offset=0, races="allow") as out,
        partition(x, block[1], offset=0) as part,
        group(block[1]),
    ):
        s: shared(float[256])
        u: int @ thread[1] = id()
        with partition(part, thread[1], offset=u) as own_x:
            with async_(s) as d, partition(d, thread[1], offset=u) as mine, group(thread[1]):
                cp_async(mine[0], own_x[0], bytes=4)
                own_x[0] = 1.0


def test_what_a_copy_reads_is_overwritten_in_its_own_scope_when_it_has_ended():
    assert told(overwritten) == ["9 > commit cp_async", "11 < commit cp_async", "11 < pending cp_async 0"]
