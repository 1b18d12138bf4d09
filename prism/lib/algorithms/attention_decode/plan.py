"""How attention of few queries is made: which arrays are copied first, how it is cut, and its one launch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import OUT, SCRATCH, WORDS, Buffer, Clear, Machine, Plan, Scratch, Step, instance_of, nothing
from prism.kernels.attention import DecodeCut, LatentCut, Sizes, decode, decode_cut_of, decode_latent
from prism.lib.views import View, new_view
from prism.runtime.instance import Instance
from prism.runtime.tensor_maps import PIECE

LSE = "lse"
ROWS = 64
"""Queries of one product."""
HOST_BLOCKS = 3
"""Blocks on the reference machine."""
MANY = 24
"""Tiles of a block that are many; one of `PART` of them goes to who comes first, in units of `SMALL`, unless that is 0.

On an H200 units of 4 and fewer tiles were slower than none, when a unit still took some 7 us besides (docs/attention.md).
"""
PART, SMALL = 8, 0
FAN = 128 << 10
"""Bytes of parts that one block adds up: more are added up by several, and then again."""


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
        if view and not _fits(view, machine.host)
    ]
    copied += [
        view.name
        for view in (asked.lengths, asked.table)
        if view is not None and not (view.contiguous and view.natural)
    ]
    if copied:
        return Decision(copied=tuple(copied))
    beside = fresh is not None and not (_fits(asked.out, machine.host) and _apart(asked.out))
    return Decision(results, names, beside=beside, plan=_plan(asked, fresh if beside and fresh else asked.out, machine))


def _fits(view: View, host: bool) -> bool:
    """Whether kernels take an array as it is: its rows have no gaps; the reference machine takes what has none at all."""
    inside = view.strides[-1] == view.size or view.shape[-1] == 1
    if host:
        return view.dense and inside
    steps = (step for extent, step in zip(view.shape[:-1], view.strides[:-1], strict=True) if extent > 1)
    return view.natural and view.aligned and inside and all(step % PIECE == 0 and 0 <= step < 1 << 40 for step in steps)


def _apart(view: View) -> bool:
    """Whether no two elements are in one place, because of an axis that is broadcast."""
    return all(step > 0 for extent, step in zip(view.shape, view.strides, strict=True) if extent > 1)


def _with_keys(asked: Decoding, scratch: Scratch) -> tuple[Decoding, tuple[Clear, ...]]:
    """Return what has keys and values that can be loaded; where there are none, zeros, which must be cleared first."""
    if asked.keys:
        return asked, ()
    made: list[View | None] = []
    for view in (asked.k, asked.v):
        shape = (1, asked.k.shape[1], 8, 0 if view is None else view.shape[3])
        made.append(view and new_view(SCRATCH, view.scalar, shape, scratch.take(view.scalar, prod(shape)).offset))
    k, v = made
    assert k is not None
    found = replace(asked, k=k, v=v, lengths=None, table=None, page=0)
    return found, tuple(Clear(view.buffer) for view in (k, v) if view)


def _plan(asked: Decoding, out: View, machine: Machine) -> Plan:
    """Return the launch: of as many blocks as multiprocessors, where there are as many tiles."""
    scratch = Scratch()
    asked, cleared = _with_keys(asked, scratch)
    (batches, heads, tokens, dim), (_, kv_heads, _, _) = asked.q.shape, asked.k.shape
    has = {
        "page": asked.page,
        "lengths": asked.lengths is not None,
        "causal": asked.causal and tokens > 1,
        "lse": asked.lse,
    }
    cut = LatentCut(**has) if asked.v is None else decode_cut_of(dim, asked.v.shape[3], **has, host=machine.host)
    share, strips, strip = heads // kv_heads, -(-asked.rows // ROWS), min(asked.rows, ROWS)
    pairs, wide = batches * kv_heads * strips, strip * (cut.columns + 4)
    tiles = pairs * max(1, -(-asked.keys // cut.keys))
    blocks, small = blocks_of(tiles, pairs, HOST_BLOCKS if machine.host else cut.blocks * machine.multiprocessors)
    units = blocks + (-(-tiles // PART) // small + 1 if small else 0)
    slots = 6 * units * cut.groups
    sizes = (
        batches, kv_heads, share, tokens, asked.keys, dim, out.shape[3], strips, strip,
        0 if asked.table is None else asked.table.shape[1], asked.k.shape[0] if asked.page else 0,
        PART, small, 2 if machine.host else max(17, FAN // (4 * wide)),
        *(step // view.size for view in (asked.q, out) for step in view.strides[:3]), asked.scale,
    )  # fmt: skip
    arguments: dict[str, Any] = {
        "q": asked.q.buffer, "k": asked.k.map, "v": (asked.v or asked.k).map, "o": out.buffer,
        "lse": Buffer(LSE, 0, "float32", batches * heads * tokens) if asked.lse else nothing("float32"),
        "partial": scratch.take("float32", slots * wide), "tickets": Buffer(WORDS, 0, "uint32", 1),
        "counters": Buffer(WORDS, 16, "uint32", 4 * slots),
        "lengths": nothing("int32") if asked.lengths is None else asked.lengths.buffer,
        "table": nothing("int32") if asked.table is None else asked.table.buffer, "s": np.array(sizes, Sizes)[()],
    }  # fmt: skip
    step = Step(instance_for(asked.q.scalar, cut), blocks, cut.threads, arguments)
    return Plan((*cleared, step), words=16 + 16 * slots, tag="attention_decode", scratch=scratch.used, lent=True)


def blocks_of(tiles: int, pairs: int, slots: int) -> tuple[int, int]:
    """Return how many blocks there are of `slots` that run at a time, and how many tiles a small unit has, or 0.

    Where a block has few tiles, all are of one head, if that leaves few blocks out: it then keeps one part alone.
    """
    if tiles >= MANY * slots:
        return slots, SMALL
    even = slots // pairs * pairs
    return even if even >= slots - slots // 10 and even <= tiles else min(tiles, slots), 0


def instance_for(scalar: str, cut: DecodeCut | LatentCut) -> Instance:
    """Return the kernel for a dtype, cut so."""
    return instance_of(decode if isinstance(cut, DecodeCut) else decode_latent, {"T": scalar, "CUT": cut})


__all__ = ["LSE", "OUT", "ROWS", "Decoding", "decide", "instance_for"]
