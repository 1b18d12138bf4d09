"""Products on the tensor cores, as they are asked for, and as a kernel makes them: how matrices lie, what comes after."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prism.host.plan import Buffer, nothing
from prism.lang.surface import Kernel
from prism.lib.views import View

if TYPE_CHECKING:
    from prism.lib.algorithms.hgemm.records import After

INTEGERS = "int8", "uint8"
"""Operands whose sums are integers."""
NO_BIAS, COLUMNS, ROWS = 0, 1, 2
"""What a bias has an element for."""
NO_BLOCKS = 0, 0
"""Scales are not of blocks."""
OPPOSITE = {"": "", "both": "both", "lower": "upper", "upper": "lower"}
"""Which triangle of a symmetric result it is in the transposed one; none where it is not symmetric."""
PER_TRANS = {NO_BIAS: NO_BIAS, COLUMNS: ROWS, ROWS: COLUMNS}
"""The same of the transposed result."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product, or a batch of them, that is to be made; `per` says what the bias has an element for.

    Where `after` is given, it has all that comes after the sums, and `c` is the array of which it is given what tensor copies
    bring; `above`: rows of its extras before the product's. `other`: a second `b`, whose sums it is given besides.

    Where there are `blocks`, scales are of so many rows of `a`, and columns of `b`, and of each 128 of K: views of these, by K.
    `triangle`: the result is symmetric, and that of its tiles is stored which this says (symmetric.py).
    """

    a: View
    b: View
    out: View
    c: View | None
    bias: View | None
    per: int
    scale_a: View | None
    scale_b: View | None
    alpha: float
    beta: float
    epilogue: Kernel
    other: View | None = None
    after: After | None = None
    above: int = 0
    blocks: tuple[int, int] = NO_BLOCKS
    triangle: str = ""

    @property
    def k_inside(self) -> bool:
        """Whether operands must have K inside: those of 8 bits."""
        return self.a.size == 1

    @property
    def sums(self) -> str:
        """What products are added up in."""
        return "int32" if self.a.scalar in INTEGERS else "float32"

    @property
    def b_inside(self) -> bool:
        """Whether `b` must have K inside: also where there are two of them."""
        return self.k_inside or self.other is not None

    def turn(self) -> Product:
        """Return the transposed product: for a result whose columns, not its rows, lie one after the other."""
        before = None if self.c is None else self.c.turn()
        found = replace(
            self, a=self.b.turn(), b=self.a.turn(), c=before, out=self.out.turn(), after=_turned(self.after)
        )
        return replace(
            found, per=PER_TRANS[self.per], scale_a=self.scale_b, scale_b=self.scale_a, blocks=self.blocks[::-1],
            triangle=OPPOSITE[self.triangle],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Laid:
    """A product as a kernel makes it: operands as their tensor maps have them, outer extent first, which is K where `outside`.

    Of `batches` products the matrices lie below each other, those of `a` where `batch` is 1 or 3, those of `b` where it is 2
    or 3; where not, all have the same. Where `trans`, the kernel makes out^T: its `a` is the caller's b^T, and so on; `out` and
    `c` stay as they are.
    """

    product: Product
    a: View
    b: View
    outside: tuple[bool, bool]
    batch: int = 0
    batches: int = 1
    trans: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """m, n, k of a product, as the kernel makes it."""
        out = self.product.out
        k = self.a.shape[0 if self.outside[0] else 1]
        m, n = out.shape[0] // self.batches, out.shape[1]
        m, n = (n, m) if self.trans else (m, n)
        return m, n, k // self.batches if self.outside[0] and self.batch % 2 == 1 else k

    @property
    def extents(self) -> tuple[int, int]:
        """Rows and columns of all sums: of two products those of both."""
        m, n, _ = self.shape
        two = 1 if self.product.other is None else 2
        return (two * m, n) if self.trans else (m, two * n)

    def turn(self) -> Laid:
        """Return the same product, not of a batch, that the kernel makes as its transpose."""
        one = self.product
        transposed = replace(
            one, per=PER_TRANS[one.per], scale_a=one.scale_b, scale_b=one.scale_a, after=_turned(one.after),
            blocks=one.blocks[::-1],
        )  # fmt: skip
        return replace(self, product=transposed, a=self.b, b=self.a, outside=self.outside[::-1], trans=True)


def _turned(after: After | None) -> After | None:
    return None if after is None else after.turn()


def buffer_of(view: View | None, scalar: str) -> Buffer:
    """Return the memory of an array, or none of a type, where there is no array."""
    return nothing(scalar) if view is None else view.buffer
