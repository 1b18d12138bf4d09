"""Single products of any shape: the forms that there are besides, and a model of their times that was fitted to random shapes.

What is measured of a batch, or of a product whose epilogue is a function, is in configurations.py.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from prism.kernels.hgemm.configuration import ROOM, SPAN, Configuration, Layout
from prism.kernels.hgemm.configurations import (
    FEW, PROCESSORS, SHARING, choose_by_model, cuts, measured_for, resident_clusters, rows_in_sectors, shape_key,
)  # fmt: skip
from prism.kernels.hgemm.estimate import estimate

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
DEALT = (
    Configuration(64, 64, 6, 1, bk=128),
    Configuration(64, 128, 8, 1),
    Configuration(128, 128, 6),
    Configuration(128, 160, 5),
    Configuration(128, 192, 4, ahead=0, slabs=3),
    Configuration(128, 256, 3, ahead=0, slabs=4),
    Configuration(192, 128, 5, 3, ahead=0, slabs=1),
)
SHARES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
SHORT = 512  # rows or columns: of no more there are tiles that fit them
SURE, SURE_FEW, SURE_USUAL = 1.05, 1.1, 1.3  # times faster

# What was fastest of single products where the models miss it by more than a twentieth: of 128 x 3584 x 18944, weights n x k, on
# an H200, 43.9 us; by tiles of 128 x 64 in two parts 48.5.
MEASURED_SINGLE = {"128x3584x18944 NT": Configuration(128, 128, 4, parts=4)}


@functools.lru_cache(maxsize=4096)
def choose_single(m: int, n: int, k: int, processors: int, layout: Layout) -> Configuration:
    """Return the configuration that suits a single product: measured; or as `choose` has it, or what is surely faster."""
    found = MEASURED_SINGLE.get(shape_key(m, n, k, layout)) if processors == PROCESSORS else None
    if (found := found or measured_for(m, n, k, processors, layout)) is not None:
        return found
    usual = choose_by_model(m, n, k, processors, 1, layout, parted=True)
    times = {one: estimate(one, m, n, k, processors, layout) for one in forms(m, n, k, processors, layout)}
    best = min(times, key=lambda one: times[one])
    sure = SURE
    if not layout[0] and not any(rows_in_sectors(m, n, k, layout)):  # there `choose` was held to many that were measured
        sure = SURE_FEW if m <= FEW // 8 else SURE_USUAL
    return best if sure * times[best] < estimate(usual, m, n, k, processors, layout) else usual


def forms(m: int, n: int, k: int, processors: int, layout: Layout) -> list[Configuration]:
    """Return what a single product of two matrices may take."""
    found = [one for one in cuts(layout) if m <= FEW or not one.trans]
    found += SHARING if any(rows_in_sectors(m, n, k, layout)) else ()
    found += [*cuts(layout, parted=True), *single(m, n, k, processors, layout)]
    return [one for one in dict.fromkeys(found) if _runs_at_once(one, m, n, processors, layout)]


def _runs_at_once(found: Configuration, m: int, n: int, processors: int, layout: Layout) -> bool:
    """Whether clusters run; those whose blocks have parts of K all at once: a further round costs as much as the first."""
    most = resident_clusters(found, processors)
    down, across = found.tiles(*((n, m) if found.transposes_out(layout) else (m, n)))
    return most > 0 and (found.parts == 1 or down * across <= most)


def single(m: int, n: int, k: int, processors: int, layout: Layout) -> tuple[Configuration, ...]:
    """Return what there is besides for a single product of two matrices: it is compiled when it is first asked for."""
    found = [*CLUSTERED, *MORE_PARTED, *fitting(m, n)]
    if m <= FEW // 4:
        found += NARROW_OUTSIDE_PARTED if layout[0] else (*FEWEST, *FEWEST_PARTED)
        found += sharing_rows(m)
    found = [one for one in found if one.parts * one.bk <= k and resident_clusters(one, processors) > 0]
    for one in DEALT:
        some = [shares for shares in SHARES if 2 * shares * one.bk <= k and shares * prod(one.tiles(m, n)) <= 2 * processors]
        found += [replace(one, shares=shares) for shares in some if not one.transposes_out(layout)]
    return tuple(found)


def sharing_rows(m: int) -> Iterator[Configuration]:
    """Return clusters of tiles of few rows that bring these once: where K is outside all blocks ask for the same lines."""
    bn = next(size for size in (8, 16, 32, 48, 64) if m <= size)
    for cluster in (2, 4, 8):
        yield Configuration(64, bn, 5, 1, bk=128, trans=True, cluster_m=cluster)
    for cluster in (2, 4):
        yield Configuration(128, bn, 4, bk=128, trans=True, cluster_m=cluster)


def fitting(m: int, n: int) -> Iterator[Configuration]:
    """Return tiles that a short result's rows, or columns, are one, two or three of."""
    for extent, trans in ((m, True), (n, False)):
        if 64 < extent <= SHORT:
            for bn in sorted({-(-extent // many // 16) * 16 for many in (1, 2, 3)}):
                if 48 <= bn <= 256:
                    yield from (_filled(64, bn, 1, trans), _filled(128, bn, 2, trans))
                if 48 <= bn <= 192 and not trans:
                    yield _filled(192, bn, 3, trans)
    if 64 < m <= SHORT:
        yield Configuration(192, 128, 5, 3, ahead=0, slabs=1)
        yield Configuration(256, 96, 4, ahead=0, slabs=1)


def _filled(bm: int, bn: int, consumers: int, trans: bool) -> Configuration:
    """Return a tile with as many copies as there is room for, beside a slab of whole spans."""
    columns = bn if bn % (SPAN // 2) == SPAN // 4 else -(-bn // (SPAN // 2)) * (SPAN // 2)
    stages = min(8, (ROOM - bm * SPAN - 2048) // ((bm + columns) * SPAN))
    return Configuration(bm, bn, stages, consumers, ahead=0 if bm * bn >= 128 * 192 else 1, trans=trans)
