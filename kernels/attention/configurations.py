"""How attention is cut into tiles for heads of so many elements."""

from __future__ import annotations

from dataclasses import replace

from prism.kernels.attention.cut import Cut

MOST_DIM = 256
_ROOM = 225 << 10
"""Bytes of tiles that a block may have, beside its barriers."""
L2 = 32 << 20
"""Bytes of keys and values that are read again and again while they are in the L2: about half of an H200's."""


def cut_of(dim: int, dim_v: int, rows: int, *, host: bool = False) -> Cut:
    """Return how heads of `dim` elements, and values of `dim_v`, are cut; of elements that a tile has more, copies are zeros.

    On an H200, TFLOP/s at 16,384 keys: heads of 64 with three warpgroups 515, with two 419; heads of 128 with tiles of 128 keys
    607, of 144 582, of 160 602; heads of 256 with tiles of 80 keys 704, of 64 634.
    """
    d, dv = (-(-max(n, 1) // 32) * 32 for n in (dim, dim_v))
    if host:
        return Cut(d, dv, keys=64, slab=True)
    wide = max(d, dv)
    if rows <= 64 and wide <= 128:
        return _in_room(Cut(d, dv, keys=128, groups=1, registers=0))
    if wide <= 64:
        return _in_room(Cut(d, dv, keys=128, groups=3, turns=True, registers=160, loader_registers=32))
    if wide <= 128:
        return _in_room(Cut(d, dv, keys=128, turns=True))
    return _in_room(Cut(d, dv, keys=112 if wide <= 192 else 80, turns=True))


def cut_of_bytes(dim: int, dim_v: int, rows: int, *, host: bool = False) -> Cut:
    """Return how heads of 8-bit floats are cut."""
    d, dv = (-(-max(n, 1) // 32) * 32 for n in (dim, dim_v))
    if host:
        return Cut(d, dv, keys=64, width=1, seldom=True)
    wide = max(d, dv)
    if rows <= 64 and wide <= 128:
        return _in_room(Cut(d, dv, keys=128, groups=1, registers=0, width=1, seldom=True))
    if wide <= 64:
        cut = Cut(d, dv, keys=128, groups=3, turns=True, registers=160, loader_registers=32, width=1, seldom=True)
        return _in_room(cut)
    keys = 192 if wide <= 128 else 128 if wide <= 192 else 96
    return _in_room(Cut(d, dv, keys=keys, turns=True, width=1, seldom=True))


def _in_room(cut: Cut) -> Cut:
    """Return the cut with a slab, and with two tiles of queries, where there is room for them; the slab comes first."""
    queries, slab = cut.width * cut.rows * cut.dim, 2 * cut.rows * cut.dim_v
    left = _ROOM - queries - cut.width * cut.stages * cut.keys * (cut.dim + cut.dim_v)
    if left >= queries + slab:
        return replace(cut, queries=2)
    return cut if left >= slab else replace(cut, slab=False)


def section_of(pairs: int, share: int, keys: int, bytes_of_key: int, *, causal: bool) -> int:
    """Return of how many pairs of batches and heads tiles are made together: of those whose keys and values the L2 holds.

    Where all tiles have as many keys, one after the other.
    """
    if not causal:
        return 1
    return min(pairs, max(1, L2 // max(1, keys * bytes_of_key)) * share)


__all__ = ["MOST_DIM", "cut_of", "cut_of_bytes", "section_of"]
