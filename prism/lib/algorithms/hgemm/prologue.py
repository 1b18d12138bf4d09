"""Products with a prologue: what makes each element of `a` on its way, and which rows of it are taken; how they are launched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import NO_MAP, SCRATCH, Machine, Plan, Reach, Scratch, Step, instance_of, nothing
from prism.kernels.hgemm import Configuration, blocks, group_m, identity, in_columns
from prism.kernels.hgemm import prologue as kernels
from prism.kernels.hgemm.fused import Terms
from prism.kernels.hgemm.prologue_configurations import FEW, HOST, choose_gathered
from prism.lib.algorithms.hgemm.epilogue import call_of, extra_of, number
from prism.lib.algorithms.hgemm.fused import NO_ROOM, beside_first, combine
from prism.lib.algorithms.hgemm.plan import LINE, decide_product
from prism.lib.algorithms.hgemm.product import Product
from prism.lib.algorithms.hgemm.records import COLUMN, ELEMENT, ROW, After, Scaling
from prism.lib.algorithms.matmul.arguments import require_extents
from prism.lib.algorithms.sgemm.ring import ARCH
from prism.lib.lazy.closures import Applied
from prism.lib.operators import add
from prism.lib.views import View, view_of
from prism.runtime.arrays import ArrayInfo
from prism.runtime.tensor_maps import PIECE, SECTOR
from prism.runtime.viewed import instance_of_views

OPERANDS = "float16", "bfloat16"
"""What is multiplied: what a prologue makes is rounded to one of these, that of `b`."""
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
        """Check that a product with a prologue is one of two matrices, and not said to be symmetric.

        Raises:
            ValueError: it is not.
        """
        if len(product.out.shape) > 2:
            raise ValueError("`prologue` and `rows` are of a product of two matrices, not of a batch")
        if symmetric is not None:
            raise ValueError("a `symmetric` product has no `prologue`, and no `rows`")

    def decide(
        self, product: Product, result: Result, machine: Machine, given: View | None, cut: Configuration | None = None
    ) -> Decision:
        """Return how a checked product with a prologue is made in `given`, or where that can't be written, in C order."""
        k = product.a.shape[1]
        if 0 in product.out.shape or not k:  # sums of nothing
            return decide_product(product, result, machine, given, cut)
        arrays = (*(() if self.after is None else self.after.arrays), *(() if self.rows is None else (self.rows,)))
        loose = tuple(view.name for view in arrays if not (view.contiguous and view.natural))
        loose += () if self.source.natural else (self.source.name,)
        if loose or (machine.host and not self.source.contiguous):
            return Decision(copied=loose or (self.source.name,))
        if self.gathers(product, machine):
            return self._gather(product, result, machine, given, cut)
        scratch = Scratch()
        a, step = self._made(product.a, machine, scratch)
        found = decide_product(replace(product, a=a), result, machine, given, cut, scratch)
        if found.plan is None:
            return found
        return replace(found, plan=replace(found.plan, steps=(step, *found.plan.steps), scratch=scratch.used))

    def gathers(self, product: Product, machine: Machine) -> bool:
        """Whether rows are gathered in the product: they are many, of one matrix, as they lie, and the GPU is a Hopper GPU."""
        if self.after is not None or product.other is not None or max(product.blocks):
            return False
        source = self.source
        lies = source.aligned and source.inside and source.strides[0] >= 0 and source.strides[0] % PIECE == 0
        return machine.host or (machine.arch == ARCH and lies and product.out.shape[0] >= FEW)

    def _made(self, a: View, machine: Machine, scratch: Scratch) -> tuple[View, Step]:
        """Return the operand that is made first, and the launch that makes it."""
        (m, k), source, gathered = a.shape, self.source, self.rows is not None
        pitch = k if machine.host else -(-k // LINE) * LINE
        room = scratch.take(a.scalar, m * pitch)
        view = View(SCRATCH, a.scalar, (m, k), (pitch * a.size, a.size), offset=room.offset)
        down, across = (stride // source.size for stride in source.strides)
        word = kernels.EACH * source.size
        wide = source.inside and (source.begins + source.offset) % word == 0 and source.strides[0] % word == 0
        after = self.after or _as_it_is(a.scalar)
        bound = after.bound()
        terms = Terms(after.has(ROW), after.has(COLUMN), after.has(ELEMENT), **bound.records)
        facts: dict[str, Any] = {
            "T": source.scalar, "OUT": a.scalar, "TAKEN": self.rows.scalar if self.rows else "int32", "GATHERED": gathered,
            "WIDE": wide, "WHOLE": pitch % kernels.EACH == 0, "TERMS": terms, "PROLOGUE": bound.functions[0],
        }  # fmt: skip
        made = instance_of_views(instance_of(kernels.make_operand, facts), bound.views)
        made.require_readable(machine.arch)
        given = {
            "x": Reach(source.name, source.offset, source.scalar), "down": down, "across": across, "y": room, "m": m, "k": k,
            "pitch": pitch, "taken": self.rows.buffer if self.rows else nothing("int32"), "most": source.shape[0] - 1,
            **bound.arguments,
        }  # fmt: skip
        each = kernels.MAKERS * kernels.TIMES
        return view, Step(made, -(-m * -(-k // kernels.EACH) // each), kernels.MAKERS, given)

    def _gather(
        self, product: Product, result: Result, machine: Machine, given: View | None, cut: Configuration | None
    ) -> Decision:
        """Return how a product is made that gathers rows."""
        if given is not None and given.natural and (given.contiguous if machine.host else given.rows_dense):
            product, given = replace(product, out=given), None
        name = () if product.c is None else (product.c.name,)
        assert product.after is not None
        after = product.after.with_elements()
        product = replace(product, c=None, after=after)
        if apart := tuple(view.name for view in after.arrays if not (view.contiguous and view.natural)):
            return Decision(copied=apart)
        b = product.b
        fits = b.natural and (b.contiguous if machine.host else b.fits_tensor_copy(0) or b.fits_tensor_copy(1))
        if not fits:
            return Decision(
                copied=(b.name,), columns=(b.name,) if b.transposed else (), pad=1 if machine.host else SECTOR
            )
        scratch = Scratch()
        step = _gathered(product, self, machine, cut, scratch)
        steps = (step,) if after.reduced is None else (step, combine(step, after))
        plan = Plan(steps, scratch=scratch.used, lent=True)
        return Decision((result,), plan=plan, beside=given is not None, in_place=name)


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


def _as_it_is(scalar: str) -> After:
    """Return what makes an element of a dtype of one, as it is."""
    called, _ = call_of(Applied(identity), 1, (), 0, kept=True)
    return After(called, (), Scaling(), scalar)


def _gathered(product: Product, before: Before, machine: Machine, cut: Configuration | None, scratch: Scratch) -> Step:
    """Return the launch of a product that gathers rows."""
    a, b, out, after, rows = before.source, product.b, product.out, product.after, before.rows
    assert after is not None and rows is not None
    (m, n), k, processors = out.shape, a.shape[1], machine.multiprocessors
    found = HOST if machine.host else cut or choose_gathered(m, n, k, processors)
    outside = b.contiguous if machine.host else not b.fits_tensor_copy(0)
    main = found.cut(transpose_a=False, transpose_b=outside, out_bytes=max(2, out.size))
    results = 1 if after.second is None else 2
    tile = found.result(main, out.size, by_row=after.size(ROW), by_column=after.size(COLUMN), results=results)
    if tile is None:
        raise ValueError(NO_ROOM)
    main = replace(main, slab=0, slabs=0, span=0)
    if main.consumers == 2:
        main = replace(main, worker_registers=208, helper_registers=88)  # those who gather have rows' places at hand
    bound = after.bound()
    plain = not machine.host and not (out.fits_tensor_copy(1) and n * out.size % PIECE == 0)
    reduced = 0 if after.reduced is None else 2 - after.reduced.axis
    terms = Terms(
        after.has(ROW), after.has(COLUMN), after.has(ELEMENT), second=after.second is not None, reduced=reduced,
        bits=8 * out.size, plain=plain, **bound.records,
    )  # fmt: skip
    operator = add if after.reduced is None else after.reduced.operator
    facts: dict[str, Any] = {
        "T": a.scalar, "TB": b.scalar, "OUT": out.scalar, "TAKEN": rows.scalar, "CUT": main, "TILE": tile, "TERMS": terms,
        "COMBINE": operator.function, "SCHEDULE": in_columns,
    }  # fmt: skip
    facts |= dict(zip(("EPILOGUE", "SECOND", "VALUE"), bound.functions, strict=True))
    made = instance_of_views(instance_of(kernels.hgemm_gathered, facts), bound.views)
    made.require_readable(machine.arch)
    down, across = found.tiles(m, n)
    laid = b if outside else b.turn()
    whole = replace(
        laid, shape=(1, *laid.shape), strides=(laid.shape[0] * abs(laid.strides[0]) or PIECE, *laid.strides)
    )
    given = {
        **bound.arguments, "x": Reach(a.name, a.offset, a.scalar), "taken": rows.buffer, "most": a.shape[0] - 1,
        "apart": a.strides[0] // a.size if a.shape[0] > 1 else 0, "map_b": whole.map, "map_other": NO_MAP, "map_c": NO_MAP,
        "map_out": NO_MAP if plain else out.map, "out": out.buffer, "stride": out.strides[0] // out.size, "m": m, "n": n, "k": k,
        "group_m": group_m(found, down, across, processors), "initial": float(operator.identity_of(np.dtype(np.float32))),
        **beside_first(out, after, plain),
    }  # fmt: skip
    parts, extent = (across, m) if reduced == 1 else (down * main.warps, n)
    given["partial"] = scratch.take("float32", parts * extent) if reduced else nothing("float32")
    return Step(made, blocks(found, down, across, processors, 1), main.threads, given)
