"""How attention is cut into tiles, as the kernels see it: a record of constants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cut:
    """Rows of `dim` elements against tiles of `keys` keys, of which, and of their values of `dim_v` elements, `stages` are held.

    `groups` warpgroups have 64 rows each; they take turns at the tensor cores where `turns`. `held` tiles of queries are there at once.
    """

    dim: int
    dim_v: int
    keys: int
    stages: int = 2
    groups: int = 2
    turns: bool = False
    held: int = 1
    registers: int = 240
    loader_registers: int = 24

    @property
    def rows(self) -> int:
        """Rows of a block's tile."""
        return 64 * self.groups

    @property
    def threads(self) -> int:
        """Threads of a block: the last warpgroup loads."""
        return 128 * (self.groups + 1)


@dataclass(frozen=True)
class Masks:
    """Which columns a row sees: those up to its own where `causal`, from its own less a bound on where `window`.

    `cap`: scores are bounded by a tanh. `sinks`: a logit of each head is in the sum alone. `lse`: the logarithms are written.
    """

    causal: bool = False
    window: bool = False
    cap: bool = False
    sinks: bool = False
    lse: bool = False


__all__ = ["Cut", "Masks"]
