"""Gathers of a cluster on the reference machine: what each warp has given, until all of that gather have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.interpret.frame import Block
from prism.lang.types.perspective import WARP


@dataclass(slots=True)
class Gathers:
    """How many gathers each warp of a cluster has come to; of those that some may wait for, what was given, and by whom."""

    came: Any
    values: dict[int, Any] = field(default_factory=dict)
    here: dict[int, Any] = field(default_factory=dict)

    def give(self, block: Block, lanes: Any, values: Any) -> int:
        """Add what some warps of a block have, of shape (lanes, n), to their next gather; return its number."""
        warps = lanes[::WARP] // WARP + block.rank * (block.machine.threads // WARP)
        (number,) = {int(n) for n in self.came[warps]}  # threads that run together have come equally often
        if number not in self.values:
            self.values[number] = np.zeros((len(self.came), WARP, values.shape[1]), values.dtype)
            self.here[number] = np.zeros(len(self.came), bool)
            for one in (self.values, self.here):  # all have read the one before the last
                one.pop(number - 2, None)
        self.values[number][warps] = values.reshape(len(warps), WARP, -1)
        self.here[number][warps] = True
        self.came[warps] += 1
        return number

    def collect(self, block: Block, number: int) -> Any:
        """Return what lane d of each warp gave, for block d; None until all have."""
        return self.values[number][:, block.rank] if self.here[number].all() else None


def gathers_of(block: Block) -> Gathers:
    """Return the gathers of a block's cluster."""
    cluster = block.cluster
    if cluster.gathers is None:
        cluster.gathers = Gathers(np.zeros(cluster.size * block.machine.threads // WARP, np.int64))
    found: Gathers = cluster.gathers
    return found
