"""The matrices of a launch of `sgemm`: how they lie in memory, and what kernels are given of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from prism.kernels.sgemm import Layout
from prism.runtime.arrays import ArrayInfo

SIZE = 4  # bytes of an element
WIDE = 4  # elements of one access, and of the pieces that tensor copies begin at


class Matrix(NamedTuple):
    """An array of a launch: its strides in elements from a row, a column, a matrix to the next; `start` of its first element."""

    info: ArrayInfo
    rows: int
    columns: int
    matrices: int
    start: int = 0

    def layout(self, extents: tuple[int, int, int], down: bool) -> Layout:
        """Return how it is read by fours: down its columns, or along its rows; `extents`: rows, columns, matrices."""
        inside, outside = (self.rows, self.columns) if down else (self.columns, self.rows)
        steps = [(self.first, 2), (outside, extents[down]), (self.matrices, extents[2])]
        return Layout(not down, inside == 1 and all(step % WIDE == 0 for step, extent in steps if extent > 1))

    @property
    def first(self) -> int:
        """Where its first element lies, in elements."""
        return self.info.pointer // SIZE + self.start

    def argument(self) -> Any:
        """Return what stands for its memory: an address, or on the host the elements from the first on."""
        if self.info.device is not None:
            return self.info.pointer + SIZE * self.start
        steps = sum((e - 1) * s for e, s in zip(self.info.shape, self.info.strides, strict=True) if e > 1)
        size = steps // SIZE + 1 if self.info.size else 0
        memory = np.lib.stride_tricks.as_strided(self.info.owner, (size,), (SIZE,))
        return memory[self.start :]
