"""Sequences that lie one after the other: what offsets may be, and maps that end where a sequence does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host.plan import Buffer, Map, nothing
from prism.kernels.attention.configurations import keys_together
from prism.lib.views import View
from prism.runtime.arrays import ArrayInfo, require_axes

OFFSETS = ("offsets", "key_offsets")
INDICES = ("int32", "int64")
MOST = 1 << 28
"""Rows, keys and tiles of all sequences, at most: a row plus what it sees and is apart from the diagonal has 32 bits."""


def count_sequences(arrays: Mapping[str, ArrayInfo], heads: int, rows: int, keys: int) -> int:
    """Return how many sequences offsets tell apart, of so many rows and keys in all, and heads.

    Raises:
        TypeError: offsets are of no dtype of `INDICES`, or of two.
        ValueError: they are not one more than sequences, of which rows and keys have as many; there is none for the keys, and
            there are not as many keys as rows; there are more than `MOST`.
    """
    offsets, of_keys = (arrays.get(name) for name in OFFSETS)
    if offsets is None:
        raise ValueError("`key_offsets` is given, and `offsets` is not: queries need them too")
    for name, info in zip(OFFSETS, (offsets, of_keys), strict=True):
        if info is None:
            continue
        if info.scalar not in INDICES:
            raise TypeError(f"`{name}` has dtype {info.dtype}: offsets are of {' or '.join(INDICES)}")
        require_axes(info, name, 1)
        if not info.size:
            raise ValueError(f"`{name}` must have one element more than there are sequences: it is empty")
    if of_keys is None and rows != keys:
        raise ValueError(f"`q` has {rows} rows and `k` {keys}: where they differ, `key_offsets` must be given")
    if of_keys is not None and of_keys.scalar != offsets.scalar:
        raise TypeError(f"`key_offsets` has dtype {of_keys.dtype}: it must be of {offsets.dtype}, as `offsets` is")
    if of_keys is not None and of_keys.size != offsets.size:
        raise ValueError(f"`key_offsets` must have as many elements as `offsets`, {offsets.size}, not {of_keys.size}")
    if max(rows, keys, heads * (rows // 64 + offsets.size)) > MOST:
        raise ValueError(f"`q` and `k` have {rows} and {keys} rows: rows, and tiles of all heads, are at most {MOST}")
    return offsets.size - 1


def require_rising(name: str, offsets: Any, whose: str, array: Any, layout: str | None) -> None:
    """Look at the offsets themselves, where that is no wait: in NumPy's arrays. Of what is none, others tell.

    Raises:
        ValueError: they don't begin with 0, fall, or lead beyond what there is.
    """
    if not isinstance(offsets, np.ndarray) or offsets.ndim != 1 or not offsets.size or offsets.dtype.kind != "i":
        return
    if not isinstance(array, np.ndarray) or array.ndim != 3:
        return
    length = array.shape[1 if layout == "bhld" else 0]
    if offsets[0]:
        raise ValueError(f"`{name}` begins with {offsets[0]}: where the first sequence begins is 0")
    if (fallen := np.flatnonzero(offsets[1:] < offsets[:-1])).size:
        at = int(fallen[0])
        raise ValueError(f"`{name}` falls from {offsets[at]} to {offsets[at + 1]}, at element {at + 1}: offsets rise")
    if offsets[-1] > length:
        raise ValueError(f"`{name}` ends with {offsets[-1]}, and `{whose}` has {length} rows")


def offsets_of(index: str, *, own_keys: bool) -> dict[str, Buffer]:
    """Return the kernel's arguments that are offsets, of dtype `index`; "": there are none. `own_keys`: keys have their own."""
    if not index:
        return {name: nothing(INDICES[0]) for name in OFFSETS}
    return {name: Buffer(OFFSETS[own_keys and number]) for number, name in enumerate(OFFSETS)}


def room_of(share: int, bytes_of_key: int) -> int:
    """Return of how many keys, those of all heads of queries counted, tiles are made together: `section_of` of any lengths."""
    return max(1, min(MOST, int(keys_together(bytes_of_key)) * share))


def map_of(view: View) -> Map:
    """Return the map of an array of 1 x heads x rows x elements, in which the first axis is where a sequence ends.

    `kernels/attention/packed.py` says which element is where.
    """
    _, heads, rows, dim = view.shape
    step = view.strides[2] if rows > 1 else heads * dim * view.size
    return Map(view.buffer, (rows + 1, heads, rows, dim), (step, view.strides[1], step, view.strides[3]), rows * step)


__all__ = ["INDICES", "MOST", "OFFSETS", "count_sequences", "map_of", "offsets_of", "require_rising", "room_of"]
