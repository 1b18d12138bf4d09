"""Which tile of which group a block makes next: found on the device, so that no host waits for where groups end.

A group is a run of rows of the result, or of K. One warp goes over groups, 32 at a time, and adds up how many tiles they have: a
block's tiles have rising numbers, so it goes on where it stood, and sees each group once.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism.kernels.hgemm.cut import Cut
from prism.lang import (
    atomic_add, atomic_exchange, ballot, block, broadcast, claim, const, constexpr, dtype, function, grid, group, id, int32, one,
    partition, popcount, prism, ptr, requires, roles, shared, shuffle, struct, template, thread, uint32, warp,
)  # fmt: skip
from prism.lib.thread import operators


@dataclass(frozen=True)
class Grouping:
    """What groups are: runs of rows, or, where `along_k`, of K.

    They follow one another, or where `apart` each has room of its own. Where they follow one another, `bounds` has an element
    more than there are groups if `first`: where the first one begins.
    """

    along_k: bool = False
    apart: bool = False
    first: bool = True


@struct
class Sizes:
    """Sizes of a grouped product: of so many `groups`, of `room` rows (or elements of K) in all, or each where they are apart.

    `m`: rows of a group's result where groups are along K. `down`: so many tiles down are made before those at the right.
    """

    groups: int32
    room: int32
    m: int32
    n: int32
    k: int32
    down: int32


@struct
class Place:
    """Where a tile lies: at i, j of the result of the `group`-th group, which has `length` rows up to `end`.

    A group below 0: there are no more.
    """

    group: int32
    end: int32
    length: int32
    i: int32
    j: int32


@struct
class Walk:
    """How far a warp has gone: groups from `base` on are to be looked at; so many tiles and rows are before them."""

    base: int32
    tiles: int32
    reached: int32


@prism.device
@template(INDEX=dtype)
@requires(thread[1])
def bound_of(bounds: ptr(const(INDEX)) @ grid[1], at: int32 @ thread[1], most: int32 @ thread[1]) -> int32 @ thread[1]:
    """A bound of groups: not outside of 0 to `most`, whatever is written there."""
    return int32(max(INDEX(0), min(INDEX(most), bounds[at])))


@prism.device
@template(INDEX=dtype, CUT=constexpr(Cut), GROUPING=constexpr(Grouping))
@requires(warp[1])
def find_place(
    bounds: ptr(const(INDEX)) @ grid[1], number: int32 @ warp[1], s: Sizes @ grid[1], walk: Walk[1] @ warp[1]
) -> Place @ warp[1]:  # fmt: skip
    """Where tile `number` lies; `walk[0]`: how far earlier calls, of lower numbers, went.

    Perspective: warp.
    Shapes:      a group ends where its bound says, but not before an earlier one does, and not outside of what there is.
    Cost:        of each 32 groups that are gone over, a load and two scans.
    Test:        tests/kernels/test_grouped.py
    """
    lane: int32 @ thread[1] = id()
    tiles_n: int32 @ warp[1] = (s.n + (CUT.bn - 1)) // CUT.bn
    of_k: int32 @ warp[1] = (s.m + (CUT.bm - 1)) // CUT.bm  # tiles down, where groups are along K
    found: Place @ warp[1] = Place(-1, 0, 0, 0, 0)
    going: bool @ warp[1] = True
    while going and walk[0].base < s.groups:
        g: int32 @ thread[1] = walk[0].base + lane
        ends: int32[1] @ thread[1] = {0}
        begin: int32 @ thread[1] = 0
        with group(thread[1]):
            if g < s.groups:
                ends[0] = bound_of(bounds, g + (1 if GROUPING.first else 0), s.room)
        if GROUPING.apart:
            begin = g * s.room
            ends[0] += begin
        else:
            warp.scan(ends, 0, WIDTH=1, OP=operators.maximum, EXCLUSIVE=False)
            ends[0] = max(ends[0], walk[0].reached)
            below: int32 @ thread[1] = shuffle(ends[0], lane + 31)
            begin = below if lane > 0 else walk[0].reached
        length: int32 @ thread[1] = ends[0] - begin
        down: int32 @ thread[1] = of_k if GROUPING.along_k else (length + (CUT.bm - 1)) // CUT.bm
        tiles: int32[1] @ thread[1] = {0}
        with group(thread[1]):
            if g < s.groups:
                tiles[0] = down * tiles_n
        own: int32 @ thread[1] = tiles[0]
        warp.scan(tiles, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=False)
        before: int32 @ warp[1] = walk[0].tiles
        behind: uint32 @ warp[1] = ballot(before + tiles[0] <= number)
        which: int32 @ warp[1] = popcount(behind)
        if which < 32:
            going = False
            t: int32 @ warp[1] = number - before - broadcast(tiles[0] - own, which)
            tiles_m: int32 @ warp[1] = broadcast(down, which)
            above: int32 @ warp[1] = t // (s.down * tiles_n) * s.down
            within: int32 @ warp[1] = t % (s.down * tiles_n)
            height: int32 @ warp[1] = min(tiles_m - above, s.down)
            i: int32 @ warp[1] = (above + within % height) * CUT.bm
            found = Place(
                walk[0].base + which, broadcast(ends[0], which), broadcast(length, which), i, within // height * CUT.bn
            )  # fmt: skip
        else:
            walk[0] = Walk(walk[0].base + 32, before + broadcast(tiles[0], 31), broadcast(ends[0], 31))
    return found


@prism.device
@template(INDEX=dtype, CUT=constexpr(Cut), GROUPING=constexpr(Grouping), TILE=function, DYNAMIC=constexpr(bool))
@requires(block[1], thread["CUT.threads"])
def in_groups(
    bounds: ptr(const(INDEX)) @ grid[1], s: Sizes @ grid[1], first: int32 @ block[1], blocks: int32 @ grid[1],
    counter: ptr(uint32) @ grid[1], scheduler: roles(warp, 1),
):  # fmt: skip
    """`TILE(place)` of the tiles of all groups, each by the block that comes to it first; block `first` begins with that tile.

    When the scheduler is done with its part of a tile, it draws the number of the next one, finds it, and hands it over. Where
    not `DYNAMIC` a block's tiles are every so many, as there are blocks, and nothing is drawn.

    Shapes:      `counter[0]`: 0 at first. It counts what is drawn, as many numbers as there are tiles: each block draws one that
                 is too high, and who draws the last one sets the counter back. Launches that share it follow each other.

    Perspective: block.
    Test:        tests/kernels/test_grouped.py
    """
    start: shared(Place[1])
    following: shared(Place[1], ring=2)
    walk: Walk[1] @ warp[1]
    number: int32 @ warp[1] = first
    place: Place @ warp[1] = Place(-1, 0, 0, 0, 0)
    with scheduler:
        walk[0] = Walk(0, 0, broadcast(bound_of(bounds, 0, s.room), 0) if GROUPING.first and not GROUPING.apart else 0)
        place = find_place(bounds, first, s, walk, CUT=CUT, GROUPING=GROUPING)
    with claim(start, scheduler) as own, claim(own, thread[1]) as word, one(thread):
        word[0] = place
    at: Place @ block[1] = Place(-1, 0, 0, 0, 0)
    with partition(start, block[1], 0) as now:
        at = now[0]
    while at.group >= 0:
        TILE(at)
        with scheduler:
            ticket: uint32 @ thread[1] = 0
            if DYNAMIC:
                with one(thread):
                    ticket = atomic_add(counter[0], uint32(1))
            else:
                number += blocks
            draw: int32 @ warp[1] = broadcast(int32(ticket), 0)
            place = find_place(bounds, blocks + draw if DYNAMIC else number, s, walk, CUT=CUT, GROUPING=GROUPING)
            # All tiles were drawn, or were a block's first one.
            if DYNAMIC and place.group < 0 and draw == walk[0].tiles - 1:
                with one(thread):
                    atomic_exchange(counter[0], uint32(0))
        with claim(following, scheduler) as own, claim(own, thread[1]) as word, one(thread):
            word[0] = place
        with partition(following, block[1], 0) as now:
            at = now[0]
