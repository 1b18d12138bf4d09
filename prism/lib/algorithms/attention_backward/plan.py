"""How the backward of attention is made: which arrays are copied first, and its three launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prism.host.call import Decision, Result
from prism.host.plan import Buffer, Machine, Map, Plan, Scratch, Step, instance_of, nothing
from prism.kernels.attention.backward import change_keys, finish, prepare
from prism.kernels.attention.backward_cut import KEYS, BackwardCut, backward_cut_of
from prism.kernels.attention.backward_queries import change_queries
from prism.kernels.attention.backward_sinks import change_sinks
from prism.kernels.attention.cut import Terms
from prism.lib.algorithms.attention import packed
from prism.lib.views import View
from prism.runtime.instance import Instance

NAMES = "dq", "dk", "dv", "dsinks"


@dataclass(frozen=True, slots=True)
class Backward:
    """Gradients that are to be made, of views whose axes are batches, heads, lengths and elements; `lse` has all but the last.

    `ahead`: row r sees columns up to r + ahead, `back`: from r - back on; None: all. `cap`: what bounds scores, if any.
    `deterministic`: gradients of queries are added up in an order. Where offsets are given, `index`, `sequences`, `own_keys` and
    `last` are as of `Attention`.
    """

    dout: View
    q: View
    k: View
    v: View
    out: View
    lse: View
    dq: View
    dk: View
    dv: View
    scale: float
    cap: float | None
    ahead: int | None
    back: int | None
    deterministic: bool
    sinks: View | None = None
    index: str = ""
    sequences: int = 0
    own_keys: bool = False
    last: bool = False

    @property
    def terms(self) -> Terms:
        """What is done with scores."""
        bounds = self.ahead is not None, self.back is not None, self.cap is not None
        return Terms(*bounds, packed=bool(self.index), last=self.last)


def decide(asked: Backward, results: tuple[Result, ...], machine: Machine) -> Decision:
    """Return how gradients are made: zeros, where there is no query or no key."""
    (batches, heads, rows, _), keys = asked.q.shape, asked.k.shape[2]
    if not batches * heads * rows * keys or (asked.index and not asked.sequences):
        return Decision(results, NAMES[: len(results)], fill=0)
    read = (asked.dout, asked.q, asked.k, asked.v, asked.out)
    copied = [view.name for view in read if not view.fits_tensor_copies(machine.host)]
    plain = [asked.lse, *([] if asked.sinks is None else [asked.sinks])]
    copied += [view.name for view in plain if not (view.contiguous and view.natural)]
    if copied:
        return Decision(copied=tuple(copied))
    return Decision(results, NAMES[: len(results)], plan=_plan(asked))


def _plan(asked: Backward) -> Plan:
    """Return the launches: one before, one of keys or two, and one that ends sums, or makes gradients of queries."""
    (batches, heads, rows, dim), (_, kv_heads, keys, dim_v) = asked.q.shape, asked.v.shape
    scratch, terms, sequences = Scratch(), asked.terms, asked.sequences if asked.index else batches
    masked = terms.causal or terms.window or terms.packed or keys % KEYS != 0
    cut = backward_cut_of(dim, dim_v, terms, added=not asked.deterministic, masked=masked)
    added = not (asked.deterministic or cut.apart)
    tiles = _tiles(asked, heads, rows, cut.rows)
    of_rows = scratch.take("float32", 2 * tiles * cut.rows)
    sums = scratch.take("float32", tiles * cut.rows * cut.dim) if added else nothing("float32")
    map_of = packed.map_of if asked.index else _map_of
    offsets = packed.offsets_of(asked.index, own_keys=asked.own_keys)
    size = {"heads": heads, "rows": rows, "offsets": offsets["offsets"], "sequences": sequences}
    far_rows, far_keys = (rows + keys, rows + keys) if asked.index else (rows, keys)
    common: dict[str, Any] = {
        "q": map_of(asked.q), "k": map_of(asked.k), "v": map_of(asked.v), "dout": map_of(asked.dout), "of_rows": of_rows,
        "keys": keys, "share": heads // kv_heads, "scale": asked.scale, "cap": asked.cap or 1.0,
        "ahead": _within(asked.ahead, far_rows, far_keys), "back": _within(asked.back, far_keys, far_rows),
        **offsets, **size,
    }  # fmt: skip
    of_keys = common | {"dk": map_of(asked.dk), "dv": map_of(asked.dv), "dq_sums": sums}
    index = asked.index or packed.INDICES[0]
    first, *middle, last = instances_for(asked.q.scalar, cut, terms, added=added, masked=masked, index=index)
    before = {
        "out": map_of(asked.out), "lse": asked.lse.buffer, "dq_sums": sums, "dout": map_of(asked.dout), "of_rows": of_rows,
    }  # fmt: skip
    steps = [Step(first, tiles, 128, before | size)]
    steps += [Step(one, _tiles(asked, kv_heads, keys, cut.keys), cut.threads, of_keys) for one in middle]
    if added:
        after = {"dq_sums": sums, "dq": map_of(asked.dq), "scale": asked.scale, **size}
        steps.append(Step(last, tiles, 128 * cut.groups, after))
    else:
        steps.append(Step(last, _tiles(asked, heads, rows, cut.keys), cut.threads, common | {"dq": map_of(asked.dq)}))
    if asked.sinks is not None:
        template = {"INDEX": index, "CUT": cut, "PACKED": terms.packed}
        of_sinks: dict[str, Any] = {
            "sinks": asked.sinks.buffer, "dsinks": Buffer(NAMES[3], 0, "float32", heads), "of_rows": of_rows,
            "batches": sequences, "heads": heads, "rows": rows, "offsets": offsets["offsets"],
        }  # fmt: skip
        steps.append(Step(instance_of(change_sinks, template), heads, 256, of_sinks))
    return Plan(tuple(steps), scratch=scratch.used, lent=True)


def _tiles(asked: Backward, heads: int, length: int, size: int) -> int:
    """Return how many numbers tiles of so many rows or keys have: of packed sequences each may have one that is ragged."""
    return heads * (length // size + asked.sequences if asked.index else asked.q.shape[0] * -(-length // size))


def _map_of(view: View) -> Map:
    return view.map


def _within(distance: int | None, least: int, most: int) -> int:
    """Return a distance between `-least` and `most`, beyond which nothing changes; 0 for none, which is not looked at."""
    return 0 if distance is None else max(-least, min(most, distance))


def instances_for(
    scalar: str, cut: BackwardCut, terms: Terms, *, added: bool, masked: bool, index: str = packed.INDICES[0]
) -> tuple[Instance, ...]:
    """Return the kernels for a dtype, cut so, in their order.

    `added`: blocks of keys add gradients of queries up. `masked`: whether some rows don't see some keys, or the last
    tile of keys ends beyond them. `index`: the dtype of offsets.
    """
    plain = {"T": scalar, "INDEX": index, "CUT": cut}
    kinds = ((False, True), (True, False)) if cut.apart else ((True, True),)
    common = {**plain, "TERMS": terms, "ADDED": added, "MASKED": masked}
    middle = [
        instance_of(change_keys, {**common, "OF_KEYS": of_keys, "OF_VALUES": of_values}) for of_keys, of_values in kinds
    ]
    ends = {**plain, "PACKED": terms.packed}
    last = instance_of(finish, ends) if added else instance_of(change_queries, {**plain, "TERMS": terms})
    return (instance_of(prepare, {**ends, "ADDED": added}), *middle, last)


__all__ = ["NAMES", "Backward", "decide", "instances_for"]
