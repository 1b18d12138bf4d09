"""Products whose epilogue is a function: which kernel makes them, cut into which tiles, and what it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from prism.host.plan import NO_MAP, Buffer, Machine, Scratch, Step, instance_of, nothing
from prism.kernels import hgemm as kernels
from prism.kernels.hgemm import Configuration, clocks, cuts
from prism.kernels.hgemm import choose as choose_cut
from prism.kernels.hgemm.cut import Cut
from prism.kernels.hgemm.fused import Terms
from prism.kernels.hgemm.kinds import BLOCK_TILES, fits_blocks, takes_integers
from prism.lang.types import SCALARS
from prism.lib.algorithms.hgemm.product import NO_BLOCKS, Laid, buffer_of
from prism.lib.algorithms.hgemm.records import COLUMN, ELEMENT, LOADED, REDUCED, ROW, SECOND, After
from prism.lib.algorithms.hgemm.scales import blocks_of
from prism.lib.operators import add
from prism.lib.views import View, new_view
from prism.runtime.instance import Instance
from prism.runtime.viewed import instance_of_views

NO_ROOM = "`epilogue` is given more than there is room for beside a tile: give less by row and by column"
WARPS = 8  # of a block that combines what tiles made of their rows, or columns


def choose(laid: Laid, deep: int, processors: int) -> Configuration:
    """Return the tiles that suit a product of so many elements of 16 bits along K: what the library takes, if it can be stored.

    Raises:
        ValueError: there is no room for what the epilogue is given.
    """
    (m, n), outside = laid.extents, laid.outside
    one, after = laid.product.other is None and laid.batch == 0, laid.product.after
    assert after is not None
    parted = one and after.by_parts and SCALARS[laid.product.out.scalar].bytes > 1
    found, others = _chosen(laid, deep, processors, parted)
    if tiles(laid, found) is not None:
        return found
    some = [one for one in others if tiles(laid, one) is not None]
    if not some:
        raise ValueError(NO_ROOM)
    return min(some, key=lambda one: clocks(one, m, n, deep, processors, laid.batches, outside))


def _chosen(laid: Laid, deep: int, processors: int, parted: bool) -> tuple[Configuration, tuple[Configuration, ...]]:
    """Return the tiles that suit a product's shape and kind, and all that there are of its kind."""
    (m, n), outside, product = laid.extents, laid.outside, laid.product
    if product.blocks != NO_BLOCKS:
        found = kernels.choose_blocks(m, n, deep, processors, product.blocks, laid.batches, parted=parted)
        return found, tuple(one for one in BLOCK_TILES if fits_blocks(one, product.blocks))
    if product.sums == "int32":
        found = kernels.choose_integers(m, n, deep, processors, laid.batches, parted=parted)
        return found, tuple(one for one in cuts(outside) if takes_integers(one))
    return choose_cut(m, n, deep, processors, laid.batches, outside, parted=parted), cuts(outside)


def tiles(laid: Laid, found: Configuration) -> tuple[Cut, Cut] | None:
    """Return how sums and the result are cut by a configuration; None where they can't be."""
    if laid.batch == 0 and not laid.trans and found.transposes_out(laid.outside):
        laid = laid.turn()
    product, after = laid.product, laid.product.after
    assert after is not None
    a, result = SCALARS[laid.a.scalar], SCALARS[product.out.scalar]
    main = found.cut(
        transpose_a=laid.outside[0], transpose_b=laid.outside[1], out_bytes=max(2, result.bytes), in_bytes=a.bytes,
        trans=laid.trans, blocks=blocks_of(product, found),
    )  # fmt: skip
    if found.parts > 1:
        return main, main
    tile = found.result(
        main, result.bytes, by_row=after.size(ROW), by_column=after.size(COLUMN), results=1 if after.second is None else 2,
        pair=0 if product.other is None else 2 if laid.trans else 1,
    )  # fmt: skip
    return None if tile is None else (replace(main, slab=0, slabs=0, span=0), tile)


def kernel(
    laid: Laid, cut: Configuration, plain: bool, machine: Machine, scratch: Scratch
) -> tuple[Instance, dict[str, Any]]:
    """Return the kernel of a product whose epilogue is a function, and what it takes of extras, and of a second operand."""
    product = laid.product
    after, other, found = product.after, product.other, tiles(laid, cut)
    assert after is not None
    if found is None:
        raise ValueError(NO_ROOM)
    main, tile = found
    if cut.parts > 1:
        after = after.with_elements()
    bound = after.bound()
    reduced = 0 if after.reduced is None else 1 if (after.reduced.axis == 1) != after.trans else 2
    terms = Terms(
        after.has(ROW), after.has(COLUMN), after.has(ELEMENT), after.has(LOADED), after.second is not None, reduced,
        0 if other is None else 2 if laid.trans else 1, after.trans, 8 * SCALARS[product.out.scalar].bytes,
        plain=plain and cut.parts == 1, sum=SCALARS[product.sums], batch=laid.batch, **bound.records,
    )  # fmt: skip
    first, second, value = bound.functions
    facts: dict[str, Any] = {
        "T": laid.a.scalar,
        "TB": laid.b.scalar,
        "OUT": product.out.scalar,
        "CUT": main,
        "TERMS": terms,
        "BLOCKS": blocks_of(product, cut),
    }
    facts["EPILOGUE"] = first
    given: dict[str, Any] = {"above": product.above, **bound.arguments}
    given |= {
        "scale_a": buffer_of(product.scale_a, "float32"),
        "scale_b": buffer_of(product.scale_b, "float32"),
    }
    if cut.parts > 1:
        made = instance_of_views(instance_of(kernels.hgemm_fused_in_parts, facts), bound.views)
    else:
        operator = add if after.reduced is None else after.reduced.operator
        facts |= {"TILE": tile, "SECOND": second, "VALUE": value}
        facts |= {"COMBINE": operator.function, "SCHEDULE": kernels.in_columns}
        made = instance_of_views(instance_of(kernels.hgemm_fused, facts), bound.views)
        given |= {"map_other": NO_MAP if other is None else other.turn().map, **beside_first(product.out, after, plain)}
        given |= {"initial": float(operator.identity_of(np.dtype(np.float32)))}
        m, n, _ = laid.shape
        parts, extent = (-(-n // tile.bn), m) if reduced == 1 else (-(-m // tile.bm) * main.warps, n)
        given["partial"] = scratch.take("float32", parts * extent) if reduced else nothing("float32")
    made.require_readable(machine.arch)
    return made, given


def beside_first(out: View, after: After, plain: bool) -> dict[str, Any]:
    """Return what a kernel takes for a second result, which lies as the first one in C order does."""
    if after.second is None:
        return {"second": nothing(out.scalar), "map_second": NO_MAP}
    second = new_view(SECOND, out.scalar, out.shape, out.offset)
    return {"second": second.buffer, "map_second": NO_MAP if plain else second.map}


def combine(step: Step, after: After) -> Step:
    """Return the step that combines what a product's tiles left in its scratch memory."""
    assert after.reduced is not None
    partial, operator = step.arguments["partial"], after.reduced.operator
    extent = step.arguments["m" if dict(step.instance.template)["TERMS"].reduced == 1 else "n"]
    made = instance_of(kernels.combine_parts, {"COMBINE": operator.function, "WARPS": WARPS})
    given = {"partial": partial, "y": Buffer(REDUCED), "parts": partial.count // extent, "extent": extent}
    return Step(made, -(-extent // 32), 32 * WARPS, {**given, "initial": step.arguments["initial"]})


__all__ = ["beside_first", "choose", "combine", "kernel", "tiles"]
