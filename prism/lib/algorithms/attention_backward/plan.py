"""How the backward of attention is made: which arrays are copied first, and its three launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prism.host.call import Decision, Result
from prism.host.plan import Machine, Plan, Scratch, Step, instance_of, nothing
from prism.kernels.attention.backward import change_keys, change_queries, finish, prepare
from prism.kernels.attention.backward_cut import BackwardCut, backward_cut_of
from prism.lib.views import View
from prism.runtime.instance import Instance
from prism.runtime.tensor_maps import PIECE

DQ, DK, DV = NAMES = "dq", "dk", "dv"


@dataclass(frozen=True, slots=True)
class Backward:
    """Gradients that are to be made, of views whose axes are batches, heads, lengths and elements; `lse` has all but the last.

    `ahead`: row r sees columns up to r + ahead; None: all. `deterministic`: gradients of queries are added up in an order.
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
    ahead: int | None
    deterministic: bool


def decide(asked: Backward, results: tuple[Result, ...], machine: Machine) -> Decision:
    """Return how gradients are made: zeros, where there is no query or no key."""
    (batches, heads, rows, _), keys = asked.q.shape, asked.k.shape[2]
    if not batches * heads * rows * keys:
        return Decision(results, NAMES, fill=0)
    read = (asked.dout, asked.q, asked.k, asked.v, asked.out)
    copied = [view.name for view in read if not _fits(view, machine.host)]
    if not (asked.lse.contiguous and asked.lse.natural):
        copied.append(asked.lse.name)
    if copied:
        return Decision(copied=tuple(copied))
    return Decision(results, NAMES, plan=_plan(asked))


def _fits(view: View, host: bool) -> bool:
    """Whether tensor copies take an array as it is; the reference machine takes what has no gaps."""
    if host:
        return view.dense and view.natural
    steps = (step for extent, step in zip(view.shape[:-1], view.strides[:-1], strict=True) if extent > 1)
    inside = view.strides[-1] == view.size or view.shape[-1] == 1
    return view.natural and view.aligned and inside and all(step % PIECE == 0 and 0 <= step < 1 << 40 for step in steps)


def _plan(asked: Backward) -> Plan:
    """Return the launches: one before, one of keys, and one that ends sums, or makes gradients of queries."""
    (batches, heads, rows, dim), (_, kv_heads, keys, _) = asked.q.shape, asked.k.shape
    scalar, pairs, scratch = asked.q.scalar, batches * heads, Scratch()
    cut = backward_cut_of(dim, asked.v.shape[3])
    tiles, added = pairs * -(-rows // cut.rows), not asked.deterministic
    of_rows = scratch.take("float32", 2 * tiles * cut.rows)
    sums = scratch.take("float32", tiles * cut.rows * cut.dim) if added else nothing("float32")
    kernels = instances_for(scalar, cut, causal=asked.ahead is not None, deterministic=asked.deterministic)
    ahead = 0 if asked.ahead is None else max(-rows, min(keys, asked.ahead))
    common: dict[str, Any] = {
        "q": asked.q.map,
        "k": asked.k.map,
        "v": asked.v.map,
        "dout": asked.dout.map,
        "of_rows": of_rows,
    }
    common |= {
        "heads": heads,
        "share": heads // kv_heads,
        "rows": rows,
        "keys": keys,
        "ahead": ahead,
        "scale": asked.scale,
    }
    first = {"out": asked.out.map, "lse": asked.lse.buffer, "dq_sums": sums}
    first |= {name: common[name] for name in ("dout", "of_rows", "heads", "rows")}
    second = common | {"dk": asked.dk.map, "dv": asked.dv.map, "dq_sums": sums}
    last = {"dq_sums": sums, "dq": asked.dq.map} | {name: common[name] for name in ("heads", "rows", "scale")}
    third = Step(kernels[2], tiles, 128 * cut.groups, last)
    if asked.deterministic:
        third = Step(kernels[2], pairs * -(-rows // cut.keys), cut.threads, common | {"dq": asked.dq.map})
    blocks = batches * kv_heads * -(-keys // cut.keys)
    steps = Step(kernels[0], tiles, 128, first), Step(kernels[1], blocks, cut.threads, second), third
    return Plan(steps, scratch=scratch.used, lent=True)


def instances_for(scalar: str, cut: BackwardCut, *, causal: bool, deterministic: bool) -> tuple[Instance, ...]:
    """Return the three kernels for a dtype, cut so."""
    common = {"T": scalar, "CUT": cut}
    first = instance_of(prepare, {**common, "ADDED": not deterministic})
    second = instance_of(change_keys, {**common, "CAUSAL": causal, "ADDED": not deterministic})
    third = instance_of(change_queries, {**common, "CAUSAL": causal}) if deterministic else instance_of(finish, common)
    return first, second, third


__all__ = ["NAMES", "Backward", "decide", "instances_for"]
