"""How attention is made: which arrays are copied first, how it is cut, and its one launch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import NO_MAP, OUT, WORDS, Buffer, Machine, Map, Plan, Scratch, Step, instance_of, nothing
from prism.kernels import attention as kernels
from prism.kernels.attention import Cut, Terms, as_it_is
from prism.kernels.attention.cut import Sizes
from prism.lang.surface import Kernel
from prism.lib.algorithms.attention import eight_bits, packed
from prism.lib.views import View
from prism.runtime.instance import Instance

LSE = "lse"


@dataclass(frozen=True, slots=True)
class Attention:
    """Attention that is to be made, of views whose axes are batches, heads, lengths and elements.

    `ahead`: row r sees columns up to r + ahead, `back`: from r - back on; None: all. `scales`: how many scales there are of
    queries, keys and values of 8 bits. Where offsets are given, `index` is their dtype, and `sequences` how many there are;
    `own_keys`: the keys have offsets of their own; `last`: distances are from a sequence's last row and key.
    """

    q: View
    k: View
    v: View
    out: View
    sinks: bool
    scale: float
    cap: float | None
    score: Kernel
    ahead: int | None
    back: int | None
    lse: bool
    scales: tuple[int, ...] = (0, 0, 0)
    index: str = ""
    sequences: int = 0
    own_keys: bool = False
    last: bool = False

    @property
    def lengths(self) -> tuple[int, int]:
        """Rows and keys of a sequence; of packed ones on average."""
        rows, keys = self.q.shape[2], self.k.shape[2]
        return (-(-rows // self.sequences), -(-keys // self.sequences)) if self.index else (rows, keys)

    @property
    def plain(self) -> bool:
        """Whether scores are products, scaled: by a positive number, so that the largest product has the largest score."""
        return self.cap is None and self.score is as_it_is and self.scale > 0


def decide(
    asked: Attention, results: tuple[Result, ...], names: tuple[str, ...], machine: Machine, fresh: View | None
) -> Decision:
    """Return how attention is made; `fresh`, where its result's memory is the caller's: of a result in memory of its own."""
    batches, heads, rows, _ = asked.q.shape
    keys = asked.k.shape[2]
    if asked.index and not asked.sequences:
        return Decision(results, names)
    if not batches * heads * rows * asked.v.shape[3]:
        return Decision(results, names, beside=fresh is not None and 0 not in asked.out.shape)
    copied = tuple(
        view.name
        for view in (asked.q, asked.k, asked.v)[: 3 if keys else 1]
        if not view.fits_tensor_copies(machine.host)
    )
    if copied:
        return Decision(copied=copied)
    sizes, causal = (asked.q.shape[3], asked.v.shape[3], asked.lengths[0]), asked.ahead is not None
    if asked.q.size == 1:
        cut = kernels.cut_of_bytes(*sizes, causal=causal, host=machine.host)
    else:
        cut = kernels.cut_of(*sizes, causal=causal, capped=asked.cap is not None, host=machine.host)
    if fresh is not None and not (asked.out.fits_tensor_copies(machine.host) and asked.out.apart):
        return Decision(results, names, beside=True, plan=_plan(replace(asked, out=fresh), cut, machine))
    return Decision(results, names, plan=_plan(asked, cut, machine))


def _plan(asked: Attention, cut: Cut, machine: Machine) -> Plan:
    """Return the launch."""
    (batches, heads, rows, _), (_, kv_heads, keys, _) = asked.q.shape, asked.k.shape
    out, map_of = asked.out, packed.map_of if asked.index else _map_of
    k: Any = map_of(asked.k)
    v: Any = map_of(asked.v)
    terms = Terms(
        asked.ahead is not None, asked.back is not None, asked.cap is not None, asked.sinks, asked.lse, bool(asked.index),
        asked.last,
    )  # fmt: skip
    share, pairs = heads // kv_heads, (asked.sequences if asked.index else batches) * heads
    instance = instance_for(
        asked.q.scalar, cut, terms, asked.score, asked.plain, out.scalar, asked.index or packed.INDICES[0]
    )
    each = asked.k.shape[3] + asked.v.shape[3]
    section = kernels.section_of(pairs, share, asked.lengths[1], each * asked.k.size, causal=terms.causal)
    if asked.index:
        section = packed.room_of(share, each * asked.k.size) if terms.causal else 1
    if not keys and not machine.host:  # a GPU has no tensor map of nothing, and none is read
        k = v = NO_MAP
    before: tuple[Step, ...] = ()
    factors, scratch = nothing("float32"), Scratch()
    far_rows, far_keys = (rows + keys, rows + keys) if asked.index else (rows, keys)
    if cut.width == 1:
        transposition, v, factors = eight_bits.steps_before(asked.q, asked.v, asked.scales, scratch)
        before = (transposition,)
    sizes = (
        pairs, heads, share, rows, keys, _bounded(asked.ahead, far_rows, far_keys), _bounded(asked.back, far_keys, far_rows),
        asked.v.shape[3], section, asked.scale, asked.cap or 1.0, *(step // out.size for step in out.strides[:3]),
    )  # fmt: skip
    arguments: dict[str, Any] = {
        "q": map_of(asked.q), "k": k, "v": v, "map_out": map_of(out) if cut.slab else NO_MAP,
        "out": nothing(out.scalar) if cut.slab else out.buffer,
        "lse": Buffer(LSE, 0, "float32", batches * heads * rows) if asked.lse else nothing("float32"),
        "sinks": Buffer("sinks", 0, "float32", heads) if asked.sinks else nothing("float32"),
        "s": np.array(sizes, Sizes)[()], "counter": Buffer(WORDS, 0, "uint32", 1), "scales": factors,
    }  # fmt: skip
    arguments |= packed.offsets_of(asked.index, own_keys=asked.own_keys)
    tiles = heads * (rows // cut.rows + asked.sequences) if asked.index else pairs * -(-rows // cut.rows)
    blocks = min(tiles, 2 if machine.host else machine.multiprocessors)
    steps = (*before, Step(instance, blocks, cut.threads, arguments))
    return Plan(steps, words=16, tag="attention", scratch=scratch.used, lent=bool(before))


def _map_of(view: View) -> Map:
    return view.map


def _bounded(distance: int | None, least: int, most: int) -> int:
    """Return a distance between `-least` and `most`, beyond which nothing changes; 0 for none, which is not looked at."""
    return 0 if distance is None else max(-least, min(most, distance))


def instance_for(
    scalar: str,
    cut: Cut,
    terms: Terms,
    score: Kernel = as_it_is,
    plain: bool = True,
    out: str = "",
    index: str = "int32",
) -> Instance:
    """Return the kernel for a dtype, cut so, with what is done with scores; `plain`: they are scaled alone.

    `out`: the result's dtype, where it is another. `index`: that of offsets.
    """
    weights = eight_bits.WEIGHTS if cut.width == 1 else scalar
    template = {
        "T": scalar,
        "W": weights,
        "OUT": out or scalar,
        "INDEX": index,
        "CUT": cut,
        "TERMS": terms,
        "SCORE": score,
        "PLAIN": plain,
    }
    return instance_of(kernels.attend, template)


__all__ = ["LSE", "OUT", "Attention", "decide", "instance_for"]
