"""How products on the tensor cores are made: how matrices lie, which are copied first, what launches a batch comes down to."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, prod
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import NO_MAP, SCRATCH, Clear, Machine, Plan, Scratch, Step, instance_of, nothing
from prism.kernels import hgemm as kernels
from prism.kernels.hgemm import (
    HOST,
    Blocks,
    Configuration,
    Terms,
    blocks,
    choose,
    choose_blocks,
    choose_integers,
    choose_single,
    follows_late,
    group_m,
    identity,
    prefetch_steps,
    shape_key,
    symmetric_pays,
)
from prism.kernels.hgemm import shares as sums
from prism.kernels.hgemm.cut import IN_SHARES
from prism.kernels.sgemm import pack as packing
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS
from prism.lib import tuned
from prism.lib.algorithms.hgemm.product import INTEGERS, NO_BIAS, NO_BLOCKS, ROWS, Laid, Product, buffer_of
from prism.lib.algorithms.hgemm.scales import blocks_of
from prism.lib.views import MOST, View, new_view
from prism.runtime.instance import Instance
from prism.runtime.tensor_maps import PIECE, SECTOR

if TYPE_CHECKING:
    from prism.lang.tree.plan import Program

NONE = Blocks()
"""No scales of blocks."""
LINE = 64
"""Elements that rows of a copied operand begin at multiples of."""
HOPPER, ALL = "sm_90", "sm_"
"""How architectures begin whose tensor cores have `wgmma`, and those of all GPUs."""
NO_SCALE, ONE_SCALE, EACH_SCALE = 0, 1, 2
"""What scales of an operand there are: one of all, or one of each of the result's rows or columns."""


# -- Decisions --------------------------------------------------------------------------------------------------------


def decide_product(
    product: Product, result: Result, machine: Machine, given: View | None, cut: Configuration | None = None,
    scratch: Scratch | None = None,
) -> Decision:  # fmt: skip
    """Return how a checked product, or a batch, is made in `given`, or where that can't be written, in C order.

    `cut`: the configuration that is taken, whatever suits the shape. `scratch`: what memory was taken before, for operands.
    """
    if given is not None and _is_writable(given, machine.host) and (product.other is None or given.rows_dense):
        product = replace(product, out=given)
        given = None
    if 0 in product.out.shape:
        return Decision((result,), beside=given is not None)
    scratch = scratch or Scratch()
    if (found := _without_wgmma(product, result, machine, given, scratch)) is not None:
        return found
    if apart := _apart(product):
        return Decision(copied=apart)
    if machine.host and (loose := _loose_on_host(product)):
        return Decision(copied=tuple(loose), columns=tuple(name for name in loose if loose[name]))
    product, cleared = _with_elements(product, scratch)
    batch = product.out.shape[:-2]
    one = _one_product(product, batch)
    steps = (
        None
        if machine.host or one is not None or product.triangle
        else _all_at_once(product, batch, machine, cut, scratch)
    )
    if steps is None:
        each = [one] if one is not None else list(_products(product, batch))
        if not machine.host:
            each = [_transpose_out(found) for found in each]
            loose = {name: columns for found in each for name, columns in _loose(found)}
            if loose:
                return Decision(copied=tuple(loose), columns=tuple(name for name in loose if loose[name]), pad=SECTOR)
        steps = tuple(
            step
            for found in each
            for step in _steps(_lay(found, machine.host), machine, HOST if machine.host else cut, scratch)
        )
    after = product.after
    if after is not None and after.reduced is not None:
        steps = (*steps, _fused().combine(steps[0], after))
    plan = Plan((*cleared, *steps), scratch=scratch.used, lent=True)
    return Decision(
        (result,), plan=plan, beside=given is not None, in_place=() if product.c is None else (product.c.name,)
    )


def _without_wgmma(
    product: Product, result: Result, machine: Machine, given: View | None, scratch: Scratch
) -> Decision | None:
    """Return how a product, or a batch, is made on a GPU that is no Hopper; None where that is as on a Hopper GPU."""
    if machine.host or machine.arch.startswith(HOPPER) or not machine.arch.startswith(ALL):
        return None
    from prism.lib.algorithms.hgemm import by_warps

    if not by_warps.suits(product, machine):
        return None
    batch, product = product.out.shape[:-2], by_warps.with_function(product)
    one = _one_product(product, batch)
    each = [one] if one is not None else list(_products(product, batch))
    return by_warps.decide_by_warps(each, result, machine, given, scratch)


def _apart(product: Product) -> tuple[str, ...]:
    """Return what is read beside the operands, and must be copied first: it has gaps."""
    rest = (product.bias, *_plain_scales(product), *(() if product.after is None else product.after.arrays))
    apart = tuple(view.name for view in rest if view is not None and not (view.contiguous and view.natural))
    if product.blocks != NO_BLOCKS:
        apart += tuple(view.name for view in (product.scale_a, product.scale_b) if view is not None and _is_loose(view))
    return apart


def _with_elements(product: Product, scratch: Scratch) -> tuple[Product, tuple[Clear, ...]]:
    """Return a product that has something to add up; where there is nothing, zeros, which must be cleared first."""
    if product.a.shape[-1]:
        return product, ()
    made = []
    for view, many in ((product.a, product.a.shape[-2]), (product.b, product.b.shape[-1])):
        depth = PIECE // view.size
        room = scratch.take(view.scalar, many * depth)
        made.append(new_view(SCRATCH, view.scalar, (many, depth), room.offset))
    a, b = made
    other = None if product.other is None else b.turn()
    return replace(product, a=a, b=b.turn(), other=other), (Clear(a.buffer), Clear(b.buffer))


def _plain_scales(product: Product) -> tuple[View | None, ...]:
    """Return scales that kernels take as they lie in memory."""
    return () if product.blocks != NO_BLOCKS else (product.scale_a, product.scale_b)


def _is_loose(scales: View) -> bool:
    """Whether scales of blocks must be copied: they have gaps."""
    return not scales.natural or not (scales.contiguous or scales.turn().contiguous)


def _is_writable(out: View, host: bool) -> bool:
    """Whether a kernel may write into a result: rows, or columns, are dense, and none overlap."""
    if host:
        return out.contiguous and out.natural
    by_columns = out.turn()
    steps = out.strides[:-2]
    return out.natural and (
        out.rows_dense
        or (by_columns.fits_tensor_copy(1) and by_columns.rows_dense and not any(step % PIECE for step in steps))
    )


def _loose_on_host(product: Product) -> dict[str, bool]:
    """Return what must be copied for the reference machine, and whether by columns: it takes operands as they are declared."""
    a, b = product.a, product.b.turn() if product.b_inside else product.b
    views = {product.a.name: a, product.b.name: b}
    if product.c is not None:
        views[product.c.name] = product.c
    if product.other is not None:
        views[product.other.name] = product.other.turn()
    return {name: view.transposed for name, view in views.items() if not (view.contiguous and view.natural)}


def _loose(product: Product) -> Iterator[tuple[str, bool]]:
    """Return what must be copied for tensor copies of one product, and whether by columns."""
    operands = [(product.a, 1, product.k_inside), (product.b, 0, product.b_inside)]
    operands += [] if product.other is None else [(product.other, 0, True)]
    for view, along_k, inside in operands:
        if inside and not view.fits_tensor_copy(along_k):
            yield view.name, (along_k == 0) != view.transposed
        elif not view.fits_tensor_copy(0) and not view.fits_tensor_copy(1):
            yield view.name, view.transposed
    if product.c is not None and not product.c.fits_tensor_copy(1):
        yield product.c.name, product.c.transposed


def _transpose_out(product: Product) -> Product:
    out, alone = product.out, product.other is None
    return product.turn() if alone and not out.fits_tensor_copy(1) and out.fits_tensor_copy(0) else product


# -- Batches ----------------------------------------------------------------------------------------------------------


def _products(product: Product, batch: tuple[int, ...]) -> Iterator[Product]:
    """Return the products of two matrices that a batch is made of."""
    for index in np.ndindex(batch):
        before = None if product.c is None else product.c.matrix(index)
        a, b, out = product.a.matrix(index), product.b.matrix(index), product.out.matrix(index)
        other = None if product.other is None else product.other.matrix(index)
        above = int(np.ravel_multi_index(index, batch)) * out.shape[0] if batch else 0
        yield replace(product, a=a, b=b, c=before, out=out, other=other, above=above)


def _one_product(product: Product, batch: tuple[int, ...]) -> Product | None:
    """Return a batch as the one product that it is, all rows of `a` below each other; None where it is not."""
    if not batch:
        return product
    if prod(product.b.shape[:-2]) != 1 or prod(product.a.shape[:-2]) != prod(batch) or product.per == ROWS:
        return None
    if product.other is not None or (product.after is not None and product.after.indices):
        return None  # of rows that are a product's own
    a, out, before = product.a.rows(), product.out.rows(), None if product.c is None else product.c.rows()
    if a is None or out is None or (product.c is not None and before is None) or a.shape[0] > MOST:
        return None
    return replace(product, a=a, b=product.b.matrix((0,) * len(batch)), c=before, out=out)


def _all_at_once(
    product: Product, batch: tuple[int, ...], machine: Machine, cut: Configuration | None, scratch: Scratch
) -> tuple[Step, ...] | None:
    """Return a batch as one launch; None where the matrices don't lie below each other, or a step would be of two products."""
    if product.other is not None:
        return None
    m, n, k, count = *product.out.shape[-2:], product.a.shape[-1], prod(batch)
    left, right = _stack(product.a, count, 1, product.k_inside), _stack(product.b, count, 0, product.k_inside)
    out, before = product.out.rows(), None if product.c is None else product.c.rows()
    if left is None or right is None or out is None or not out.rows_dense or count * max(m, n, k) > MOST:
        return None
    if product.c is not None and (before is None or not before.fits_tensor_copy(1)):
        return None
    (a, a_outside, apart), (b, b_outside, b_apart) = left, right
    laid = Laid(replace(product, c=before, out=out), a, b, (a_outside, b_outside), int(apart) + 2 * int(b_apart), count)
    found = cut or _choose(laid, machine)
    crossed = (a_outside and laid.batch % 2 == 1) or (b_outside and laid.batch > 1)
    return None if crossed and k % found.bk else (_step(laid, machine, found, scratch),)


def _stack(view: View, count: int, along_k: int, k_inside: bool) -> tuple[View, bool, bool] | None:
    """Return an operand's matrices as one, whether K is its outer extent, and whether there is a matrix for each product."""
    many = prod(view.shape[:-2])
    if many not in (1, count) or view.name == SCRATCH:
        return None
    for found, axis in ((view, 0), (view.turn(), 1)):
        rows = found.rows()
        if rows is not None and rows.fits_tensor_copy(1) and not (k_inside and axis == along_k):
            return rows, axis == along_k, many > 1
    return None


# -- Launches ---------------------------------------------------------------------------------------------------------


def _lay(product: Product, host: bool) -> Laid:
    """Return one product's operands as tensor maps have them; the reference machine's, as they are declared."""
    a, b = product.a, product.b
    if host:
        return Laid(product, a, b.turn() if product.b_inside else b, (False, not product.b_inside))
    a_outside, b_outside = not a.fits_tensor_copy(1), not b.fits_tensor_copy(0)
    return Laid(product, a.turn() if a_outside else a, b if b_outside else b.turn(), (a_outside, b_outside))


def _fused() -> ModuleType:
    """Return what makes products whose epilogue is a function: who has none does without the parser of lambdas."""
    from prism.lib.algorithms.hgemm import fused

    return fused


def _deep(laid: Laid) -> int:
    """Return the work along K, in elements of 16 bits."""
    return -(-laid.shape[2] * SCALARS[laid.a.scalar].bytes // 2)


def _choose(laid: Laid, machine: Machine) -> Configuration:
    m, n = laid.extents
    after = laid.product.after
    if after is not None:
        return _fused().choose(laid, _deep(laid), machine.multiprocessors)
    alone = laid.product.c is None and laid.batch == 0
    if laid.product.blocks != NO_BLOCKS:
        return choose_blocks(m, n, _deep(laid), machine.multiprocessors, laid.product.blocks, parted=alone)
    if laid.product.sums == "int32":
        return choose_integers(m, n, _deep(laid), machine.multiprocessors, laid.batches, parted=alone)
    if alone and (known := tuned.choice("hgemm", machine, shape_key(m, n, _deep(laid), laid.outside))) is not None:
        return Configuration(**known)
    processors = machine.multiprocessors
    if alone:
        return choose_single(m, n, _deep(laid), processors, laid.outside)
    found: Configuration = choose(m, n, _deep(laid), processors, laid.batches, laid.outside)
    return found


def _step(laid: Laid, machine: Machine, cut: Configuration | None, scratch: Scratch) -> Step:
    """Return the launch of a product, or of a batch, by default as it suits the shape."""
    processors, deep = machine.multiprocessors, _deep(laid)
    cut = cut or _choose(laid, machine)
    if laid.batch == 0 and cut.transposes_out(laid.outside):
        laid = laid.turn()
    (m, n), k = laid.extents, laid.shape[2]
    product, single = laid.product, laid.batch == 0
    out, before = product.out, product.c
    # where tensor copies can't write the result: not at all, or not without writing beyond its rows
    unmapped = not machine.host and (not out.fits_tensor_copy(1) or out.shape[1] * out.size % PIECE != 0)
    plain = unmapped or not (single or cut.whole(m))
    down, across = cut.tiles(m, n)
    given: dict[str, Any] = {"map_a": laid.a.map, "map_b": laid.b.map, "stride": out.strides[0] // out.size}
    given |= {"m": laid.shape[0] * laid.batches, "n": laid.shape[1], "k": k, "out": out.buffer}
    if cut.parts == 1:
        ahead = prefetch_steps(cut, m, n, deep, processors) * cut.bk * 2 // laid.a.size if single else 0
        given |= {"map_c": NO_MAP if before is None else before.map, "map_out": NO_MAP if unmapped else out.map}
        order = group_m(cut, down, across, processors) if single else m
        given |= {"group_m": order, "prefetch_k": ahead}
    late = single and follows_late(cut, m, n, deep, processors, laid.outside)
    kernel, more = (
        _plain(laid, cut, plain) if product.after is None else _fused().kernel(laid, cut, plain, machine, scratch)
    )
    return Step(kernel, blocks(cut, down, across, processors, laid.batches), cut.threads, {**given, **more}, late)


def _plain(laid: Laid, cut: Configuration, plain: bool) -> tuple[Instance, dict[str, Any]]:
    """Return the kernel whose epilogue is of elements alone, and what it takes of scales, a bias, alpha and beta."""
    product = laid.product
    out = product.out
    facts = (laid.a.scalar, out.scalar, laid.outside, plain, product.c is not None, product.per, product.epilogue)
    blocks = blocks_of(product, cut)
    scales = (NO_SCALE, NO_SCALE) if blocks.a else (_how_many(product.scale_a), _how_many(product.scale_b))
    other = "" if laid.a.scalar == laid.b.scalar else laid.b.scalar
    given: dict[str, Any] = {"alpha": product.alpha} | ({"beta": product.beta} if cut.parts == 1 else {})
    given |= {"bias": buffer_of(product.bias, out.scalar if product.k_inside else product.a.scalar)}
    given |= {"scale_a": buffer_of(product.scale_a, "float32"), "scale_b": buffer_of(product.scale_b, "float32")}
    return instance_for(*facts, cut, laid.batch, other, laid.trans, scales, blocks), given


def _steps(laid: Laid, machine: Machine, cut: Configuration | None, scratch: Scratch) -> tuple[Step, ...]:
    """Return the launches of one product: mostly one."""
    if laid.product.triangle and (machine.host or cut is not None or _pays(laid, machine)):
        from prism.lib.algorithms.hgemm.symmetric import step_of

        return (step_of(laid, machine, cut),)
    cut = cut or _choose(laid, machine)
    if cut.packed:
        copies, laid = _pack(laid, cut, scratch)
        return (*copies, *_steps(laid, machine, replace(cut, packed=0), scratch))
    return _in_shares(laid, machine, cut, scratch) if cut.shares > 1 else (_step(laid, machine, cut, scratch),)


def _pays(laid: Laid, machine: Machine) -> bool:
    """Whether a symmetric product is made of one triangle: where the other is not to be touched, or it takes less."""
    n, added = laid.extents[0], laid.product.c is not None
    half = symmetric_pays(n, _deep(laid), machine.multiprocessors, laid.outside, added=added)
    return laid.product.triangle != "both" or half


def _pack(laid: Laid, cut: Configuration, scratch: Scratch) -> tuple[tuple[Step, ...], Laid]:
    """Return the launches that copy operands of one product to where they have K inside, and the product of these."""
    assert laid.batch == 0 and not laid.trans
    steps, made = [], []
    for number, (view, outside) in enumerate(zip((laid.a, laid.b), laid.outside, strict=True)):
        if not cut.packed >> number & 1:
            made.append((view, outside))
            continue
        found = view.turn() if outside else view  # rows or columns of the result, by K
        (extent, k), (apart, near) = found.shape, (stride // view.size for stride in found.strides)
        pitch = -(-k // LINE) * LINE
        room = scratch.take(view.scalar, extent * pitch)
        given = {"x": view.buffer, "rs": apart, "cs": near, "m": extent, "n": k, "out": room, "stride": pitch}
        many = -(-extent // packing.SIDE) * -(-k // packing.SIDE)
        kernel = instance_of(packing.pack, {"T": view.scalar, "TRANSPOSE": outside})
        steps.append(Step(kernel, many, packing.THREADS, given))
        made.append(
            (View(SCRATCH, view.scalar, (extent, k), (pitch * view.size, view.size), offset=room.offset), False)
        )
    (a, a_outside), (b, b_outside) = made
    return tuple(steps), replace(laid, a=a, b=b, outside=(a_outside, b_outside))


def _in_shares(laid: Laid, machine: Machine, cut: Configuration, scratch: Scratch) -> tuple[Step, Step]:
    """Return the launches of a product whose K is in shares: they are made as a batch's products, and then added up."""
    (m, n, k), product, processors = laid.shape, laid.product, machine.multiprocessors
    out = product.out
    assert product.c is None and laid.batch == 0 and not cut.transposes_out(laid.outside)
    each = SCALARS[laid.a.scalar].bytes
    bk = cut.bk * 2 // each
    share = ceil(ceil(k / bk) / cut.shares) * bk
    count = ceil(k / share)
    down, across = cut.tiles(m, n)
    rows, pitch = down * cut.bm * cut.cluster_m, -(-n // PIECE) * PIECE
    room = scratch.take("float32", count * rows * pitch)
    facts = (laid.a.scalar, "float32", laid.outside, False, False, NO_BIAS, identity)
    kernel = instance_for(*facts, cut, IN_SHARES, "" if laid.a.scalar == laid.b.scalar else laid.b.scalar)
    given: dict[str, Any] = {
        "map_a": laid.a.map,
        "map_b": laid.b.map,
        "map_c": NO_MAP,
        "map_out": NO_MAP,
        "out": room,
        "stride": pitch,
    }
    given |= {
        "bias": nothing("float32" if product.k_inside else laid.a.scalar),
        "scale_a": nothing("float32"),
        "scale_b": nothing("float32"),
        "alpha": 1.0,
        "beta": 0.0,
    }
    given |= {"m": rows * count, "n": n, "k": share, "group_m": rows, "prefetch_k": 0}
    made = Step(kernel, blocks(cut, down, across, processors, count), cut.threads, given)
    terms = Terms(_how_many(product.scale_a), _how_many(product.scale_b), product.per)
    stride = out.strides[0] // out.size
    wide = stride % sums.EACH == 0 and n % sums.EACH == 0 and (out.begins + out.offset) % (sums.EACH * out.size) == 0
    bias = out.scalar if product.k_inside else laid.a.scalar
    facts_of = {"OUT": out.scalar, "TBIAS": bias, "TERMS": terms, "EPILOGUE": product.epilogue, "WIDE": wide}
    added: dict[str, Any] = {
        "shares": room,
        "count": count,
        "rows": rows,
        "pitch": pitch,
        "out": out.buffer,
        "stride": stride,
    }
    added |= {"m": m, "n": n, "alpha": product.alpha, "bias": buffer_of(product.bias, bias)}
    added |= {"scale_a": buffer_of(product.scale_a, "float32"), "scale_b": buffer_of(product.scale_b, "float32")}
    vectors = m * -(-n // sums.EACH)
    return made, Step(instance_of(sums.add_shares, facts_of), -(-vectors // sums.THREADS), sums.THREADS, added)


def _how_many(scale: View | None) -> int:
    """Return what scales of an operand there are."""
    return NO_SCALE if scale is None else ONE_SCALE if prod(scale.shape) == 1 else EACH_SCALE


@functools.lru_cache(maxsize=1024)
def instance_for(
    kind: str, result: str, transposed: tuple[bool, bool], plain: bool, beta: bool, per: int, epilogue: Kernel,
    configuration: Configuration, batch: int = 0, other: str = "", trans: bool = False, scales: tuple[int, int] = (0, 0),
    blocks: Blocks = NONE,
) -> Instance:  # fmt: skip
    """Return the kernel for dtypes and layouts, cut into tiles by a configuration; `batch` and `trans` as in `Laid`.

    `other`: the dtype of b, where it is not that of a. `scales`: what there are of a, and of b; `blocks`: those of blocks.
    """
    terms = Terms(*scales, per, beta)
    cut = configuration.cut(
        transpose_a=transposed[0], transpose_b=transposed[1], out_bytes=SCALARS[result].bytes, in_bytes=SCALARS[kind].bytes,
        trans=trans, terms=terms, blocks=blocks,
    )  # fmt: skip
    facts: dict[str, Any] = {"T": kind, "TB": other or kind, "TBIAS": result if SCALARS[kind].bytes == 1 else kind}
    facts |= {"SUM": "int32" if kind in INTEGERS else "float32", "BLOCKS": blocks}
    facts |= {"OUT": result, "CUT": cut, "TERMS": terms, "EPILOGUE": epilogue}
    if configuration.parts > 1:
        assert not (beta or batch), "what is in parts reads no c, and is one product"
        return instance_of(kernels.hgemm_in_parts, facts)
    return instance_of(kernels.hgemm, {**facts, "PLAIN": plain, "BATCH": batch, "SCHEDULE": kernels.in_columns})


def program_for(*facts: Any) -> Program:
    """Return the checked program of `instance_for`."""
    return instance_for(*facts).program
