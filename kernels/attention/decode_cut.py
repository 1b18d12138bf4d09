"""How attention of few queries is cut into tiles, as the kernel sees it: a record of constants."""

from __future__ import annotations

import math
from dataclasses import dataclass

from prism.lang import float32, int32, int64, struct

_ROOM = 228 << 10
"""Bytes of shared memory of a multiprocessor: each of its blocks takes 1 KiB and some barriers more than tiles."""


@struct
class Part:
    """Four columns of a row's sums, times 2^-`log`, and so is the sum of their weights."""

    x: float32
    y: float32
    z: float32
    w: float32
    log: float32
    total: float32


@struct
class Rows:
    """Where rows lie: elements to the first one, from a head and a token to the next, and to the first one's logarithm."""

    at: int64
    head: int64
    token: int64
    log: int64


@struct
class Sizes:
    """Of a call: what there is, and the steps between batches, heads and tokens.

    `rising`: `tokens`, where each sees a key more than the one before, else 1. `strips` of 64 queries, at most, share a head of
    keys; the largest has `strip`. Tiles have room for values of `padded_v` elements. `blocks` take part. A page has `span` keys,
    or where there are none a sequence.
    """

    batches: int32
    heads: int32
    shared_by: int32
    tokens: int32
    rising: int32
    keys: int32
    columns: int32
    columns_v: int32
    strips: int32
    strip: int32
    wide: int32
    pages: int32
    span: int32
    padded_v: int32
    blocks: int32
    q_batch: int64
    q_head: int64
    q_token: int64
    o_batch: int64
    o_head: int64
    o_token: int64
    scale: float32


@dataclass(frozen=True)
class DecodeCut:
    """Up to 64 rows of `dim` elements against tiles of `keys` keys, and values of `dim_v` elements; `stages` tiles are held.

    `blocks`: how many a multiprocessor has. `page`: keys of a page of a paged cache, or 0. `once`: nobody reads keys and values
    again, so they leave the L2 first. `groups` warpgroups have some columns of the result each. `latent`: values are the keys'
    first elements.
    """

    dim: int
    dim_v: int
    keys: int = 64
    stages: int = 3
    blocks: int = 2
    lengths: bool = False
    page: int = 0
    lse: bool = False
    once: bool = False
    groups: int = 1
    latent: bool = False

    @property
    def box(self) -> int:
        """Keys that one copy brings."""
        return math.gcd(self.keys, self.page) if self.page else self.keys

    @property
    def span(self) -> int:
        """Keys of a page, or 1."""
        return max(self.page, 1)

    @property
    def together(self) -> int:
        """Copies whose pages are asked for together."""
        return min(self.keys // self.box, 4)

    @property
    def columns(self) -> int:
        """Columns of the result that a warpgroup has."""
        return self.dim_v // self.groups

    @property
    def registers(self) -> int:
        """Of a thread that computes; 0: all threads have as many."""
        return 232 if self.groups > 1 else 208 if self.blocks > 1 else 0

    @property
    def threads(self) -> int:
        """Threads of a block: the last warpgroup loads."""
        return 128 * (self.groups + 1)


@dataclass(frozen=True)
class AddCut:
    """How parts are added up: those of a row by `split` warps, `lanes` threads of which have one; `deep` are read at a time.

    `keys` of a tile, and whether sequences have `lengths`, as of `DecodeCut`; `lse`: logarithms are added up too.
    """

    split: int
    deep: int
    lanes: int = 32
    lengths: bool = False
    lse: bool = False
    keys: int = 64

    @property
    def each(self) -> int:
        """Parts of a row that are read at a time, by all of its threads."""
        return 32 // self.lanes * self.split

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return max(4, self.split)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps


def decode_cut_of(
    dim: int, dim_v: int, *, page: int = 0, lengths: bool = False, lse: bool = False, once: bool = True, host: bool = False,
) -> DecodeCut:  # fmt: skip
    """Return how heads of `dim` elements, and values of `dim_v`, are cut."""
    d, dv = (-(-n // 64) * 64 for n in (dim, dim_v))
    blocks = 2 if max(d, dv) <= 128 else 1
    stages = 2 if host else min(8, (_ROOM // blocks - 2048 - 2 * 64 * d) // (2 * 64 * (d + dv)))
    return DecodeCut(d, dv, 64, stages, blocks, lengths, page, lse, once)


def latent_cut_of(
    *, page: int = 0, lengths: bool = False, lse: bool = False, once: bool = False
) -> DecodeCut:
    """Return how a latent cache is cut: keys of 576 elements, whose first 512 are the values."""
    return DecodeCut(576, 512, 64, 2, 1, lengths, page, lse, once, groups=2, latent=True)


__all__ = ["AddCut", "DecodeCut", "Part", "Rows", "Sizes", "decode_cut_of", "latent_cut_of"]
