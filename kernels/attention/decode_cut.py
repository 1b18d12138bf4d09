"""How attention of few queries is cut into tiles, as the kernel sees it: a record of constants."""

from __future__ import annotations

import math
from dataclasses import dataclass

_ROOM = 226 << 10
"""Bytes of tiles that a block may have, beside its barriers."""


@dataclass(frozen=True)
class DecodeCut:
    """Up to 64 rows of `dim` elements against tiles of `keys` keys, and values of `dim_v` elements; `stages` tiles are held.

    `halves`: 1 where there are at most 8 rows, of the 16 that a warp has. `page`: keys of a page of a paged cache, or 0.
    `tokens`: there are several queries a head.
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
    tokens: bool = False

    @property
    def box(self) -> int:
        """Keys that one copy brings."""
        return math.gcd(self.keys, self.page) if self.page else self.keys

    @property
    def kept(self) -> int:
        """Elements of the sums that a unit keeps for others, at most: of two parts."""
        return 64 * self.halves * self.dim_v

    @property
    def threads(self) -> int:
        """Threads of a block: the last warpgroup loads."""
        return 256


def decode_cut_of(
    dim: int, dim_v: int, rows: int, *, page: int = 0, lengths: bool = False, causal: bool = False, tokens: bool = False,
    lse: bool = False, host: bool = False,
) -> DecodeCut:  # fmt: skip
    """Return how heads of `dim` elements, and values of `dim_v`, are cut, for `rows` queries of a head of keys.

    Of pages a tile has the number of keys of which copies bring the most at once.
    """
    d, dv = (-(-n // 64) * 64 for n in (dim, dim_v))
    largest = 64 if host or max(d, dv) > 128 else 128
    keys = max(range(64, largest + 1, 16), key=lambda n: (math.gcd(n, page), n)) if page else largest
    room = _ROOM - 2 * 2 * 64 * d
    stages = 2 if host else room // (2 * keys * (d + dv))
    return DecodeCut(d, dv, keys, stages, 1 if rows <= 8 else 2, causal, lengths, page, lse, tokens)


__all__ = ["DecodeCut", "decode_cut_of"]
