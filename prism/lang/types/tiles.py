"""How a shared tile lies in its bytes: slabs, the swizzle, and where an element is. The emitter and the intrinsics ask here.

A tile without a swizzle is a plain array, its last index the fastest. A tile swizzled in spans of 128, 64 or 32 bytes is cut
into slabs, each as wide as the span: slab s holds columns s * span .. of all rows, row after row, and slabs follow one another.
(The tensor copy engine writes one slab a copy.) Inside a slab, 16-byte pieces change places: bits of a byte's offset are
xor-ed with the three (two, one) bits above bit 6, which count rows of 128 bytes. The base must be aligned to `ALIGNMENT`, so that
offsets and addresses have the same such bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from prism.lang.types import SWIZZLES, Mailbox, Pointer, Scalar, TensorMap, Vector

Tile = Pointer | TensorMap

ALIGNMENT = {0: 128, 32: 256, 64: 512, 128: 1024}
"""Where a tile that the copy engine or wgmma touches must begin, in bytes, by its swizzle: each pattern repeats after that."""

LARGEST_BOX = 256
MOST_EXTENTS = 5


def extents(tile: Tile) -> tuple[int, ...]:
    """Return a tile's shape, outermost first."""
    if isinstance(tile, TensorMap):
        return tile.box
    if tile.shape is None:
        raise ValueError(f"{tile} is no tile: its shape is not known")
    return tile.shape


def element_bytes(tile: Tile) -> int:
    """Return the size of one element."""
    return tile.element.bytes


def bytes_of(tile: Tile) -> int:
    """Return the bytes of a whole tile, which is also what a copy of it completes."""
    return prod(extents(tile)) * element_bytes(tile)


def rows_of(tile: Tile) -> int:
    """Return the number of rows: of all extents but the last."""
    return prod(extents(tile)[:-1])


def slabs(tile: Tile) -> tuple[int, int]:
    """Return how many slabs a tile has, and how many columns each."""
    columns = extents(tile)[-1]
    span = tile.swizzle // element_bytes(tile)
    return (columns // span, span) if span and columns > span else (1, columns)


def slab_bytes(tile: Tile) -> int:
    """Return the bytes from one slab to the next."""
    return rows_of(tile) * slabs(tile)[1] * element_bytes(tile)


def box(tile: Tile) -> tuple[int, ...]:
    """Return the box that one tensor copy moves, outermost first: a slab."""
    return (*extents(tile)[:-1], slabs(tile)[1])


def extents_in(shape: Sequence[int], box: Sequence[int]) -> tuple[int, ...] | None:
    """Return the extents of a box as a shared tile of this shape counts them, or None where the box is no rows of the tile.

    A box's rows follow one another in shared memory, whatever axes of the tensor they come from. So extents of 1 do not count,
    and in a tile that is a matrix all rows are one extent: a box of 1 x 64 x 2 x 128 fills 128 x 128 elements.
    """
    *outer, columns = box
    for seen in (tuple(box), (*(n for n in outer if n > 1), columns), (prod(outer), columns)):
        inner = tuple(shape[max(len(shape) - len(seen), 0) :])
        if len(inner) == len(seen) and inner[1:] == seen[1:] and inner[0] >= seen[0]:
            return seen
    return None


def shape_problem(element: Scalar | Vector | Mailbox, shape: Sequence[int], swizzle: int) -> str:
    """Return why no tile can be of this shape and swizzle, in words, or the empty string."""
    if swizzle not in SWIZZLES:
        return f"a swizzle is one of {', '.join(map(str, SWIZZLES))} bytes, not {swizzle}"
    if not swizzle:
        return ""
    row = shape[-1] * element.bytes
    if row % swizzle:
        return f"a row of {shape[-1]} {element} has {row} bytes, which is no multiple of the swizzle's {swizzle}"
    if element.bytes > 16 or 16 % element.bytes:
        return f"a swizzle moves pieces of 16 bytes, and {element} has {element.bytes}"
    rows = prod(shape[:-1])
    if row > swizzle and rows % 8:
        return f"rows longer than the swizzle's {swizzle} bytes come in multiples of 8, not {rows}"
    return ""


def map_problem(tensor: TensorMap) -> str:
    """Return why the tensor copy engine cannot move such tiles, in words, or the empty string."""
    some_rows = (8, *tensor.box[-1:])  # a box may be any rows of a tile
    if found := shape_problem(tensor.element, some_rows, tensor.swizzle):
        return found
    if not 1 <= len(tensor.box) <= MOST_EXTENTS:
        return f"a tensor map has 1 to {MOST_EXTENTS} extents, not {len(tensor.box)}"
    if not all(1 <= n <= LARGEST_BOX for n in box(tensor)):
        which = "of 1 to 256 elements" + (
            " (the last one, of any number of the swizzle's spans)" if tensor.swizzle else ""
        )
        return f"each extent of a tile is {which}, not {', '.join(map(str, tensor.box))}"
    row = tensor.box[-1] * tensor.element.bytes
    return f"a row of a tile has a multiple of 16 bytes, not {row}" if row % 16 else ""


# -- where an element is --------------------------------------------------------------------------------------------------


def swizzle(offset: int, swizzle: int) -> int:
    """Return where the byte that would be at `offset` of a tile is: 16-byte pieces change places in each span."""
    return offset ^ (offset >> 7 & swizzle // 16 - 1) << 4 if swizzle else offset


def start_offset(tile: Tile, *indices: int) -> int:
    """Return an element's offset in bytes before swizzling: what an intrinsic takes for the address where a tile begins."""
    row = 0
    for index, extent in zip(indices[:-1], extents(tile)[:-1], strict=True):
        row = row * extent + index
    slab, column = divmod(indices[-1], slabs(tile)[1])
    return slab * slab_bytes(tile) + (row * slabs(tile)[1] + column) * element_bytes(tile)


def byte_offset(tile: Tile, *indices: int) -> int:
    """Return where an element is, in bytes from the tile's first."""
    return swizzle(start_offset(tile, *indices), tile.swizzle)


SWIZZLE = """\
template <int SPAN> static __device__ __forceinline__ int px_swizzle(int row, int column) {
    return row + (column ^ (row >> 7 & (SPAN / 16 - 1)) << 4);
}
"""


def start_text(tile: Tile, *indices: str) -> str:
    """Return `start_offset` as a C++ expression of type int; the indices are C++ expressions of integers."""
    return _sum(*_terms(tile, *indices))


def _terms(tile: Tile, *indices: str) -> tuple[tuple[str, int], ...]:
    """Return what `start_offset` is the sum of, as C++ expressions and factors: slabs, rows, and last the bytes in a row."""
    (count, columns), size = slabs(tile), element_bytes(tile)
    row = ""
    for index, extent in zip(indices[:-1], extents(tile)[:-1], strict=True):
        row = f"({row} * {extent} + {_int(index)})" if row else _int(index)
    if count == 1:
        return (row or "0", columns * size), (_int(indices[-1]), size)
    if indices[-1].isdecimal():
        slab, column = map(str, divmod(int(indices[-1]), columns))
    else:
        slab, column = (f"(int)((unsigned int)({indices[-1]}) {op} {columns}u)" for op in "/%")
    return (slab, slab_bytes(tile)), (row or "0", columns * size), (column, size)


def _int(index: str) -> str:
    return index if index.isdecimal() else f"(int)({index})"


def _sum(*terms: tuple[str, int]) -> str:
    texts = [
        str(int(text) * factor) if text.isdecimal() else f"{text} * {factor}" if factor > 1 else text
        for text, factor in terms
    ]
    return " + ".join(text for text in texts if text != "0") or "0"


def offset_text(tile: Tile, *indices: str) -> str:
    """Return `byte_offset` as a C++ expression, which calls `px_swizzle` (its text is `SWIZZLE`) where there is a swizzle.

    The helper takes the row's first byte and the bytes in the row apart, and no slab of a multiple of 8 rows: what the
    permutation takes from rows 8 apart is the same, and is computed once.
    """
    *slab, row, column = _terms(tile, *indices)
    if not tile.swizzle or _sum(*slab, row, column) == "0":
        return _sum(*slab, row, column)
    if slab_bytes(tile) % (8 * tile.swizzle):
        return f"px_swizzle<{tile.swizzle}>({_sum(*slab, row)}, {_sum(column)})"
    place = f"px_swizzle<{tile.swizzle}>({_sum(row)}, {_sum(column)})"
    return place if _sum(*slab) == "0" else f"{_sum(*slab)} + {place}"
