"""What `prism tune hgemm` and the benchmark try: shapes, and for each the configurations that might be best."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prism.kernels.hgemm.configurations import Configuration as C
from prism.kernels.hgemm.configurations import choose

PROCESSORS = 132

WIDE = C(128, 256, 4, cluster_m=2)
ALONE = replace(WIDE, cluster_m=1)
LARGE = (
    WIDE, ALONE, replace(ALONE, ahead=0), replace(WIDE, ahead=0), replace(ALONE, cluster_n=2), replace(WIDE, cluster_m=4),
    replace(WIDE, stages=3, slabs=4), replace(WIDE, stages=2, bk=128), C(256, 128, 4, slabs=1, cluster_n=2),
    C(128, 192, 4, cluster_m=2), C(128, 192, 5, slabs=1, cluster_m=2), C(128, 192, 4), C(128, 224, 4, span=64, slabs=4),
    C(128, 224, 4, span=64, slabs=4, cluster_m=2), C(128, 160, 5, span=64, slabs=4), C(128, 128, 6, cluster_m=2),
    C(128, 128, 3, 1, slabs=1, blocks=2, cluster_m=2), C(128, 128, 3, 1, slabs=1, blocks=2),
)  # fmt: skip
MEDIUM = (
    WIDE, ALONE, replace(ALONE, cluster_n=2), C(128, 128, 6), C(128, 128, 6, cluster_m=2), C(128, 128, 6, cluster_n=2),
    C(128, 128, 3, 1, slabs=1, blocks=2, cluster_m=2), C(128, 128, 3, 1, slabs=1, blocks=2), C(128, 192, 4, cluster_m=2),
    C(64, 256, 5, 1, cluster_m=2), C(256, 128, 4, slabs=1, cluster_n=2), replace(WIDE, stages=2, bk=128),
)  # fmt: skip
SMALL = (
    C(128, 64, 8), C(128, 64, 8, cluster_n=2), C(128, 64, 8, cluster_m=2), C(128, 64, 8, cluster_n=4),
    C(64, 128, 8, 1), C(64, 128, 8, 1, cluster_m=2), C(64, 128, 4, 1, bk=128), C(64, 128, 4, 1, bk=128, cluster_m=2),
    C(64, 64, 12, 1), C(64, 64, 12, 1, cluster_n=2), C(64, 64, 12, 1, cluster_m=2), C(64, 32, 12, 1, span=64),
    C(64, 32, 6, 1, span=64, bk=128), C(128, 128, 6), C(128, 128, 6, cluster_m=2), C(64, 64, 6, 1, bk=128),
    C(64, 64, 6, 1, bk=128, cluster_m=2), C(128, 64, 4, bk=128), C(128, 64, 4, bk=128, cluster_n=2),
    C(128, 64, 4, bk=128, cluster_m=2),
)  # fmt: skip
SKINNY = (
    C(64, 64, 12, 1), C(64, 64, 12, 1, cluster_n=2), C(64, 64, 12, 1, cluster_n=4), C(64, 32, 16, 1, span=64),
    C(64, 32, 8, 1, span=64, bk=128), C(64, 64, 6, 1, bk=128), C(64, 64, 6, 1, bk=128, cluster_n=2),
    C(64, 64, 6, 1, bk=128, cluster_n=4), C(64, 128, 8, 1), C(64, 64, 3, 1, bk=256, cluster_n=2),
)  # fmt: skip
SHAPES = (
    "512", "1024", "2048", "3072", "4096", "5120", "8192", "4096x14336x4096", "8192x1024x8192", "64x8192x8192",
    "4104x4096x4104",
)  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """A configuration, and how many tiles to go down before going right (0: what the library takes)."""

    cut: C
    tall: int = 0

    @property
    def name(self) -> str:
        """A short name, for tables of measurements."""
        return self.cut.name + (f" tall{self.tall}" if self.tall else "")


def candidates(m: int, n: int, k: int, processors: int = PROCESSORS) -> list[Candidate]:
    """What is tried for a shape; the first is the library's choice."""
    some = SKINNY if m <= 64 else SMALL if m * n <= 1 << 20 else MEDIUM if m * n <= 1 << 22 else LARGE
    found = [Candidate(choose(m, n, k, processors))] + [Candidate(cut) for cut in some]
    if some is LARGE:
        found += [Candidate(WIDE, t) for t in (4, 12, 16)]
    return list(dict.fromkeys(found))


def parsed(text: str) -> tuple[int, int, int]:
    """`4096` is square, `64x8192x8192` is m x n x k."""
    numbers = [int(part) for part in text.split("x")]
    return (numbers[0],) * 3 if len(numbers) == 1 else (numbers[0], numbers[1], numbers[2])


def all_cuts() -> list[C]:
    """Every configuration that any shape's candidates have."""
    shapes = [parsed(text) for text in (*SHAPES, "16384")]
    return list(dict.fromkeys(what.cut for shape in shapes for what in candidates(*shape)))
