"""Each barrier, wait, arrival, fence and count of the library's kernels is needed: run with it deleted or weakened, all fail.

Barriers deleted are in the kernels' own tests too, which every run makes; the rest is long.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from prism.interpret import run
from prism.lang.tree.plan import Program
from tests.kernels import (
    test_hgemm_parts,
    test_histogram,
    test_lookup,
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
)
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
    "ring": (test_sgemm_ring, lambda: test_sgemm_ring.test_edges((68, 132, 36), "along-tensor")),
    "ring-by-threads": (test_sgemm_ring, lambda: test_sgemm_ring.test_edges((68, 132, 36), "along")),
    "ring-by-tensor-copies-in-shares": (test_sgemm_ring, lambda: shares()),
    "ring-async": (test_sgemm_async, lambda: asynchronous()),
    "product-in-parts": (test_hgemm_parts, lambda: in_parts()),
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


def shares() -> None:
    assert test_sgemm_ring.exact(68, 132, 100, share=3)


def asynchronous() -> None:
    assert test_sgemm_async.exact(66, 132, 70, layout="NT")


def in_parts() -> None:
    assert test_hgemm_parts.exact(40, 40, 392, test_hgemm_parts.TWO)  # three steps of K and four, for two copies


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
        assert not found.survivors
    assert wrong
