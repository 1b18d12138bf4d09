"""Single products of any shape: the forms that there are besides, and a model of their times that was fitted to random shapes.

What is measured of a batch, or of a product whose epilogue is a function, is in configurations.py.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from prism.kernels.hgemm.configuration import ROOM, SPAN, Configuration, Layout
from prism.kernels.hgemm.configurations import (
    PROCESSORS, SHARING, choose_by_model, cuts, measured_for, rows_in_sectors, shape_key,
)  # fmt: skip
from prism.kernels.hgemm.estimate import Flags, Forms, estimate

# Clusters that share what they read, mostly A: for products of few rows, and for rows that begin inside sectors.
CLUSTERED = (
    Configuration(64, 128, 8, 1, cluster_n=2),
    Configuration(64, 128, 8, 1, cluster_n=4),
    Configuration(64, 128, 8, 1, cluster_n=8),
    Configuration(64, 128, 8, 1, cluster_m=4),
    Configuration(64, 192, 6, 1, cluster_n=2),
    Configuration(64, 192, 6, 1, cluster_n=4),
    Configuration(64, 256, 5, 1, cluster_n=4),
    Configuration(64, 96, 8, 1, cluster_n=2),
    Configuration(64, 64, 6, 1, bk=128, cluster_n=2),
    Configuration(128, 128, 6, cluster_m=2),
    Configuration(128, 128, 6, cluster_n=2),
    Configuration(128, 128, 6, cluster_m=4),
    Configuration(192, 192, 3, 3, ahead=0, slabs=3, cluster_m=2),
    Configuration(256, 128, 4, ahead=0, slabs=1, cluster_n=2),
)

# Few rows, where `a` has K outside: its tile has whole spans of columns, so there are fewer copies.
NARROW_OUTSIDE_PARTED = tuple(
    Configuration(64, bn, 5, 1, bk=128, parts=parts, trans=True) for bn in (16, 32) for parts in (4, 8)
)

# Eight rows or fewer, where `a` has K inside; and more numbers of parts.
FEWEST = (Configuration(64, 8, 5, 1, bk=128, trans=True), Configuration(128, 8, 6, 2, bk=128, trans=True))
FEWEST_PARTED = tuple(Configuration(64, 8, 9, 1, bk=128, parts=parts, trans=True) for parts in (4, 8))
MORE_PARTED = (
    Configuration(64, 64, 5, 1, bk=128, parts=3),
    Configuration(64, 96, 7, 1, parts=8),
    *(Configuration(64, 128, 6, 1, parts=parts) for parts in (2, 4, 8)),
    *(Configuration(128, 96, 5, parts=parts) for parts in (2, 4)),
)

# Few tiles and a long K: blocks each make a share of it (shares.py).
DEALT = 64 * 128  # elements of a tile, at least
SHARES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
SURE, SURE_LAYER = 1.02, 1.12  # times faster; of products of layers, whose kernels ship
LAYER = 256  # extents of layers of language models are multiples of it: there `choose` was held to many that were measured

# What was fastest of single products, on an H200, where the models choose what took longer.
MEASURED_SINGLE = {
    "128x3584x18944 NT": Configuration(128, 128, 4, parts=4),
    "256x3584x18944 NN": Configuration(128, 128, 6, shares=2),
    "3072x3584x3584 NN": Configuration(128, 224, 4, ahead=0, trans=True),
    "3072x3584x18944 NN": Configuration(128, 224, 4, ahead=0, trans=True),
    "8x4608x3584 TN": Configuration(64, 8, 5, 1, bk=128, trans=True, cluster_m=8),
    "16x4096x14336 TN": Configuration(64, 16, 5, 1, bk=128, trans=True, cluster_m=8),
    "16x28672x4096 TT": Configuration(128, 16, 4, bk=128, trans=True, cluster_m=4),
    "256x10240x8192 NN": Configuration(128, 160, 5, cluster_m=2, straight=True),
    "1x8192x28672 TN": Configuration(64, 128, 8, 1, cluster_n=8),
    "4x4608x3584 TN": Configuration(64, 8, 5, 1, bk=128, cluster_m=8, trans=True),
    "8x6144x4096 TN": Configuration(64, 128, 8, 1, cluster_n=8),
    "32x28672x4096 TN": Configuration(128, 32, 4, bk=128, cluster_m=4, trans=True),
    "256x4608x3584 TN": Configuration(128, 128, 6),
    "3x4608x3584 TN": Configuration(64, 8, 5, 1, bk=128, cluster_m=8, trans=True),
    "384x3584x3584 TN": Configuration(128, 128, 6),
    "1x28672x4096 TT": Configuration(64, 256, 5, 1, cluster_n=4),
    "8x57344x8192 TT": Configuration(64, 256, 5, 1, cluster_n=4),
    "32x28672x4096 TT": Configuration(128, 32, 4, bk=128, cluster_m=4, trans=True),
}

# Tiles of any width, and clusters of them, with as many copies as there is room for: results of one round, which have a tile for
# each multiprocessor at most, are only as fast as their tiles fit.
WIDTHS = {  # columns of tiles of so many rows: no more than sums have registers
    64: range(16, 257, 8),
    128: range(16, 257, 8),
    192: range(32, 193, 8),
    256: range(64, 201, 8),
}
CLUSTERS = ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4))
CROSSED = ((2, 2), (4, 2), (2, 4))
"""Clusters that share A in one direction and B in the other."""
CONSUMERS = {64: 1, 128: 2, 192: 3, 256: 2}
WIDEST_DEEP = 160  # columns, at most, of a tile whose steps are of 128 of K
DEEP = 16  # copies at most, of blocks that wait for each other
SLIM = 8  # columns of a slab, where no more divide a tile's
PACKED_MOST = 1 << 22  # elements of an operand that may be copied first


@functools.lru_cache(maxsize=4096)
def choose_single(m: int, n: int, k: int, processors: int, layout: Layout) -> Configuration:
    """Return the configuration that suits a single product: measured; or as `choose` has it, or what is surely faster."""
    found = MEASURED_SINGLE.get(shape_key(m, n, k, layout)) if processors == PROCESSORS else None
    if (found := found or measured_for(m, n, k, processors, layout)) is not None:
        return found
    usual = choose_by_model(m, n, k, processors, 1, layout, parted=True)
    layer = n % LAYER == 0 and k % LAYER == 0
    own = float(estimate(Forms([usual], layout), m, n, k, processors)[0])
    # Of layers with `a` column by column, what else suits them differs so much that most of it would not ship.
    others = forms(m, n, k, processors, layout, shipped=layer and layout[0])
    times = estimate(others, m, n, k, processors)
    if not len(times) or (SURE_LAYER if layer else SURE) * times.min() >= own:
        return usual
    return others.at(int(times.argmin()))


def forms(m: int, n: int, k: int, processors: int, layout: Layout, *, shipped: bool = False) -> Forms:
    """Return what a single product of two matrices may take: as its operands lie, or after one of them was copied.

    `shipped`: only what is not compiled when it is first asked for, mostly.
    """
    odd = rows_in_sectors(m, n, k, layout)
    small = [(layout[x] or odd[x]) and extent * k <= PACKED_MOST for x, extent in enumerate((m, n))]
    ways = [packed for packed in range(4) if all(small[x] for x in range(2) if packed >> x & 1)]
    some = [all_forms(layout)] if shipped else [more_forms(layout, packed) for packed in ways]
    return functools.reduce(Forms.join, (one.take(fits(one, m, n, k, processors)) for one in some))


def fits(some: Forms, m: int, n: int, k: int, processors: int) -> Flags:
    """Return which forms may suit a shape: not much wider than it, of whole clusters; with parts of K that run all at once."""
    facts, (rows, columns), (down, across) = some.facts, some.sizes(m, n), some.tiles(m, n)
    at_once = some.at_once(processors)
    bm, bn, bk, parts, shares = (facts[field] for field in ("bm", "bn", "bk", "parts", "shares"))
    room = (bm < rows + 64) & (bn < columns + 64) & (at_once > 0) & ((parts == 1) | (parts * bk <= k))
    room &= (facts["cluster_m"] <= np.ceil(rows / bm)) & (facts["cluster_n"] <= np.ceil(columns / bn))
    room &= (parts == 1) | (down * across <= at_once)
    cluster = facts["cluster_m"] * facts["cluster_n"]
    room &= (shares == 1) | ((2 * shares * bk <= k) & (shares * down * across * cluster <= 2 * processors))
    return np.asarray(room)


@functools.cache
def all_forms(layout: Layout) -> Forms:
    """Return forms that there are besides for a single product of any shape of a layout, and those for all."""
    found = [*cuts(layout), *cuts(layout, parted=True), *SHARING, *CLUSTERED, *MORE_PARTED, *NARROW_OUTSIDE_PARTED]
    found += () if layout[0] else (*FEWEST, *FEWEST_PARTED)
    found += [one for bn in (8, 16, 32, 48, 64) for one in sharing_rows(bn)]
    return Forms(list(dict.fromkeys(found)), layout)


@functools.cache
def more_forms(layout: Layout, packed: int = 0) -> Forms:
    """Return these, tiles of any width, and shares of K, of operands that are copied first."""
    return _dealt_forms((layout[0] and not packed & 1, layout[1] and not packed & 2)).pack(layout, packed)


@functools.cache
def _dealt_forms(layout: Layout) -> Forms:
    """Return them where nothing is copied."""
    found = Forms(list(dict.fromkeys([*all_forms(layout).some, *any_width(layout)])), layout)
    area, cluster = found.facts["bm"] * found.facts["bn"], found.facts["cluster_m"] * found.facts["cluster_n"]
    room = (area >= DEALT) & ((cluster == 1) | ((cluster == 2) & (area >= 2 * DEALT)))
    return found.deal(room & (found.facts["parts"] == 1) & ~found.trans, SHARES)


def any_width(layout: Layout) -> Iterator[Configuration]:
    """Return tiles of any width of a layout, and clusters of them; of few rows and columns also with steps of twice as much K."""
    for bm, trans, (cluster_m, cluster_n) in product(WIDTHS, (False, True), (*CLUSTERS, *CROSSED)):
        outside = layout[0] if trans else layout[1]
        for bn, bk in product(WIDTHS[bm], (64, 128)):
            if (outside and bn % 32) or (bm * bn < 64 * 64 and not trans):
                continue
            if bk > 64 and (bm > 64 or bn > WIDEST_DEEP):
                continue
            one = _tile(bm, bn, bk, outside, trans, cluster_m, cluster_n)
            if one.transposes_out(layout) != trans:
                one = _tile(bm, bn, bk, outside, trans, cluster_m, cluster_n, straight=True)
            narrow = one.slab(2) == SLIM  # rows of 16 bytes of the result, where it is not turned
            if one.transposes_out(layout) == trans and one.stages > 1 and not (narrow and not trans):
                yield one


def sharing_rows(bn: int) -> Iterator[Configuration]:
    """Return clusters of tiles of few rows that bring these once: where K is outside all blocks ask for the same lines."""
    for cluster in (2, 4, 8):
        if bn % cluster == 0:
            yield Configuration(64, bn, 5, 1, bk=128, trans=True, cluster_m=cluster)
    for cluster in (2, 4):
        yield Configuration(128, bn, 4, bk=128, trans=True, cluster_m=cluster)


def _tile(
    bm: int, bn: int, bk: int, outside: bool, trans: bool, cluster_m: int, cluster_n: int, *, straight: bool = False
) -> Configuration:  # fmt: skip
    """Return a tile with as many copies as there is room for, beside slabs of whole spans; `outside`: as its B has K."""
    ahead = 0 if bm * bn >= 128 * 192 or bm == 256 else 1
    slabs = 3 if bm * bn == 192 * 192 else 2
    one = Configuration(
        bm, bn, 1, CONSUMERS[bm], cluster_m, cluster_n, ahead, slabs, bk=bk, trans=trans, straight=straight
    )
    beside = 2 if bm == 64 and one.slab(2) > SLIM else 1  # where a tile is small a second slab takes few copies
    room, most = ROOM - beside * bm * SPAN - 2048, DEEP if one.cluster > 1 else 8
    return replace(one, stages=min(most, room // ((bm + (one.b_columns if outside else bn)) * 2 * bk)))
