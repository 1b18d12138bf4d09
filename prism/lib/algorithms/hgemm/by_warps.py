"""Products of 16-bit floats on GPUs whose tensor cores have no `wgmma`: one launch for each, by warps of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prism.host.call import Decision, Result
from prism.host.plan import Machine, Plan, Scratch, Step, instance_of
from prism.kernels.hgemm.fused import Terms
from prism.kernels.hgemm.warps import WarpCut, choose_warps, hgemm_by_warps, lay
from prism.lib.algorithms.hgemm.epilogue import fuse
from prism.lib.algorithms.hgemm.product import NO_BLOCKS, Product
from prism.lib.algorithms.hgemm.records import COLUMN, ELEMENT, ROW
from prism.lib.views import View
from prism.runtime.tensor_maps import PIECE
from prism.runtime.viewed import instance_of_views

FIRST = 80
"""The first architecture that has such products."""


def suits(product: Product, machine: Machine) -> bool:
    """Whether a product is made so on a GPU that is no Hopper: it is one of 16-bit floats, and has one result."""
    if arch_of(machine) < FIRST:
        return False
    after = product.after
    one = after is None or (after.second is None and after.reduced is None)
    whole = product.triangle in ("", "both") and product.blocks == NO_BLOCKS and product.other is None
    return product.a.size == 2 and whole and one


def arch_of(machine: Machine) -> int:
    """Return an architecture's number."""
    return int(machine.arch.removeprefix("sm_").rstrip("af"))


def with_function(product: Product) -> Product:
    """Return a product all of whose terms are its epilogue's, which reads arrays in place."""
    if product.after is None:
        product = fuse(product, product.epilogue, (), product.out.shape, kept=True)
    assert product.after is not None
    return replace(product, after=product.after.with_elements(), c=None, triangle="")


def decide_by_warps(
    products: list[Product],
    result: Result,
    machine: Machine,
    given: View | None,
    scratch: Scratch,
    cut: WarpCut | None = None,
) -> Decision:
    """Return how products of two matrices, which `with_function` made, are launched one by one."""
    made = []
    for one in products:
        assert one.after is not None
        apart = tuple(view.name for view in one.after.arrays if not (view.contiguous and view.natural))
        if apart:
            return Decision(copied=apart)
        made.append(one.turn() if not one.out.rows_dense else one)
    if loose := {view.name: view.transposed for one in made for view in (one.a, one.b) if not _fits(view)}:
        return Decision(copied=tuple(loose), columns=tuple(name for name in loose if loose[name]), pad=PIECE)
    plan = Plan(tuple(_step(one, machine, cut) for one in made), scratch=scratch.used, lent=True)
    return Decision((result,), plan=plan, beside=given is not None, in_place=("c",))


def _fits(view: View) -> bool:
    """Whether rows, or columns, are copied as they lie, 16 bytes at a time."""
    return 0 in view.shape or (view.natural and (view.fits_tensor_copy(0) or view.fits_tensor_copy(1)))


def _step(product: Product, machine: Machine, cut: WarpCut | None) -> Step:
    """Return the launch of a product."""
    a, b, out, after = product.a, product.b, product.out, product.after
    assert after is not None
    (m, n), k = out.shape, a.shape[1]
    outside = not a.fits_tensor_copy(1), not b.fits_tensor_copy(0)
    found = lay(cut or choose_warps(m, n, k, machine.multiprocessors, arch_of(machine)), *outside)
    bound = after.bound()
    terms = Terms(after.has(ROW), after.has(COLUMN), after.has(ELEMENT), trans=after.trans, **bound.records)
    facts: dict[str, Any] = {
        "T": a.scalar,
        "OUT": out.scalar,
        "CUT": found,
        "TERMS": terms,
        "EPILOGUE": bound.functions[0],
    }
    made = instance_of_views(instance_of(hgemm_by_warps, facts), bound.views)
    made.require_readable(machine.arch)
    down, across = -(-m // found.bm), -(-n // found.bn)
    side = round((machine.multiprocessors * found.blocks * found.bm * found.bn) ** 0.5 / found.bm)
    given = {
        "A": a.buffer, "apart_a": a.strides[1 if outside[0] else 0] // a.size, "B": b.buffer,
        "apart_b": b.strides[0 if outside[1] else 1] // b.size, "out": out.buffer, "stride": out.strides[0] // out.size,
        "m": m, "n": n, "k": k, "group_m": max(1, min(down, side)), "above": product.above,
        "pairs": int(out.aligned and out.strides[0] % (2 * out.size) == 0), **bound.arguments,
    }  # fmt: skip
    return Step(made, down * across, found.threads, given)


__all__ = ["decide_by_warps", "suits", "with_function"]
