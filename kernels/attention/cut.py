"""How attention is cut into tiles, as the kernels see it: records of constants, and the sizes of a call."""

from __future__ import annotations

from dataclasses import dataclass

from prism.lang import float32, int32, int64, struct


@struct
class Sizes:
    """Of a call: `pairs` of batches and their `heads`, `rows` rows of queries and `keys` keys, whose heads `share` heads share.

    Row r sees columns up to r + `ahead` where causal, from r - `back` on where there is a window: counted from a sequence's
    first row and key, or from its last where `Terms.last`. Tiles of `section` pairs are made together, those with the most keys
    first; at the end of `section` and what is left, so that there are enough tiles of few keys when blocks end. Where sequences
    are packed `rows` and `keys` are those of `pairs / heads` sequences, and heads that have `section` keys in all are made
    together. Scores are products times `scale`, bounded by `cap`. A result has `columns`, and steps from a batch, a head and a
    row to the next.
    """

    pairs: int32
    heads: int32
    share: int32
    rows: int32
    keys: int32
    ahead: int32
    back: int32
    columns: int32
    section: int32
    scale: float32
    cap: float32
    batch_step: int64
    head_step: int64
    row_step: int64


@dataclass(frozen=True)
class Cut:
    """Rows of `dim` elements against tiles of `keys` keys; of these, and of values of `dim_v` elements, `stages` are held.

    `groups` warpgroups have 64 rows each, and take turns at the tensor cores: until their products are asked for, or where `late`
    until those with keys are made, compared, and the sums scaled. Results leave through shared memory where `slab`, else from
    registers. Elements have `width` bytes: 2, or 1, where values are transposed, rows of keys, and permuted (`transpose_values`).
    `queries` tiles of queries are held: with 2, the next tile's are there when it begins.
    """

    dim: int
    dim_v: int
    keys: int
    groups: int = 2
    slab: bool = True
    width: int = 2
    queries: int = 1
    late: bool = False
    stages: int = 2

    @property
    def registers(self) -> int:
        """Of a thread that computes; 0: all threads have as many."""
        return (0, 232, 160)[self.groups - 1]

    @property
    def loader_registers(self) -> int:
        """Of a thread of the last warpgroup."""
        return (0, 40, 32)[self.groups - 1]

    @property
    def rows(self) -> int:
        """Rows of a block's tile."""
        return 64 * self.groups

    @property
    def threads(self) -> int:
        """Threads of a block: the last warpgroup loads and stores."""
        return 128 * (self.groups + 1)

    @property
    def transposed(self) -> bool:
        """Whether a tile of values has a row for each of their elements, as wgmma wants those of 8 bits."""
        return self.width == 1

    @property
    def values(self) -> tuple[int, int]:
        """Extents of a tile of values."""
        return (self.dim_v, self.keys) if self.transposed else (self.keys, self.dim_v)

    @property
    def rows_v(self) -> int:
        """Rows of a tile of values."""
        return self.values[0]

    @property
    def columns_v(self) -> int:
        """Columns of a tile of values."""
        return self.values[1]

    @property
    def span(self) -> int:
        """Bytes within which rows of queries and keys are permuted."""
        return span(self.dim * self.width)

    @property
    def span_v(self) -> int:
        """Bytes within which rows of values are permuted."""
        return span(self.columns_v * self.width)

    @property
    def span_out(self) -> int:
        """Bytes within which rows of results, of 16-bit elements, are permuted."""
        return span(2 * self.dim_v)


def span(row: int) -> int:
    """Return the largest span of a swizzle in which a row of so many bytes is whole spans."""
    return next((bytes for bytes in (128, 64, 32) if row % bytes == 0), 0)


@dataclass(frozen=True)
class Terms:
    """What is done with scores. Row r sees columns up to its own where `causal`, and from a bound below it on where `window`.

    `cap`: scores are bounded by a tanh. `sinks`: each head has one more score, of no value. `lse`: sums' logarithms are written.
    `packed`: sequences of any lengths lie one after the other; their last rows and keys are at one place where `last`, else their
    first ones.
    """

    causal: bool = False
    window: bool = False
    cap: bool = False
    sinks: bool = False
    lse: bool = False
    packed: bool = False
    last: bool = False


__all__ = ["Cut", "Sizes", "Terms"]
