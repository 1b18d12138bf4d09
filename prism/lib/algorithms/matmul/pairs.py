"""Products of complex64 as products of float32: real and imaginary parts are neighbours along K and along rows of the result."""

from __future__ import annotations

from dataclasses import replace
from math import prod

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
_EXPANDED = "pairs of b"


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
    kernel = instance_of(kernels.expand_pairs, {"ALONG": along})
    chain.add(Plan((Step(kernel, -(-many // kernels.THREADS), kernels.THREADS, given),)), {_EXPANDED: room})
    wide = new_view(_EXPANDED, REAL, (*b.shape[:-2], 2 * rows, 2 * columns))
    shape = (*out.shape[:-1], 2 * n)
    made = sgemms.decide_product(
        _real(a), wide.turn() if along else wide, shape, Result(shape, np.dtype(REAL)), machine, _real(out)
    )
    if made.plan is None or made.beside or made.copied:
        return None
    chain.add(made.plan, {_EXPANDED: room})
    return chain.plan()


def _real(view: View) -> View:
    """Return complex numbers as pairs of real ones, along the last axis."""
    size = view.size // 2
    return replace(view, scalar=REAL, shape=(*view.shape[:-1], 2 * view.shape[-1]), strides=(*view.strides[:-1], size))


__all__ = ["FEWEST", "decide_pairs", "suits"]
