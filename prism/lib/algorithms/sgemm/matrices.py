"""The matrices of a product of `sgemm`: how they lie in memory, and what kernels are given of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from prism.host.plan import Buffer
from prism.kernels.sgemm import Layout
from prism.lib.views import View

SIZE = 4  # bytes of an element
WIDE = 4  # elements of one access, and of the pieces that tensor copies begin at


class Matrix(NamedTuple):
    """An array of a product: its strides in elements from a row, a column, a matrix to the next; `start` of its first element.

    `begins`: how many elements the array begins past a multiple of 16 bytes.
    """

    name: str
    begins: int
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
        """Where its first element lies, in elements past a multiple of 16 bytes."""
        return self.begins + self.start

    def buffer(self, p: int = 0, elements: int = 0) -> Buffer:
        """Return the memory of the p-th matrix, from so many elements on."""
        return Buffer(self.name, SIZE * (self.start + p * self.matrices + elements))


def matrix_of(view: View, matrices: int, start: int) -> Matrix:
    """Return an array whose matrices lie so many elements apart, and begin with the element of this number."""
    rows, columns = (stride // SIZE for stride in view.strides[-2:])
    return Matrix(view.name, view.begins // SIZE, rows, columns, matrices, start + view.offset // SIZE)


@dataclass(frozen=True, slots=True)
class Product:
    """`c = alpha * a @ b + beta * c`, for so many matrices; `sizes` are m, n, k, which is 0 where nothing is to be added."""

    a: Matrix
    b: Matrix
    c: Matrix
    batches: int
    sizes: tuple[int, int, int]
    alpha: float = 1.0
    beta: float = 0.0

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """How the five variants read A and B, and write the result."""
        m, n, k = self.sizes
        down_a = k <= 1 or (self.a.columns != 1 and self.a.rows == 1)
        down_b = k > 1 and self.b.rows == 1 and (self.b.columns != 1 or n == 1)
        left = self.a.layout((m, k, self.batches), down_a)
        right = self.b.layout((k, n, self.batches), down_b)
        return left, right._replace(along=down_b), self.c.layout((m, n, self.batches), False)
