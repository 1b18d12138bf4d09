"""How attention's backward is cut into tiles, as the kernels see it: a record of constants."""

from __future__ import annotations

from dataclasses import dataclass

from prism.kernels.attention.cut import Terms


@dataclass(frozen=True)
class BackwardCut:
    """Tiles of `rows` rows of queries against tiles of 64 keys for each of `groups` warpgroups; `stages` tiles are held at once.

    Rows of queries and keys have `dim` elements, those of values `dim_v`. A warpgroup adds up 64 columns of dQ: of all rows of a
    tile or, where there are more warpgroups than such columns, of a part of them.
    """

    dim: int
    dim_v: int
    rows: int = 64
    stages: int = 2
    groups: int = 2
    registers: int = 240
    loader_registers: int = 24

    @property
    def keys(self) -> int:
        """Keys of a block's tile."""
        return 64 * self.groups

    @property
    def threads(self) -> int:
        """Threads of a block: the last warpgroup loads and stores."""
        return 128 * (self.groups + 1)

    @property
    def across(self) -> int:
        """How many warpgroups have columns of dQ of their own."""
        return self.dim // 64

    @property
    def part_rows(self) -> int:
        """Rows of dQ that a warpgroup adds up, 64 columns of each."""
        return self.rows * self.across // self.groups

    @property
    def part(self) -> int:
        """Elements of dQ that a warpgroup adds up."""
        return 64 * self.part_rows

    @property
    def span(self) -> int:
        """Bytes of a row of gradients of scores that are permuted: warpgroups' parts are multiples."""
        return next(span for span in (128, 64, 32) if self.rows * 2 % span == self.part_rows * 2 % span == 0)

    @property
    def apart(self) -> bool:
        """Whether gradients of keys, and those of values, are made by a launch each: both sums don't fit into registers."""
        return max(self.dim, self.dim_v) > MOST_TOGETHER


KEYS = 128
"""Keys of a block's tile, of two warpgroups."""
MOST_TOGETHER = 128
"""Elements of a head, at most, of which sums of two gradients of a tile are in registers."""


NO_TERMS = Terms()


def backward_cut_of(
    dim: int, dim_v: int, terms: Terms = NO_TERMS, *, added: bool = True, masked: bool = True
) -> BackwardCut:
    """Return how the backward of heads of so many elements, and of values of so many, is cut: tiles hold zeros beyond them.

    `added`: parts of dQ are added up. `masked`: some rows don't see some keys. The most rows that registers have room for.
    """
    wide, wide_v = (-(-elements // 64) * 64 for elements in (dim, dim_v))
    rows = 64 if wide + wide_v <= 448 else 48
    if wide == wide_v == 64:
        rows = 128 if added and not (terms.cap or terms.window) else 96
    elif wide == wide_v == 128 and added and not (masked or terms.cap):
        rows = 80
    return BackwardCut(wide, wide_v, rows)


__all__ = ["KEYS", "BackwardCut", "backward_cut_of"]
