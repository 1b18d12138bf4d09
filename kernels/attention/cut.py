"""How attention is cut into tiles, as the kernels see it: records of constants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cut:
    """Rows of `dim` elements against tiles of `keys` keys, of which, and of their values of `dim_v` elements, `stages` are held.

    `groups` warpgroups have 64 rows each; they take turns at the tensor cores where `turns`. Results leave through shared memory
    where `slab`, else from registers. `registers` are those of a thread that computes, `loader_registers` of others; 0: all have
    as many.
    """

    dim: int
    dim_v: int
    keys: int
    stages: int = 2
    groups: int = 2
    turns: bool = False
    slab: bool = True
    registers: int = 240
    loader_registers: int = 24

    @property
    def rows(self) -> int:
        """Rows of a block's tile."""
        return 64 * self.groups

    @property
    def threads(self) -> int:
        """Threads of a block: the last warpgroup loads and stores."""
        return 128 * (self.groups + 1)

    @property
    def span(self) -> int:
        """Bytes within which rows of queries and keys are permuted."""
        return 128 if self.dim % 64 == 0 else 64

    @property
    def span_v(self) -> int:
        """Bytes within which rows of values and results are permuted."""
        return 128 if self.dim_v % 64 == 0 else 64


@dataclass(frozen=True)
class Terms:
    """What is done with scores. Row r sees columns up to its own where `causal`, and from a bound below it on where `window`.

    `cap`: scores are bounded by a tanh. `sinks`: each head has one more score, of no value. `lse`: logarithms of sums are written.
    """

    causal: bool = False
    window: bool = False
    cap: bool = False
    sinks: bool = False
    lse: bool = False


__all__ = ["Cut", "Terms"]
