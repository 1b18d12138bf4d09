"""How grouped products are made: what tensor maps end where a group does, and which kernel takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import (
    NO_MAP,
    SCRATCH,
    WORDS,
    Buffer,
    Machine,
    Map,
    Plan,
    Reach,
    Scratch,
    Step,
    instance_of,
    nothing,
)
from prism.kernels import grouped as kernels
from prism.kernels.grouped import Grouping
from prism.kernels.hgemm import Configuration
from prism.kernels.hgemm.configuration import SPAN
from prism.kernels.hgemm.cut import Cut
from prism.kernels.hgemm.fused import Terms
from prism.lang.types import SCALARS
from prism.lib.algorithms.hgemm.records import COLUMN, ELEMENT, ROW, SECOND, After
from prism.lib.views import MOST, View, new_view
from prism.runtime.instance import Instance
from prism.runtime.tensor_maps import PIECE, SECTOR
from prism.runtime.viewed import instance_of_views


@dataclass(frozen=True, slots=True)
class Grouped:
    """A grouped product, checked: `a` of m x k and `b` of groups x k x n, or, along K, of m x k and k x n.

    `room`: rows, or elements of K, in all, or of each group where they are apart: then `a` is of groups x room x k. `bounds`: the
    array that tells groups apart. `each`: extras by column have n elements for each group. `rows`: which rows of `a` are taken.
    """

    a: View
    b: View
    out: View
    groups: int
    room: int
    bounds: View
    grouping: Grouping
    after: After
    other: View | None = None
    each: bool = False
    rows: View | None = None

    @property
    def inside(self) -> bool:
        """Whether `b` has K inside: it must where there are two."""
        if self.other is not None:
            return True
        return not self.grouping.along_k and self.b.strides[-2] == self.b.size and self.b.shape[-2] > 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """m, n, k: m is all groups' rows, or those of one result where groups are along K, and k all of K."""
        m = self.out.shape[1] if self.grouping.along_k else prod(self.out.shape[:-1])
        return m, self.out.shape[-1], self.a.shape[-1]


def decide_plan(found: Grouped, result: Result, machine: Machine, cut: Configuration | None) -> Decision:
    """Return how a grouped product, whose result has elements, is made."""
    views = (found.bounds, *(() if found.rows is None else (found.rows,)), *found.after.arrays)
    apart = tuple(view.name for view in views if not (view.contiguous and view.natural))
    if apart:
        return Decision(copied=apart)
    if found.a.shape[-1] and (copied := _loose(found, machine.host)):
        columns = tuple(name for name in copied if copied[name])
        return Decision(copied=tuple(copied), columns=columns, pad=1 if machine.host else SECTOR)
    scratch = Scratch()
    step = _step(found, machine, cut, scratch)
    return Decision((result,), plan=Plan((step,), words=16, tag="grouped", scratch=scratch.used, lent=True))


def _loose(found: Grouped, host: bool) -> dict[str, bool]:
    """Return what must be copied for tensor copies, and whether with its last two axes exchanged."""
    a, b, along = found.a, found.b, found.grouping.along_k
    views = ((a.turn(), True) if along else (a, False), (b.turn(), True) if found.inside else (b, False))
    pair = () if found.other is None else ((found.other.turn(), True),)
    return {view.name: columns for view, columns in (*views, *pair) if not _fits(view, host)}


def _fits(view: View, host: bool) -> bool:
    """Whether tensor copies take matrices as they lie: the rows of all groups as one, where each has room of its own."""
    if host:
        return view.contiguous and view.natural
    return (
        view.fits_tensor_copies(False)
        and view.apart
        and (len(view.shape) == 2 or view.name != "a" or view.rows() is not None)
    )


def _operands(found: Grouped, scratch: Scratch) -> dict[str, Any]:
    """Return the operands; where there is no K, and the kernel loads nothing, maps of what there is."""
    a, b, along = found.a, found.b, found.grouping.along_k
    if not a.shape[-1]:
        piece = scratch.take(a.scalar, PIECE // a.size)
        a = new_view(SCRATCH, a.scalar, (1, piece.count), piece.offset)
        b = new_view(SCRATCH, b.scalar, (1, piece.count) if along else (1, 1, piece.count), piece.offset)
    elif along:
        a = a.turn()
    else:
        a, b = a.rows() or a, b.turn() if found.inside else b
    if along:
        return {"map_a": map_from_begin(a), "map_b": map_from_begin(b), "map_other": NO_MAP}
    other = NO_MAP if found.other is None else b.map if not found.a.shape[-1] else found.other.turn().map
    if found.rows is None:
        return {"map_a": map_to_end(a), "map_b": b.map, "map_other": other}
    apart = a.strides[0] // a.size if a.shape[0] > 1 else 0
    taken = {"x": Reach(a.name, a.offset, a.scalar), "taken": found.rows.buffer, "apart": apart, "most": a.shape[0] - 1}
    return {"map_b": b.map, "map_other": other, **taken}


def map_to_end(view: View) -> Map:
    """Return the map of rows, in which an axis before says where a group's rows end (prism/kernels/attention/packed.py)."""
    rows, step = view.shape[0], _step_of(view)
    return Map(view.buffer, (rows + 1, *view.shape), (step, step, view.strides[1]), rows * step)


def map_from_begin(view: View) -> Map:
    """Return the map of rows, in which an axis before says where a group's rows begin: those before are none."""
    step = _step_of(view)
    return Map(view.buffer, (view.shape[0], *view.shape), (step, step, view.strides[1]))


def _step_of(view: View) -> int:
    """Return the bytes from a row to the next."""
    return view.strides[0] if view.shape[0] > 1 else -(-view.shape[1] * view.size // PIECE) * PIECE


def _step(found: Grouped, machine: Machine, cut: Configuration | None, scratch: Scratch) -> Step:
    """Return the launch."""
    (m, n, k), along = found.shape, found.grouping.along_k
    a, out = found.a, found.out
    chosen = kernels.HOST if machine.host else cut or _choose(found)
    result = SCALARS[out.scalar]
    main = chosen.cut(transpose_a=along, transpose_b=not found.inside, out_bytes=max(2, result.bytes), in_bytes=a.size)
    assert along or main.bk * a.size <= SPAN or k % main.bk == 0, (
        "a piece of a tile of `a` would lie outside of its map"
    )
    if found.rows is not None and main.consumers == 2:
        main = replace(main, worker_registers=208, helper_registers=88)  # those who gather have rows' places at hand
    after = found.after
    pair = 0 if found.other is None else 1
    results = 1 if after.second is None else 2
    tile = chosen.result(
        main, result.bytes, by_row=after.size(ROW), by_column=after.size(COLUMN), pair=pair, results=results
    )
    if tile is None:
        raise ValueError(
            "`epilogue` is given more than there is room for beside a tile: give less by row and by column"
        )
    rows = out.rows()
    assert rows is not None
    unmapped = not machine.host and not (rows.fits_tensor_copies(False) and n * out.size % PIECE == 0)
    instance, given = _kernel(found, replace(main, slab=0, slabs=0, span=0), tile, unmapped)
    tiles_m, tiles_n = -(-m // tile.bm), -(-n // tile.bn)
    tiles = (found.groups * tiles_m if along else m // tile.bm + found.groups) * tiles_n
    if tiles > MOST:
        raise ValueError(f"there are too many tiles, {tiles}: of {found.groups} groups of {m} rows and {n} columns")
    sizes = (found.groups, found.room, m, n, k, kernels.DOWN)
    given |= _operands(found, scratch) | {
        "map_out": NO_MAP if unmapped else out.map if along else map_to_end(rows), "out": out.buffer,
        "stride": rows.strides[0] // out.size, "bounds": found.bounds.buffer, "s": np.array(sizes, kernels.Sizes)[()],
        **_beside(found, unmapped), "partial": nothing("float32"), "counter": Buffer(WORDS, 0, "uint32", 1),
    }  # fmt: skip
    blocks = 2 if machine.host else machine.multiprocessors * (1 if chosen.alone else 2)
    return Step(instance, min(tiles, blocks), main.threads, given)


def _beside(found: Grouped, unmapped: bool) -> dict[str, Any]:
    """Return what a kernel takes for a second result, which is made as the first would be."""
    out = found.out
    if found.after.second is None:
        return {"second": nothing(out.scalar), "map_second": NO_MAP}
    second = new_view(SECOND, out.scalar, out.shape)
    rows = second.rows()
    assert rows is not None
    target = second.map if found.grouping.along_k else map_to_end(rows)
    return {"second": second.buffer, "map_second": NO_MAP if unmapped else target}


def _choose(found: Grouped) -> Configuration:
    m, n, k = found.shape
    columns = n if found.other is None else 2 * n
    deep = k * found.a.size % (2 * SPAN) == 0
    gathered = found.rows is not None
    return kernels.choose(found.groups, m, columns, along_k=found.grouping.along_k, gathered=gathered, deep=deep)


def _kernel(found: Grouped, main: Cut, tile: Cut, plain: bool) -> tuple[Instance, dict[str, Any]]:
    """Return the kernel, and what it takes of extras."""
    after = found.after
    bound = after.bound()
    bits, pair = 8 * SCALARS[found.out.scalar].bytes, 0 if found.other is None else 1
    terms = Terms(
        after.has(ROW),
        after.has(COLUMN),
        after.has(ELEMENT),
        second=after.second is not None,
        pair=pair,
        bits=bits,
        plain=plain,
        **bound.records,
    )
    facts: dict[str, Any] = {
        "T": found.a.scalar,
        "TB": found.b.scalar,
        "OUT": found.out.scalar,
        "INDEX": found.bounds.scalar,
    }
    facts |= {"CUT": main, "TILE": tile, "TERMS": terms, "GROUPING": found.grouping, "EACH": found.each}
    facts |= {"EPILOGUE": bound.functions[0], "SECOND": bound.functions[1]}
    along = found.grouping.along_k
    facts |= {"DYNAMIC": not along, "TRIM": main.consumers > 1 and not along}
    if found.rows is None:
        made = instance_of(kernels.grouped_product, facts)
    else:
        made = instance_of(kernels.gathered_product, {**facts, "TAKEN": found.rows.scalar})
    return instance_of_views(made, bound.views), dict(bound.arguments)
