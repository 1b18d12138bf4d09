"""How attention of few queries is made: which arrays are copied first, how it is cut, and its launches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import OUT, SCRATCH, Buffer, Clear, Machine, Map, Plan, Scratch, Step, instance_of, nothing
from prism.kernels.attention import AddCut, DecodeCut, Sizes, add_parts, decode, decode_cut_of, latent_cut_of
from prism.lib.views import View, new_view
from prism.runtime.instance import Instance

LSE = "lse"
ROWS = 64
"""Queries of one product."""
HOST_BLOCKS = 3
"""Blocks on the reference machine."""
FEW, MANY = 64, 4096
"""Rows' columns, 128 each, that leave multiprocessors idle where a warp has some; warps that are enough for all of them."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """Attention that is to be made, of views whose axes are batches (of `k` and `v` also pages), heads, lengths and elements.

    `v`: None of a latent cache, `k`. `page`: keys of a page, `table` its numbers, or 0 and None. `keys`: the most that a sequence
    has.
    """

    q: View
    k: View
    v: View | None
    out: View
    lengths: View | None
    table: View | None
    page: int
    keys: int
    scale: float
    causal: bool
    lse: bool

    @property
    def rows(self) -> int:
        """Queries of a head of keys."""
        return self.q.shape[1] // max(self.k.shape[1], 1) * self.q.shape[2]


def decide(
    asked: Decoding, results: tuple[Result, ...], names: tuple[str, ...], machine: Machine, fresh: View | None
) -> Decision:
    """Return how attention is made; `fresh`, where its result's memory is the caller's: of a result in memory of its own."""
    batches, heads, tokens, _ = asked.q.shape
    if not batches * heads * tokens * asked.out.shape[3]:
        return Decision(results, names, beside=fresh is not None and 0 not in asked.out.shape)
    copied = [
        view.name
        for view in (asked.q, asked.k, asked.v)[: 3 if asked.keys else 1]
        if view and not (view.inside and view.fits_tensor_copies(machine.host))
    ]
    copied += [
        view.name
        for view in (asked.lengths, asked.table)
        if view is not None and not (view.contiguous and view.natural)
    ]
    if copied:
        return Decision(copied=tuple(copied))
    fits = asked.out.inside and asked.out.fits_tensor_copies(machine.host) and asked.out.apart
    beside = fresh is not None and not fits
    return Decision(results, names, beside=beside, plan=_plan(asked, fresh if beside and fresh else asked.out, machine))


def _with_keys(asked: Decoding, scratch: Scratch) -> tuple[Decoding, tuple[Clear, ...]]:
    """Return what has keys and values that can be loaded; where there are none, zeros, which must be cleared first."""
    if asked.keys:
        return asked, ()
    made: list[View | None] = []
    for view in (asked.k, asked.v):
        shape = (asked.q.shape[0], asked.k.shape[1], 8, 0 if view is None else view.shape[3])
        made.append(view and new_view(SCRATCH, view.scalar, shape, scratch.take(view.scalar, prod(shape)).offset))
    k, v = made
    assert k is not None
    found = replace(asked, k=k, v=v, lengths=None, table=None, page=0)
    return found, tuple(Clear(view.buffer) for view in (k, v) if view)


def _plan(asked: Decoding, out: View, machine: Machine) -> Plan:
    """Return the launches: of as many blocks as run at a time, and of those that add up what several have of a head."""
    scratch = Scratch()
    asked, cleared = _with_keys(asked, scratch)
    (batches, heads, tokens, dim), (_, kv_heads, _, _) = asked.q.shape, asked.k.shape
    has = {
        "page": asked.page,
        "lengths": asked.lengths is not None,
        "lse": asked.lse,
    }
    share, strips, strip = heads // kv_heads, -(-asked.rows // ROWS), min(asked.rows, ROWS)
    has["once"] = strips == 1
    cut = latent_cut_of(**has) if asked.v is None else decode_cut_of(dim, asked.v.shape[3], **has, host=machine.host)
    pairs = batches * kv_heads * strips
    tiles = pairs * max(1, -(-asked.keys // cut.keys))
    slots, beside = (HOST_BLOCKS, 1) if machine.host else (machine.multiprocessors, cut.blocks)
    tile = asked.q.size * cut.keys * (dim + (asked.v.shape[3] if asked.v else 0))
    blocks = best_blocks(
        tiles, pairs, slots, beside=beside, tile=tile, part=4 * strip * (cut.dim_v + 1), ragged=bool(has["lengths"])
    )
    sizes = (
        batches, kv_heads, share, tokens, tokens if asked.causal else 1, asked.keys, dim, out.shape[3], strips, strip,
        0 if asked.table is None else asked.table.shape[1], asked.k.shape[0] if asked.page else 0, asked.k.shape[2],
        cut.dim_v, blocks,
        *(step // view.size for view in (asked.q, out) for step in view.strides[:3]), asked.scale,
    )  # fmt: skip
    split = bool(pairs % blocks) or has["lengths"]  # else each block has whole heads
    written: dict[str, Any] = {
        "o": out.buffer, "s": np.array(sizes, Sizes)[()],
        "lse": Buffer(LSE, 0, "float32", batches * heads * tokens) if asked.lse else nothing("float32"),
        "parts": scratch.take("float32", 2 * blocks * strip * cut.dim_v) if split else nothing("float32"),
        "part_logs": scratch.take("float32", 2 * blocks * strip) if split else nothing("float32"),
        "leaders": scratch.take("int32", 2 * pairs) if has["lengths"] else nothing("int32"),
    }  # fmt: skip
    read: dict[str, Any] = {
        "q": asked.q.buffer, "k": _map_of(asked.k), "v": _map_of(asked.v or asked.k),
        "lengths": nothing("int32") if asked.lengths is None else asked.lengths.buffer,
        "table": nothing("int32") if asked.table is None else asked.table.buffer,
    }  # fmt: skip
    steps: list[Clear | Step] = [*cleared]
    steps.append(Step(instance_for(asked.q.scalar, cut), blocks, cut.threads, {**read, **written}))
    if split:
        most = -(-blocks // pairs) + (blocks % pairs > 0)
        add = adding(most, pairs * strip * -(-out.shape[3] // 128), lengths=asked.lengths is not None, lse=asked.lse)
        many = -(-pairs * strip * -(-out.shape[3] // (4 * add.lanes)) * add.split // add.warps)
        steps.append(Step(instance_for(asked.q.scalar, add), many, add.threads, written))
    return Plan(tuple(steps), tag="attention_decode", scratch=scratch.used, lent=True)


def _map_of(view: View) -> Map:
    """Return the map of an array of batches or pages, heads, keys and elements, with an axis more: where its keys end."""
    pages, heads, keys, dim = view.shape
    step = view.strides[2] if keys > 1 else heads * dim * view.size
    strides = (view.strides[0], step, view.strides[1], step, view.strides[3])
    return Map(view.buffer, (pages, keys + 1, heads, keys, dim), strides, keys * step)


def blocks_of(tiles: int, pairs: int, slots: int) -> int:
    """Return how many blocks there are, of `slots` that run at a time.

    Where that leaves few out, as many that each has tiles of one head alone, or whole heads: it then keeps one part, or none.
    """
    even = slots // pairs * pairs if pairs <= slots else pairs // -(-pairs // slots)
    whole = even <= tiles and even >= slots - slots // 10 and (pairs <= slots or pairs % even == 0)
    return even if whole else min(tiles, slots)


def best_blocks(tiles: int, pairs: int, slots: int, *, beside: int, tile: int, part: int, ragged: bool) -> int:
    """Return how many blocks there are: `beside` a multiprocessor, of `slots`, or one, where that is faster.

    Several cover each other's beginnings and ends: worth a hundredth of reading `tiles` of `tile` bytes. One alone leaves half of
    the parts, of `part` bytes, each of which is written, and read at half of the speed of keys; or none. Where there are
    nearly as many heads as multiprocessors, each has a block, though some have none: 10 in 14 read as fast as all do with parts,
    and 9 where these are of many rows. So has each of many heads, of eight tiles or more: then whoever is done gets the next one.
    """
    many, few = (blocks_of(tiles, pairs, each * slots) for each in (beside, 1))
    enough = 9 if part >= 1 << 13 else 10
    near = enough * slots <= 14 * pairs <= 14 * slots
    if beside > 1 and not ragged and (near or (pairs >= 3 * beside * slots and tiles >= 8 * pairs)):
        return pairs
    if few == many or not pairs % many or (few % pairs and pairs % few):
        return many
    none = not pairs % few and not ragged
    return few if none or 400 * part * (many - few) > tile * tiles else many


def adding(parts: int, units: int, *, lengths: bool, lse: bool) -> AddCut:
    """Return how up to so many parts of a row are added up, of so many rows, each time 128 columns of it.

    Where sequences have lengths, one may have many more parts than others.
    """
    lanes = 8 if units < FEW else 32
    split = next(
        split
        for split in (16, 4, 1)
        if split == 1 or (units * 32 // lanes * split <= MANY and split * 32 // lanes <= parts)
    )
    split = max(split, 4 if lengths else 1)
    most = -(-parts * lanes // (32 * split))
    deep = 8 if lengths else next(deep for deep in (2, 4, 8) if deep >= min(most, 8))
    return AddCut(split, deep, lanes, lengths, lse)


def instance_for(scalar: str, cut: DecodeCut | AddCut) -> Instance:
    """Return the kernel for a dtype, cut so."""
    return instance_of(decode if isinstance(cut, DecodeCut) else add_parts, {"T": scalar, "CUT": cut})


__all__ = ["LSE", "OUT", "ROWS", "Decoding", "decide", "instance_for"]
