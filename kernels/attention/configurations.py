"""How attention is cut into tiles for heads of so many elements."""

from __future__ import annotations

from dataclasses import replace

from prism.kernels.attention.cut import Cut

MOST_DIM = 256
_ROOM = 225 << 10
"""Bytes of tiles that a block may have, beside its barriers."""
L2 = 64 << 20
"""Bytes of keys and values that tiles which are made together read again and again: more than an H200's L2 has, 50 MB."""
_WIDE = 512
"""Bytes of a key and its value, of heads of 128 elements: as many wider ones are made together."""
_SECTION = 64
"""Heads of keys that are read together at most."""


def cut_of(dim: int, dim_v: int, rows: int, *, causal: bool = False, capped: bool = False, host: bool = False) -> Cut:
    """Return how heads of `dim` elements, and values of `dim_v`, are cut; of elements that a tile has more, copies are zeros.

    On an H200, TFLOP/s, full: heads of 64 and 16,384 keys with three warpgroups 515, with two 419, but causal and 512 keys 226
    and 254; heads of 96 with three 590, with two 524 to 552; heads of 128 with tiles of 176 keys 632, of 128 603, but causal and
    2048 keys 422 and 484; heads of 192, causal, 2048 keys, with tiles of 80 keys 556, of 112 513; heads of 256 with 80 keys 704,
    with 64 634. Of 64 elements, full, with four tiles held 539, with two 531, but causal, with three, 507 and 513.

    Few short heads of more than 128 elements flash cuts into parts of 64 keys each, and rounds weights beside the largest one of
    a part: tiles have as many there, so that errors are not larger. 512 keys, heads of 192 and 256: 448, 458 TFLOP/s, with tiles
    of 112 and 80 keys 455, 448.

    `capped`: scores are bounded by a tanh. With three warpgroups there are too few registers for that beside as many scores.
    """
    d, dv = (-(-max(n, 1) // 32) * 32 for n in (dim, dim_v))
    if host:
        return Cut(d, dv, keys=64, slab=True)
    wide = max(d, dv)
    if rows <= 64 and wide <= 128:
        return _in_room(Cut(d, dv, keys=128, groups=1))
    if wide <= 96 and not (causal and rows <= 512):
        keys = (128 if wide <= 64 else 112) - (16 if capped else 0)
        return _in_room(Cut(d, dv, keys=keys, groups=3, stages=4 if wide <= 64 and not causal else 2))
    if wide <= 128:
        return _in_room(Cut(d, dv, keys=128 if causal or rows < 4096 else 176))
    keys = 64 if 64 < rows <= 768 else 80 if causal or wide > 192 or rows <= 1024 else 112
    return _in_room(Cut(d, dv, keys=keys))


def cut_of_bytes(dim: int, dim_v: int, rows: int, *, causal: bool = False, host: bool = False) -> Cut:
    """Return how heads of 8-bit floats are cut.

    On an H200, TFLOP/s, full, 16,384 keys, heads of 128: 1012 with late turns, 804 with others, 832 without; 900 without, and
    polynomials for a third of the powers; three warpgroups 831 at most.
    """
    d, dv = (-(-max(n, 1) // 32) * 32 for n in (dim, dim_v))
    if host:
        return Cut(d, dv, keys=64, width=1)
    wide = max(d, dv)
    if rows <= 64 and wide <= 128:
        return _in_room(Cut(d, dv, keys=128, groups=1, width=1))
    if wide <= 64:
        return _in_room(Cut(d, dv, keys=128, groups=3, width=1))
    if wide <= 128:
        return _in_room(Cut(d, dv, keys=192, late=True, width=1))
    return _in_room(Cut(d, dv, keys=128 if wide <= 192 else 96, width=1))


def _in_room(cut: Cut) -> Cut:
    """Return the cut with a slab, and with two tiles of queries, where there is room for them; the slab comes first."""
    queries, slab = cut.width * cut.rows * cut.dim, 2 * cut.rows * cut.dim_v
    left = _ROOM - queries - cut.width * cut.stages * cut.keys * (cut.dim + cut.dim_v)
    if left >= queries + slab:
        return replace(cut, queries=2)
    return cut if left >= slab else replace(cut, slab=False)


def keys_together(bytes_of_key: int) -> int:
    """Return how many keys tiles read that are made together, of all their heads of keys.

    On an H200, TFLOP/s, causal, heads of 256 elements: of 3, 4, 8 heads of 16,384 keys 615, 572, 664, of 8, 16 of 4096 488, 521.
    So there are as many as of 128 elements, whatever the L2 holds.
    """
    return L2 // max(1, min(bytes_of_key, _WIDE))


def section_of(pairs: int, share: int, keys: int, bytes_of_key: int, *, causal: bool) -> int:
    """Return of how many pairs of batches and heads tiles are made together: few enough for the L2, many to spread its reads.

    Where all tiles have as many keys, one after the other. On an H200, causal, heads of 128, of 4, 8 pairs at 16,384 keys 565,
    614 TFLOP/s (cuDNN's 503, 521), of 16, 32 at 4096 526, 581 (463, 484), of 32, 48 at 2048 484, 495; of 64, 96 at 1024 446, 409.
    """
    if not causal:
        return 1
    return min(pairs, min(_SECTION, max(1, keys_together(bytes_of_key) // max(1, keys))) * share)


__all__ = ["MOST_DIM", "cut_of", "cut_of_bytes", "keys_together", "section_of"]
