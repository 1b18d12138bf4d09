"""Products with a prologue: what makes each element of `a` on its way, and which rows of it are taken; how they are launched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import NO_MAP, Machine, Plan, Reach, Scratch, Step, instance_of, nothing
from prism.kernels import hgemm as kernels
from prism.kernels.hgemm import Configuration, blocks, group_m
from prism.kernels.hgemm.configuration import SPAN
from prism.kernels.hgemm.fused import Terms
from prism.kernels.hgemm.prologue import Source
from prism.kernels.hgemm.prologue_configurations import HOST, choose_made, fit
from prism.lib.algorithms.hgemm.epilogue import call_of, extra_of, number
from prism.lib.algorithms.hgemm.fused import NO_ROOM, beside_first, combine
from prism.lib.algorithms.hgemm.product import Product
from prism.lib.algorithms.hgemm.records import COLUMN, ELEMENT, LOADED, ROW, After, Bound, Scaling
from prism.lib.algorithms.matmul.arguments import require_extents
from prism.lib.lazy.closures import Applied
from prism.lib.operators import add
from prism.lib.views import View, view_of
from prism.runtime.arrays import ArrayInfo
from prism.runtime.tensor_maps import PIECE, SECTOR
from prism.runtime.viewed import instance_of_views

OPERANDS = "float16", "bfloat16"
"""What is multiplied: what a prologue makes is rounded to one of these, that of `b`."""
_NO_RECORDS = {f"a_{name}": nothing("float32") for name in ("once", "by_row", "by_column", "by_element")}
SOURCES = (*OPERANDS, "float32", "float8_e4m3fn", "float8_e5m2", "int8", "uint8")
"""What a prologue is given, as float32."""
INDICES = "int32", "int64"


@dataclass(frozen=True, slots=True)
class Before:
    """What is done with the array `source` before it is multiplied: which `rows` are taken, and what is made of them.

    `rows`: None, where all are. `after`: what makes an element, as an epilogue makes one of a sum; None: it is as it is.
    """

    source: View
    rows: View | None
    after: After | None

    def require_single(self, product: Product, symmetric: Any) -> None:
        """Check that a product with a prologue is one of two matrices, of 16-bit floats.

        Raises:
            ValueError: it is not.
        """
        if len(product.out.shape) > 2:
            raise ValueError("`prologue` and `rows` are of a product of two matrices, not of a batch")
        if product.other is not None:
            raise ValueError("`prologue` and `rows` are of one `b`, not of two")
        if symmetric is not None:
            raise ValueError("a `symmetric` product has no `prologue`, and no `rows`")
        if max(product.blocks):
            raise ValueError(
                "beside scales of blocks there is no `prologue`: it can scale, by row and by column of `a`"
            )

    def decide(
        self, product: Product, result: Result, machine: Machine, given: View | None, cut: Configuration | None = None
    ) -> Decision:
        """Return how a checked product with a prologue is made in `given`, or where that can't be written, in C order."""
        if given is not None and given.natural and (given.contiguous if machine.host else given.rows_dense):
            product, given = replace(product, out=given), None
        beside = given is not None
        if 0 in product.out.shape:
            return Decision((result,), beside=beside)
        if not product.a.shape[1]:  # sums of nothing
            from prism.lib.algorithms.hgemm.plan import decide_product

            return decide_product(
                replace(product, a=replace(product.a, scalar=product.b.scalar)), result, machine, given, cut
            )
        after = product.after
        assert after is not None
        name = () if product.c is None else (product.c.name,)
        if self.rows is not None or (product.c is not None and not _is_loadable(product.c, machine.host)):
            after = after.with_elements()
            product = replace(product, c=None, after=after)
        extras = (*after.arrays, *(() if self.after is None else self.after.arrays))
        apart = tuple(
            view.name
            for view in (*extras, *(() if self.rows is None else (self.rows,)))
            if not (view.contiguous and view.natural)
        )
        if apart:
            return Decision(copied=apart)
        if loose := _loose(product, self, machine.host):
            columns = tuple(name for name in loose if loose[name])
            return Decision(copied=tuple(loose), columns=columns, pad=1 if machine.host else SECTOR)
        scratch = Scratch()
        step = _step(product, self, machine, cut, scratch)
        steps: tuple[Step, ...] = (step,)
        if after.reduced is not None:
            steps = (step, combine(step, after))
        return Decision((result,), plan=Plan(steps, scratch=scratch.used, lent=True), beside=beside, in_place=name)


def operands_of(
    arrays: Mapping[str, ArrayInfo], a: View, b: View, prologue: Any, extra: Sequence[Any], *, kept: bool
) -> tuple[View, View, Before]:
    """Return the operands that are multiplied, checked, and what is done with `a` before.

    Raises:
        TypeError, ValueError, CompileError, OverflowError: as `hgemm`.
    """
    for name, view, kinds in (("a", a, SOURCES), ("b", b, OPERANDS)):
        if view.scalar not in kinds:
            beside = "beside a prologue, or `rows`"
            raise TypeError(f"`{name}` has dtype {view.scalar}, and hgemm takes {' or '.join(kinds)} {beside}")
        if len(view.shape) != 2:
            raise ValueError(
                f"`{name}` must have 2 axes beside a prologue, or `rows`, not {len(view.shape)}: {view.shape}"
            )
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"shapes don't fit: `a` is {a.shape} and `b` is {b.shape}, so k is {a.shape[1]} or {b.shape[0]}"
        )
    rows = _rows_of(arrays.get("rows"), a)
    taken = replace(a, scalar=b.scalar, shape=(a.shape[0] if rows is None else rows.shape[0], a.shape[1]))
    require_extents(a, b)
    require_extents(taken, b)
    if prologue is None:
        if extra:
            raise ValueError("`prologue_extra` is given to `prologue`, which is missing")
        if a.scalar != b.scalar:
            raise TypeError(
                f"`a` has dtype {a.scalar} and `b` {b.scalar}: a `prologue` makes one of the other, as `lambda x: x`"
            )
        return taken, b, Before(a, rows, None)
    named = ((f"prologue_extra[{k}]", one) for k, one in enumerate(extra))
    extras = [
        extra_of(name, arrays[name], view_of(name, arrays[name]), taken.shape) if name in arrays else number(one, name)
        for name, one in named
    ]
    called, numbers = call_of(
        prologue if isinstance(prologue, Applied) else Applied(prologue), 1, extras, len(extras), kept=kept, name="prologue",
        given="an element of `a`", places="its row and its column",
    )  # fmt: skip
    return taken, b, Before(a, rows, After(called, (*extras, *numbers), Scaling(), b.scalar))


def _rows_of(info: ArrayInfo | None, a: View) -> View | None:
    """Return which rows are taken, checked; None: all."""
    if info is None:
        return None
    if info.scalar not in INDICES:
        raise TypeError(f"`rows` must be {' or '.join(INDICES)}, not {info.scalar}")
    if len(info.shape) != 1:
        raise ValueError(f"`rows` must have one axis, not {len(info.shape)}")
    if info.shape[0] and not a.shape[0]:
        raise ValueError("`rows` takes rows of `a`, which has none")
    return view_of("rows", info)


def _is_loadable(c: View, host: bool) -> bool:
    """Whether tensor copies bring an array of the result's shape as it lies."""
    return c.natural and (c.contiguous if host else c.fits_tensor_copy(1))


def _loose(product: Product, before: Before, host: bool) -> dict[str, bool]:
    """Return which operands must be copied, and whether by columns."""
    a, b = before.source, product.b
    if host:
        return {view.name: view.transposed for view in (a, b) if not (view.contiguous and view.natural)}
    found = {}
    pitch = a.strides[0] % PIECE == 0 if a.shape[0] > 1 or before.rows is not None else True
    gathers = a.natural and a.aligned and a.inside and pitch and a.strides[0] >= 0
    if not (gathers if before.rows is not None else a.natural and a.fits_tensor_copy(1)):
        found[a.name] = a.transposed
    if not (b.natural and (b.fits_tensor_copy(0) or b.fits_tensor_copy(1))):
        found[b.name] = b.transposed
    return found


def _terms_of(before: Before, own: Bound) -> Terms:
    """Return what a prologue is given, as kernels have it."""
    after = before.after
    assert after is not None
    return Terms(after.has(ROW), after.has(COLUMN), after.has(ELEMENT), **own.records)


def _sources(before: Before) -> dict[str, Any]:
    """Return what a kernel takes of `a`: its tensor map, or where its rows are."""
    a, rows = before.source, before.rows
    if rows is None:
        return {"map_a": a.map, "x": nothing(a.scalar), "taken": nothing("int32"), "apart": 0, "most": 0}
    apart = a.strides[0] // a.size if a.shape[0] > 1 else 0
    taken = {"taken": rows.buffer, "apart": apart, "most": a.shape[0] - 1}
    return {"map_a": NO_MAP, "x": Reach(a.name, a.offset, a.scalar), **taken}


def _step(product: Product, before: Before, machine: Machine, cut: Configuration | None, scratch: Scratch) -> Step:
    """Return the launch."""
    a, b, out, after = before.source, product.b, product.out, product.after
    assert after is not None
    (m, n), k = out.shape, a.shape[1]
    gathered, processors = before.rows is not None, machine.multiprocessors
    found = HOST if machine.host else cut or choose_made(m, n, k, processors, a.size, gathered=gathered)
    found = fit(found, a.size)
    outside = b.contiguous if machine.host else not b.fits_tensor_copy(0)
    main = found.cut(transpose_a=False, transpose_b=outside, out_bytes=max(2, out.size))
    copies = (
        main.stages * main.bk * (a.size - 2) // 2
    )  # bytes of A's tiles beside those of 16-bit floats, by row of two slabs
    tile = found.result(
        main,
        out.size,
        by_row=after.size(ROW) + copies,
        by_column=after.size(COLUMN),
        results=1 if after.second is None else 2,
    )
    if tile is None:
        raise ValueError(NO_ROOM)
    if gathered and main.consumers == 2:
        main = replace(main, worker_registers=208, helper_registers=88)  # those who gather have rows' places at hand
    main = replace(main, slab=0, slabs=0, span=0)
    bound, own = after.bound(), None if before.after is None else before.after.bound("a_")
    plain = not machine.host and not (out.fits_tensor_copy(1) and n * out.size % PIECE == 0)
    reduced = 0 if after.reduced is None else 2 - after.reduced.axis
    terms = Terms(
        after.has(ROW), after.has(COLUMN), after.has(ELEMENT), after.has(LOADED), after.second is not None, reduced,
        bits=8 * out.size, plain=plain, **bound.records,
    )  # fmt: skip
    first = Terms() if own is None else _terms_of(before, own)
    source = Source(a.size, gathered, own is not None, min(SPAN, main.bk * a.size))
    operator = add if after.reduced is None else after.reduced.operator
    facts: dict[str, Any] = {
        "TA": a.scalar, "TB": b.scalar, "OUT": out.scalar, "TAKEN": "int32" if before.rows is None else before.rows.scalar,
        "CUT": main, "TILE": tile, "SOURCE": source, "BEFORE": first, "TERMS": terms,
        "PROLOGUE": bound.functions[0] if own is None else own.functions[0], "COMBINE": operator.function,
        "SCHEDULE": kernels.in_columns,
    }  # fmt: skip
    facts |= dict(zip(("EPILOGUE", "SECOND", "VALUE"), bound.functions, strict=True))
    views = {**bound.views, **({} if own is None else own.views)}
    made = instance_of_views(instance_of(kernels.hgemm_prologue, facts), views)
    made.require_readable(machine.arch)
    down, across = found.tiles(m, n)
    given = {
        **_sources(before), **bound.arguments, **(_NO_RECORDS if own is None else own.arguments),
        "map_b": (b if outside else b.turn()).map, "map_c": NO_MAP if product.c is None else product.c.map,
        "map_out": NO_MAP if plain else out.map, "out": out.buffer, "stride": out.strides[0] // out.size, "m": m, "n": n, "k": k,
        "group_m": group_m(found, down, across, processors), "initial": float(operator.identity_of(np.dtype(np.float32))),
        **beside_first(out, after, plain),
    }  # fmt: skip
    parts, extent = (across, m) if reduced == 1 else (down * main.warps, n)
    given["partial"] = scratch.take("float32", parts * extent) if reduced else nothing("float32")
    return Step(made, blocks(found, down, across, processors, 1), main.threads, given)
