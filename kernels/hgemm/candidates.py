"""What `prism tune hgemm` and the benchmark try: for each shape, the configurations that might be best.

What never was among the fastest has been left out: two blocks a multiprocessor, clusters of four, 176 and 224 columns, and
warpgroups that take turns (docs/hgemm.md).
"""

from __future__ import annotations

from prism.kernels.hgemm.configuration import NN
from prism.kernels.hgemm.configuration import Configuration as C
from prism.kernels.hgemm.configurations import (
    MEASURED,
    PROCESSORS,
    SHARING,
    choose,
    cuts,
)
from prism.kernels.hgemm.estimate import estimate
from prism.kernels.hgemm.singles import forms

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


def near_best(m: int, n: int, k: int, processors: int, layout: tuple[bool, bool], most: int = 40) -> list[C]:
    """Return every configuration that may suit a single product: those that the model has within twice the best, not too many."""
    some = forms(m, n, k, processors, layout)
    times = dict(zip(some.some, estimate(some, m, n, k, processors).tolist(), strict=True))
    least = min(times.values())
    return sorted((found for found in times if times[found] < 2 * least), key=lambda found: times[found])[:most]
