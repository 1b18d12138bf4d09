"""How attention of few queries is cut into tiles, as the kernel sees it: a record of constants."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class DecodeCut:
    """Up to 64 rows, of `dim` elements, against tiles of `keys` keys, of which, and of their values of `dim_v` elements, `stages` are held.

    `halves`: 1 where there are at most 8 rows, of the 16 that a warp has. `page`: keys of a page of a paged cache, or 0.
    """

    dim: int
    dim_v: int
    keys: int
    stages: int = 3
    halves: int = 2
    causal: bool = False
    lengths: bool = False
    page: int = 0
    lse: bool = False

    @property
    def box(self) -> int:
        """Keys that one copy brings."""
        return math.gcd(self.keys, self.page) if self.page else self.keys

    @property
    def threads(self) -> int:
        """Threads of a block: the last warpgroup loads."""
        return 256


__all__ = ["DecodeCut"]
