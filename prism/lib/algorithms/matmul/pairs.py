"""Products of complex64 as products of float32: real and imaginary parts are neighbours along K and along rows of the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from prism.host.call import Result
from prism.host.chain import Chain
from prism.host.plan import Buffer, Machine, Plan, Reach, Step, instance_of
from prism.kernels.matmul import pairs as kernels
from prism.lib.algorithms.sgemm import api as sgemms
from prism.lib.views import View, new_view

KIND, REAL = "complex64", "float32"
FEWEST, DEEP = 64, 128
"""Rows, or elements of K, from which it pays to write four numbers for each of the second operand's."""
FEW = 4
"""So many elements of K for each row, and it pays to split `a` and to join sums, rather than to write four times `b`."""
_EXPANDED, _PARTS, _SUMS = "pairs of b", "parts of a", "sums"


def suits(a: View, b: View, out: View) -> bool:
    """Whether a product is made so: it is large enough, and elements of `a` and of the result lie side by side along rows."""
    m, k = a.shape[-2:]
    if {a.scalar, b.scalar, out.scalar} != {KIND} or (m < FEWEST and k < DEEP) or not k:
        return False
    return a.inside and out.rows_dense


def decide_pairs(a: View, b: View, out: View, apart: int, machine: Machine) -> Plan | None:
    """Return the plan of a product that `suits`, checked; `apart`: bytes between matrices of `b`. None: there is none."""
    (k, n), along = b.shape[-2:], b.strides[-2] == b.size
    rows, columns = (n, k) if along else (k, n)
    many = prod(b.shape)
    chain = Chain()
    room = chain.take(REAL, 4 * many)
    steps = tuple(stride // b.size for stride in (b.strides[:-3:-1] if along else b.strides[-2:]))
    given = {"x": Reach(b.name, b.offset), "outside": steps[0], "inside": steps[1], "apart": apart // b.size}
    given |= {"out": Buffer(_EXPANDED), "rows": rows, "columns": columns, "many": many}
    chain.add(_plan(kernels.expand_pairs, along, many, given), {_EXPANDED: room})
    wide = new_view(_EXPANDED, REAL, (*b.shape[:-2], 2 * rows, 2 * columns))
    shape = (*out.shape[:-1], 2 * n)
    made = sgemms.decide_product(
        _real(a), wide.turn() if along else wide, shape, Result(shape, np.dtype(REAL)), machine, _real(out)
    )
    if made.plan is None or made.beside or made.copied:
        return None
    chain.add(made.plan, {_EXPANDED: room})
    return chain.plan()


def suits_few(a: View, b: View, out: View) -> bool:
    """Whether rather `a` is written as real numbers: rows are few, and `b` is read once, as it lies. Not of batches."""
    if (
        {a.scalar, b.scalar, out.scalar} != {KIND}
        or {len(view.shape) for view in (a, b, out)} != {2}
        or not out.rows_dense
    ):
        return False
    (m, k), along = a.shape, b.strides[0] == b.size
    return FEW * m <= k >= DEEP and (along or b.strides[1] == b.size)


def decide_few(a: View, b: View, out: View, machine: Machine) -> Plan | None:
    """Return the plan of a product that `suits_few`, checked. None: there is none."""
    (m, k), n, along = a.shape, b.shape[1], b.strides[0] == b.size
    parts, sums = new_view(_PARTS, REAL, (2 * m, k << along)), new_view(_SUMS, REAL, (2 * m, n if along else 2 * n))
    right = _real(b.turn()).turn() if along else _real(b)
    made = sgemms.decide_product(parts, right, sums.shape, Result(sums.shape, np.dtype(REAL)), machine, sums)
    if made.plan is None or made.beside or made.copied:
        return None
    chain = Chain()
    names = {view.name: chain.take(REAL, prod(view.shape)) for view in (parts, sums)}
    rows, columns = (stride // a.size for stride in a.strides)
    given = {
        "x": Reach(a.name, a.offset),
        "outside": rows,
        "inside": columns,
        "out": Buffer(_PARTS),
        "rows": m,
        "columns": k,
    }
    chain.add(_plan(kernels.split_pairs, along, m * k, given), names)
    chain.add(made.plan, names)
    after = {"x": Buffer(_SUMS), "out": out.buffer, "stride": out.strides[0] // out.size, "rows": m, "columns": n}
    chain.add(_plan(kernels.join_pairs, along, m * n, after), names)
    return chain.plan()


def _plan(kernel: Any, along: bool, many: int, given: Mapping[str, Any]) -> Plan:
    """Return one launch, with a thread for each of so many numbers."""
    return Plan((Step(instance_of(kernel, {"ALONG": along}), -(-many // kernels.THREADS), kernels.THREADS, given),))


def _real(view: View) -> View:
    """Return complex numbers as pairs of real ones, along the last axis."""
    size = view.size // 2
    return replace(view, scalar=REAL, shape=(*view.shape[:-1], 2 * view.shape[-1]), strides=(*view.strides[:-1], size))


__all__ = ["FEWEST", "decide_few", "decide_pairs", "suits", "suits_few"]
