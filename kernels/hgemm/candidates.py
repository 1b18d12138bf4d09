"""What `prism tune hgemm` and the benchmark try: for each shape, the configurations that might be best.

What never was among the fastest has been left out: two blocks a multiprocessor, clusters of four, 176 and 224 columns, and
warpgroups that take turns (docs/hgemm.md).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from prism.kernels.hgemm.configurations import MEASURED, NN, PROCESSORS, SHARING, choose, clocks, cuts, rows_in_sectors
from prism.kernels.hgemm.configurations import Configuration as C

WIDE = C(128, 256, 3, ahead=0, slabs=4, cluster_m=2)
HIGH = C(256, 128, 4, ahead=0, slabs=1, cluster_n=2)
ALONE = C(128, 256, 3, ahead=0, slabs=4)
DEEP = C(128, 256, 2, ahead=0, bk=128)
LARGE = (
    DEEP, ALONE, C(256, 128, 2, ahead=0, slabs=1, bk=128), WIDE, HIGH,
    C(256, 200, 3, ahead=0, span=80), C(256, 168, 3, ahead=0, span=112), C(192, 192, 3, 3, ahead=0, slabs=3),
    C(128, 192, 4, ahead=0, slabs=3), C(256, 192, 3, ahead=0, slabs=3, span=64, straight=True),
    C(256, 160, 3, ahead=0, slabs=3, span=64, straight=True),
)  # fmt: skip
MEDIUM = (
    C(192, 96, 5, 3, ahead=0, span=64), DEEP, ALONE, C(256, 128, 2, ahead=0, slabs=1, bk=128), WIDE,
    C(128, 192, 4, ahead=0, slabs=3), C(256, 168, 3, ahead=0, span=112), C(256, 200, 3, ahead=0, span=80), C(128, 128, 6),
)  # fmt: skip
SMALL = (
    C(128, 64, 8), C(64, 128, 8, 1), C(64, 64, 6, 1, bk=128), C(64, 32, 8, 1, span=64, bk=128), C(64, 72, 8, 1), C(128, 128, 6),
)  # fmt: skip
SKINNY = (
    C(64, 64, 6, 1, bk=128), C(64, 64, 6, 1, bk=128, cluster_n=2), C(64, 64, 12, 1), C(64, 128, 8, 1),
    C(64, 32, 8, 1, span=64, bk=128),
)  # fmt: skip
SHAPES = tuple(MEASURED)


def candidates(m: int, n: int, k: int, processors: int = PROCESSORS) -> list[C]:
    """What is tried for a shape; the first is the library's choice."""
    some = SKINNY if m <= 64 else SMALL if m * n <= 1 << 20 else MEDIUM if m * n <= 1 << 22 else LARGE
    return list(dict.fromkeys([choose(m, n, k, processors, layout=NN, parted=True), *some]))


def parse_size(text: str) -> tuple[int, int, int]:
    """`4096` is square, `64x8192x8192` is m x n x k."""
    numbers = [int(part) for part in text.split("x")]
    return (numbers[0],) * 3 if len(numbers) == 1 else (numbers[0], numbers[1], numbers[2])


def parse_shape(text: str) -> tuple[tuple[int, int, int], tuple[bool, bool]]:
    """Return m, n, k and the layout of `4096x14336x4096 NT`; NN where none is said.

    Raises:
        ValueError: it is not written so.
    """
    size, _, layout = text.partition(" ")
    try:
        m, n, k = parse_size(size)
    except (ValueError, IndexError):
        raise ValueError(f"{text!r} is no shape, as 4096x14336x4096 NT") from None
    if layout not in ("", "NN", "NT", "TN", "TT") or min(m, n, k) < 1:
        raise ValueError(f"{text!r} is no shape, as 4096x14336x4096 NT")
    return (m, n, k), (layout[:1] == "T", layout[1:] != "T")


def all_cuts() -> list[C]:
    """Every configuration that is chosen for some shape, or is a candidate of a measured one."""
    tried = (cut for text in SHAPES for cut in candidates(*parse_size(text)))
    return list(dict.fromkeys([*cuts((False, False)), *cuts(NN), *SHARING, *cuts((False, False), parted=True), *tried]))


PAIRS = (
    C(128, 256, 3, ahead=0, slabs=4, cluster_m=2), C(256, 128, 4, ahead=0, slabs=1, cluster_n=2),
    C(256, 200, 3, ahead=0, span=80, cluster_n=2), C(256, 168, 3, ahead=0, span=112, cluster_n=2),
    C(256, 192, 3, ahead=0, slabs=3, span=64, straight=True, cluster_n=2),
    C(256, 160, 3, ahead=0, slabs=3, span=64, straight=True, cluster_n=2),
    C(192, 192, 3, 3, ahead=0, slabs=3, cluster_m=2),
    C(128, 160, 5, cluster_m=2), C(128, 128, 6, cluster_m=2), C(128, 128, 6, cluster_n=2), C(128, 96, 7, cluster_m=2),
    C(128, 64, 8, cluster_m=2), C(128, 64, 8, cluster_n=2), C(64, 128, 8, 1, cluster_m=2), C(64, 128, 8, 1, cluster_n=2),
    C(64, 96, 8, 1, cluster_n=2), C(64, 64, 6, 1, bk=128, cluster_m=2), C(64, 64, 6, 1, bk=128, cluster_n=2),
)  # fmt: skip
MORE_PARTED = (
    C(128, 192, 3, ahead=0, parts=2), C(128, 192, 3, ahead=0, parts=4), C(192, 96, 3, 3, ahead=0, parts=2),
    C(192, 96, 3, 3, ahead=0, parts=3), C(192, 96, 3, 3, ahead=0, parts=4), C(128, 128, 4, parts=8), C(128, 160, 3, ahead=0, parts=2),
    C(128, 96, 5, parts=2), C(128, 96, 5, parts=4), C(64, 128, 6, 1, parts=2), C(64, 128, 6, 1, parts=4), C(64, 96, 7, 1, parts=2),
    C(64, 96, 7, 1, parts=4), C(64, 96, 7, 1, parts=8),
    *(C(64, 128, 6, 1, parts=p) for p in (3, 5, 6)), *(C(128, 128, 4, parts=p) for p in (3, 5, 6)),
    *(C(128, 64, 7, parts=p) for p in (3, 5, 6)), *(C(64, 64, 5, 1, bk=128, parts=p) for p in (3, 5, 6)),
)  # fmt: skip
ROWS = (
    C(64, 8, 10, 1, bk=128, trans=True), C(64, 8, 5, 1, bk=128, trans=True), C(128, 8, 6, 2, bk=128, trans=True),
    C(128, 16, 6, 2, bk=128, trans=True), C(64, 32, 8, 1, bk=128, trans=True), C(64, 64, 6, 1, bk=128, trans=True),
    C(64, 16, 10, 1, bk=128, trans=True), C(64, 16, 5, 1, bk=128, trans=True), C(64, 48, 7, 1, bk=128, trans=True),
    C(64, 80, 8, 1, trans=True), C(64, 112, 8, 1, trans=True), C(128, 32, 5, 2, bk=128, trans=True),
    *(C(64, 8, 9, 1, bk=128, parts=parts, trans=True) for parts in (2, 3, 4, 6, 8)),
    *(C(64, 16, 9, 1, bk=128, parts=parts, trans=True) for parts in (2, 3, 4, 6, 8)),
    *(C(64, 32, 7, 1, bk=128, parts=parts, trans=True) for parts in (2, 3, 4, 6, 8)),
    *(C(64, 48, 6, 1, bk=128, parts=parts, trans=True) for parts in (2, 3, 4, 6, 8)),
    *(C(64, 64, 5, 1, bk=128, parts=parts, trans=True) for parts in (2, 3, 4, 6, 8)),
)  # fmt: skip
ROWS_OUTSIDE = (
    *(C(64, bn, 6, 1, bk=128, trans=True) for bn in (8, 16, 32, 48, 64)), *(C(128, bn, 4, 2, bk=128, trans=True) for bn in (8, 16, 32)),
    *(C(64, bn, 5, 1, bk=128, trans=True, parts=p) for bn in (16, 32, 48, 64) for p in (2, 3, 4, 6, 8)),
)  # fmt: skip
TURNED = (
    *(C(64, bn, stages, 1, trans=True) for bn, stages in ((80, 8), (96, 8), (112, 8), (128, 8), (160, 7), (192, 6), (224, 6))),
    C(128, 96, 7, trans=True), C(128, 128, 6, trans=True), C(128, 160, 4, trans=True), C(128, 192, 4, ahead=0, slabs=3, trans=True),
)  # fmt: skip
TALL = (
    C(256, 128, 4, ahead=0, slabs=1, cluster_m=2), C(128, 128, 6, cluster_m=4), C(64, 128, 8, 1, cluster_n=4),
    C(128, 256, 3, ahead=0, slabs=4, cluster_n=2), C(256, 64, 5, ahead=0, cluster_m=2), C(64, 128, 8, 1, cluster_m=4),
    C(256, 128, 4, ahead=0, slabs=1), C(256, 96, 4, ahead=0, slabs=1), C(256, 64, 5, ahead=0),
)  # fmt: skip
SHARED = (
    C(128, 256, 3, ahead=0, slabs=4), C(128, 128, 6), C(64, 128, 8, 1), C(128, 64, 8), C(128, 192, 4, ahead=0, slabs=3),
    C(64, 64, 6, 1, bk=128),
)  # fmt: skip


def near(m: int, n: int, k: int, processors: int, layout: tuple[bool, bool], most: int = 30) -> list[C]:
    """Every configuration that may suit a shape, for a fit: those that are within twice of the best by the model."""
    def of(layout):
        some = [*cuts(layout), *SHARING, *cuts(layout, parted=True), *PAIRS, *MORE_PARTED, *TALL]
        some += [*(ROWS_OUTSIDE if layout[0] else ROWS)] if m <= 64 else []
        some += TURNED if m <= 256 and layout[0] else ()
        return [one for one in some if one.parts == 1 or one.parts * one.bk <= k]
    some = of(layout)
    some += [replace(one, shares=s) for one in SHARED for s in (2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
             if s * 2 * one.bk <= k and prod(one.tiles(m, n)) * s <= 2 * processors]
    some = list(dict.fromkeys(some))

    def best(some, many, within):
        times = {found: clocks(found, m, n, k, processors, layout=layout) for found in some if found.cluster <= 8}
        least = min(times.values(), default=0)
        return sorted((one for one in times if times[one] < within * least), key=lambda one: times[one])[:many]
    found = best([one for one in some if one.shares == 1], most, 1.8)
    found += best([one for one in some if one.shares > 1], 5, 1.6)
    odd = rows_in_sectors(m, n, k, layout)
    packs = [1] * (odd[0] or (layout[0] and m <= 256)) + [2] * odd[1] + [3] * (odd[0] and odd[1])
    for pack in packs:
        inside = (layout[0] and not pack & 1, layout[1] and not pack & 2)
        found += best([replace(one, pack=pack) for one in dict.fromkeys(of(inside)) if one.cluster == 1 or one.parts > 1], 6, 1.6)
    return found
