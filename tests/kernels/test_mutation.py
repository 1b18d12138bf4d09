"""Each barrier, wait, arrival, fence and count of the library's kernels is needed: run with it deleted or weakened, all fail.

What the machine reports, the checker of certificates rejects, of kernels that certificates cover.

Barriers deleted are in the kernels' own tests too, which every run makes; the rest is long.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.interpret import run
from prism.kernels import merge as kernels
from prism.kernels.sort_rows import GATHERED, PLACED, Block, Lanes
from prism.lang.tree.plan import Program
from tests.kernels import (
    test_encode,
    test_grouped,
    test_hgemm_fused,
    test_hgemm_parts,
    test_histogram,
    test_lookup,
    test_merge,
    test_pairs,
    test_ranks,
    test_reduce,
    test_reduce_axis,
    test_runs,
    test_scan_columns,
    test_scan_packed,
    test_scan_small,
    test_search,
    test_segmented_reduce,
    test_segmented_scan,
    test_select,
    test_sgemm_async,
    test_sgemm_ring,
    test_sort,
    test_sort_rows,
    test_topk,
)
from tests.lib.block.test_sort import tens
from tests.mutation import TRIED, program_mutants, score

ADD = test_reduce.ADD
CALLS: dict[str, tuple[ModuleType, Callable[[], None]]] = {
    "reduce": (test_reduce, lambda: test_reduce.test_operators(ADD, True, 3)),
    "reduce-commutative": (test_reduce, lambda: test_reduce.test_operators(ADD, False, 3)),
    "axis": (test_reduce_axis, lambda: axis(False, True, 8, 2)),
    "axis-along": (test_reduce_axis, lambda: axis(True, True, 32, 1)),
    "positions": (test_reduce_axis, lambda: test_reduce_axis.test_positions("int16", True, True, 32, 1)),
    "positions-in-parts": (test_reduce_axis, lambda: test_reduce_axis.test_positions("int16", False, True, 4, 2)),
    "runs": (test_runs, lambda: test_runs.test_operators(ADD)),
    **{way: (test_scan_columns, lambda way=way: columns(way)) for way in test_scan_columns.WAYS if way[:9] != "by_thread"},
    "packed": (test_scan_packed, lambda: test_scan_packed.test_operators("add", "uint8")),
    "small": (test_scan_small, lambda: test_scan_small.test_operators(ADD, False, False)),
    **{
        f"segments-{way}": (test_segmented_reduce, lambda way=way: segments(way))
        for way in test_segmented_reduce.WAYS
    },
    **{
        f"heads-{how}": (test_segmented_scan, lambda how=how: test_segmented_scan.test_operators(how, ADD))
        for how in test_segmented_scan.HOWS
    },
    "select": (test_select, lambda: test_select.check("mask", 1500)),
    "select-edges": (test_select, lambda: test_select.check("edges", 1500)),
    "select-own": (test_select, lambda: test_select.check("own", 1500)),
    "select-places": (test_select, lambda: test_select.check("places", 1500)),
    "split": (test_select, lambda: test_select.halves(1500, 2)),
    "split-in-two": (test_select, lambda: test_select.parts(1500, 2, 2)),
    "split-in-three": (test_select, lambda: test_select.parts(1500, 2, 3)),
    "select-bytes": (test_select, lambda: test_select.check("bytes", 1500, skew=0)),
    "encode": (test_encode, lambda: test_encode.check(1500, 3, blocks=2)),
    "unique-pairs": (test_pairs, lambda: test_pairs.check(1500, 3, blocks=2)),
    "repeat": (test_select, lambda: test_select.runs_of(600, 40)),
    **{
        f"histogram-{name.replace(' ', '-')}": (test_histogram, lambda name=name: test_histogram.check(name, 1500, blocks=2))
        for name in test_histogram.KINDS
        if name != "no shared memory"
    },
    "find": (test_lookup, lambda: test_lookup.first(2500, 700, 2)),
    "search": (test_lookup, lambda: test_lookup.in_a_tree()),
    "argmax": (test_search, lambda: argmax()),
    "argminmax": (test_search, lambda: argminmax()),
    "sort": (test_sort, lambda: sorts("float32", test_sort.NONE)),
    "sort-positions": (test_sort, lambda: sorts("uint32", test_sort.POSITIONS)),
    "sort-values": (test_sort, lambda: sorts("uint32", test_sort.GIVEN)),
    "rows-by-lanes": (interpret, lambda: rows(Lanes(4, 8))),
    "rows-by-block": (interpret, lambda: rows(Block(64, 4, 1))),
    "segments-by-block": (interpret, lambda: test_sort_rows.test_segments(Block(64, 2, 1), True)),
    "merge": (test_merge, lambda: merges(0)),
    "merge-runs": (test_merge, lambda: merges(test_merge.TILE)),
    "sort-tiles": (interpret, lambda: test_merge.test_tiles_are_sorted(2 * test_merge.TILE + 1)),
    "top-k-held": (test_topk, lambda: top_of_held_rows()),
    "top-k": (test_topk, lambda: top_of_longer_rows()),
    "ranks": (test_ranks, lambda: ranks()),
    "parting": (test_ranks, lambda: parting()),
    "ring": (test_sgemm_ring, lambda: test_sgemm_ring.test_edges((68, 132, 36), "along-tensor")),
    "ring-by-threads": (test_sgemm_ring, lambda: test_sgemm_ring.test_edges((68, 132, 36), "along")),
    "ring-by-tensor-copies-in-shares": (test_sgemm_ring, lambda: shares()),
    "ring-async": (test_sgemm_async, lambda: asynchronous()),
    "product-in-parts": (test_hgemm_parts, lambda: in_parts()),
    "product-fused": (interpret, lambda: fused()),
    "product-fused-of-two": (interpret, lambda: fused_of_two()),
    "product-fused-several": (interpret, lambda: fused_several()),
    "product-fused-in-parts": (interpret, lambda: fused_in_parts()),
    "product-grouped": (interpret, lambda: grouped()),
    "product-grouped-along-k": (interpret, lambda: test_grouped.test_along_k((200, 0, 64), 72, 136)),
    "product-grouped-gathered": (interpret, lambda: test_grouped.test_gathered(test_grouped.DEEP, 456)),
}  # fmt: skip
"""What runs kernels, several blocks and trips of each, and fails where a result is wrong. Not those that have no barrier."""


def axis(along: bool, wide: bool, lanes: int, splits: int) -> None:
    test_reduce_axis.test_every_way_to_cut(ADD, along, wide, lanes, splits)


def columns(way: str) -> None:
    x = test_scan_columns.data(ADD, (1, 500, 4))
    assert (test_scan_columns.launch(way, ADD, x, blocks=2) == test_scan_columns.expected(ADD, x)).all()


def segments(way: str) -> None:
    test_segmented_reduce.test_a_few_are_much_longer(way)


def argmax() -> None:
    x = test_search.data("int64", 1000)
    assert test_search.found(x) == x.argmax()


def argminmax() -> None:
    x = test_search.data("int64", 1000)
    assert test_search.both(x) == (x.argmin(), x.argmax())


def sorts(scalar: str, mode: int) -> None:
    """Data for each way to rank, as in test_sort.py."""
    x = test_sort.hard(scalar, 2500)
    often = np.where(np.random.default_rng(0).random(2500) < 0.5, x[7], x[::-1]).astype(scalar)
    many = [x, often]
    if scalar == "float32":
        many += [np.abs(often), np.random.default_rng(1).random(2500).astype(scalar)]
    for data in many:
        test_sort.check(data, mode)


def rows(way: Lanes | Block) -> None:
    """Positions, values and elements of rows of a length that is no whole one, more of them than blocks."""
    x = test_sort_rows.data("float32", (7, way.span - 1), "few")
    values = np.arange(x.size, dtype=np.int16)
    y, places, moved = test_sort_rows.equal_rows(x, way, form=PLACED, keys=GATHERED, places=True, values=values)
    order = test_sort_rows.order_of(x, False)
    assert (places == order).all() and (y == np.sort(x)).all()
    assert (moved == np.take_along_axis(values.reshape(x.shape), order, -1)).all()
    assert (test_sort_rows.equal_rows(x, way)[0] == np.sort(x)).all()


@functools.cache
def merge_program() -> Program:
    """The same program at each call, so that a mutant can take its place."""
    sizes = {"ITEMS": test_merge.ITEMS, "THREADS": test_merge.THREADS, "BLOCKS": 1}
    return prism.check(kernels.merge_tiles, {"T": "int32", "V": "int32", "LESS": tens, "VALUES": True, **sizes})


def merges(width: int) -> None:
    """Two arrays; or with a width, runs side by side, of which the last one is alone."""
    x = np.random.default_rng(0).integers(0, 300, 4 * test_merge.TILE + 3, dtype=np.int32)
    step = width or 300
    for k in range(0, x.size, step) if width else (0, 300):
        part = x[k : k + step] if width or not k else x[k:]
        part[...] = part[np.argsort(part // 10, kind="stable")]
    a, b = (x, x.copy()) if width else (x[:300].copy(), x[300:].copy())
    y, places = test_merge.merged(a, b, width, tens, program=merge_program())
    for k in range(0, x.size, 2 * width or x.size):
        run_ = x[k : k + (2 * width or x.size)]
        order = np.argsort(run_ // 10, kind="stable")
        assert np.array_equal(places[k : k + run_.size] - k, order) and np.array_equal(
            y[k : k + run_.size], run_[order]
        )


def top_of_held_rows() -> None:
    sizes = {"DIRECT": True, "ROOM": 256, "KEPT": 3}
    for k in (50, 120, 150):  # ranked by one warp, by both, and by a merge sort
        test_topk.check("float32", np.floor(test_topk.numbers("float32", 3, 240) / 10), k, 0, **sizes)


def top_of_longer_rows() -> None:
    ranked_by_two_warps = test_topk.numbers("float32", 3, 500), 120, 50, {}
    for x, k, rank, _ in (*test_topk.HARD, ranked_by_two_warps):
        test_topk.check("float32", x, k, rank, **{"ROOM": 256, "SAMPLE": 128, "KEPT": 3})


def ranks() -> None:
    for x in (test_ranks.numbers(2, 1400), np.floor(test_ranks.numbers(2, 1400) / 2)):
        test_ranks.find(x, 1000)


def parting() -> None:
    for n, parts in ((1500, 3), (2, 6)):
        test_ranks.part_one(n, parts, {})


def shares() -> None:
    assert test_sgemm_ring.exact(68, 132, 100, share=3)


def asynchronous() -> None:
    assert test_sgemm_async.exact(66, 132, 70, layout="NT")


def in_parts() -> None:
    assert test_hgemm_parts.exact(40, 40, 392, test_hgemm_parts.TWO)  # three steps of K and four, for two copies


def fused() -> None:
    """What is added comes by tensor copies, records by row and by column by a warp; a block has two tiles, of three steps."""
    assert test_hgemm_fused.exact(136, 72, 136)


def fused_of_two() -> None:
    assert test_hgemm_fused.pairs(136, 72, 136, test_hgemm_fused.SMALL)


def fused_several() -> None:
    test_hgemm_fused.several(264, 72, test_hgemm_fused.SMALL, 1, np.float16, "add", k=136)


def fused_in_parts() -> None:
    assert test_hgemm_fused.exact(40, 40, 392, test_hgemm_parts.TWO, result=np.float32, each=np.float32)


def grouped() -> None:
    """Groups of no rows, of few, and of several tiles, of three steps; extras by row and by column."""
    assert test_grouped.exact((5, 0, 70, 1), 72, 136, test_grouped.LOW)
    test_grouped.test_epilogue(True, 136)


def launched(
    module: ModuleType, call: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[Program, int]]:
    """Return the programs that a call runs, with the threads of a block."""
    found: dict[int, tuple[Program, int]] = {}

    def record(program: Program, blocks: int, threads: int, *rest: Any, **options: Any) -> Any:
        found[id(program)] = program, threads
        return run(program, blocks, threads, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, "run", record)
        call()
    return list(found.values())


@pytest.mark.fuzz
@pytest.mark.parametrize("name", CALLS)
def test_every_mutant_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, call = CALLS[name]
    wrong = 0
    for program, threads in launched(module, call, monkeypatch):
        if not any(True for _ in program_mutants(program)):
            continue  # nothing to wait for

        def right(mutant: Program, program: Program = program, **options: Any) -> bool:
            def instead(given: Program, *rest: Any, **own: Any) -> Any:
                return run(mutant, *rest, **{**own, **options}) if given is program else run(given, *rest, **own)

            with monkeypatch.context() as patch:
                patch.setattr(module, "run", instead)
                try:
                    call()
                except AssertionError:
                    return False
            return True

        found = score(program, right, threads, TRIED)
        print(name, found)
        wrong += found.wrong
        assert not found.survivors and not found.accepted
    assert wrong
