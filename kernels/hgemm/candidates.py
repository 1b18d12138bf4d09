"""What `prism tune hgemm` and the benchmark try: for each shape, the configurations that might be best.

What never was among the fastest has been left out: two blocks a multiprocessor, clusters of four, 224 columns, 128 of K at
a time in wide tiles, warpgroups that take turns (docs/hgemm.md).
"""

from __future__ import annotations

from dataclasses import replace

from prism.kernels.hgemm.configurations import MEASURED, PROCESSORS, choose
from prism.kernels.hgemm.configurations import Configuration as C

WIDE = C(128, 256, 3, ahead=0, slabs=4, cluster_m=2)
HIGH = C(256, 128, 4, ahead=0, slabs=1, cluster_n=2)
ALONE = C(128, 256, 4, ahead=0)
LARGE = (
    WIDE, replace(WIDE, ahead=1), HIGH, replace(HIGH, ahead=1), ALONE, C(256, 160, 4, ahead=0, slabs=1, span=64),
    C(192, 192, 3, 3, ahead=0, slabs=3, cluster_m=2), C(128, 192, 5, slabs=1, cluster_m=2),
)  # fmt: skip
MEDIUM = (
    ALONE, replace(ALONE, ahead=1, stages=3, slabs=4), replace(HIGH, cluster_n=1), HIGH, WIDE,
    C(128, 192, 5, slabs=1, cluster_m=2), C(128, 128, 6),
)  # fmt: skip
SMALL = (
    C(128, 64, 8), C(64, 128, 8, 1), C(64, 128, 4, 1, bk=128), C(64, 64, 6, 1, bk=128), C(64, 64, 12, 1),
    C(64, 32, 6, 1, span=64, bk=128), C(128, 128, 6),
)  # fmt: skip
SKINNY = (
    C(64, 64, 6, 1, bk=128), C(64, 64, 6, 1, bk=128, cluster_n=2), C(64, 64, 12, 1), C(64, 128, 8, 1),
    C(64, 32, 8, 1, span=64, bk=128),
)  # fmt: skip
SHAPES = tuple(MEASURED)


def candidates(m: int, n: int, k: int, processors: int = PROCESSORS) -> list[C]:
    """What is tried for a shape; the first is the library's choice."""
    some = SKINNY if m <= 64 else SMALL if m * n <= 1 << 20 else MEDIUM if m * n <= 1 << 22 else LARGE
    return list(dict.fromkeys([choose(m, n, k, processors), *some]))


def parsed(text: str) -> tuple[int, int, int]:
    """`4096` is square, `64x8192x8192` is m x n x k."""
    numbers = [int(part) for part in text.split("x")]
    return (numbers[0],) * 3 if len(numbers) == 1 else (numbers[0], numbers[1], numbers[2])


def all_cuts() -> list[C]:
    """Every configuration that any shape's candidates have."""
    return list(dict.fromkeys(cut for text in SHAPES for cut in candidates(*parsed(text))))
