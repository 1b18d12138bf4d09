"""What a sort in one launch is of: the types of what it reads and writes, and how keys are put in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prism.host.plan import nothing, size_of
from prism.kernels.sort import GIVEN, POSITIONS
from prism.lib.algorithms.sort_rows.plan import Names


@dataclass(frozen=True, slots=True)
class Elements:
    """Keys of type `key`, values or positions beside them, and what puts keys in order: see `prism.kernels.sort.order`.

    `carried`: what goes where a key goes. `value`, `position`: types, of nothing where that is not asked for.
    """

    key: str
    value: str
    position: str
    carried: int
    kind: int
    flip: int
    lowest: int

    @property
    def size(self) -> int:
        """How many bytes a key has."""
        return size_of(self.key)

    @property
    def template(self) -> dict[str, Any]:
        """Template arguments that all kernels of such sorts take."""
        return {"K": self.key, "V": self.value, "VO": self.position, "VALUES": self.carried}

    def arguments(self, names: Names) -> dict[str, Any]:
        """Return what all kernels of such sorts are given, of the arrays called `names`."""
        return {
            "x": names.x, "y": nothing(self.key) if self.carried == POSITIONS else names.y,
            "given": names.values if self.carried == GIVEN else nothing(self.value),
            "values": names.moved if self.carried == GIVEN else nothing(self.value),
            "positions": names.places if self.carried == POSITIONS else nothing(self.position),
            "flip": self.flip, "lowest": self.lowest,
        }  # fmt: skip


__all__ = ["Elements"]
