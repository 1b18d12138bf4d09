"""Every barrier, wait, arrival, fence, count and number of bytes of a plan is needed: each fault in it is reported."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.lang.tree.plan import Program
from tests.examples import test_asynchronous as asynchronous
from tests.examples import test_paper as paper
from tests.examples.programs import Launch, aligned
from tests.interpret.async_kernels import CASES, Case
from tests.kernels import test_hgemm as hgemms
from tests.kernels import test_scan as scans
from tests.kernels import test_sgemm as sgemms
from tests.mutation import EMPTY, LATER, THOROUGH, TRIED, UNAWAITED, Right, Score, program_mutants, score

SMALL = ("written", "loaded", "stations", "copied", "grouped", "boxes", "swapped")
TRIPS = 9


@functools.cache
def program(name: str) -> Program:
    """Return a case's program; made once."""
    case = next(case for case in CASES if str(case) == name)
    return prism.check(case.kernel, case.template)


def scored(case: Case, tried: tuple[tuple[str, int], ...]) -> Score:
    """Try every mutant of a case's plan."""

    def right(mutant: Program, **options: Any) -> bool:
        arguments, place, wanted = case.arguments(TRIPS)
        run(mutant, case.blocks, case.threads, arguments, **options)
        return np.array_equal(arguments[place], wanted)

    return score(program(str(case)), right, case.threads, tried)


@pytest.mark.parametrize("case", [c for c in CASES if c.kernel.__name__ in SMALL], ids=str)
def test_small_plans(case: Case) -> None:
    found = scored(case, TRIED)
    assert found.wrong and not found.survivors and not found.excused


@pytest.mark.fuzz
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_plans(case: Case) -> None:
    found = scored(case, THOROUGH)
    assert found.wrong and not found.survivors and not found.excused


def test_which_are_right_after_all() -> None:
    """A copy that is given back a round later, and the arrivals after the last round: nobody waits for either."""
    found = [mutant for mutant, _ in program_mutants(program("product-K4-D2")) if mutant.harmless]
    assert {mutant.harmless for mutant in found} == {LATER, UNAWAITED}
    assert all("Arrive(ta_tb_read)" in mutant.name for mutant in found)
    assert not any(mutant.harmless for mutant, _ in program_mutants(program("loaded-K1")))


@pytest.mark.parametrize("per", [0, 1])
def test_a_round_of_copies_that_nothing_is_in(per: int) -> None:
    """Of a product without a bias nobody looks into the rings for one: not to count their rounds is right."""
    built = hgemms.program("bfloat16", "bfloat16", (False, False), False, False, per, hgemms.identity, hgemms.SMALL)
    found = [m.name for m, _ in program_mutants(built) if m.harmless == EMPTY]
    assert len(found) == (0 if per else 1) and all("without Advance()" in name for name in found)


# -- the project's own kernels --------------------------------------------------------------------------------------------

ASYNCHRONOUS = (
    "in-turn-1-2", "in-turn-3-4", "piped-1-9", "piped-3-9", "two-buffers-6", "drawn-7-2", "lasting-1-192-2-1", "doubled",
    "product", "product-ahead-4", "hgemm", "halves-5-1", "halves-5-2", "exchanged",
)  # fmt: skip
PAPER = ("reverse", "scan-part", "tf32-many", "sgemm-3-64x64x32", "sgemm-4-64x64x32", "sgemm-5-64x64x32")
BY_THE_WARP = "scan: the block barrier at line 147: of thread[32] only"
"""The paper's scan: each warp reads the ends of rows that it wrote itself, which the analysis cannot see."""


def right_of(launch: Launch) -> Right:
    """Return what runs a launch's program, and compares."""

    def right(mutant: Program, **options: Any) -> bool:
        given = [aligned(a) if isinstance(a, np.ndarray) and a.ndim == 1 else a for a in launch.arguments]
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
        run(mutant, *launch.shape, given, **options)
        errors = (
            np.max(np.abs(launch.values(given[place]).astype(np.float64) - wanted.astype(np.float64)), initial=0.0)
            for place, wanted in launch.results.items()
        )
        return all(error <= launch.bound for error in errors)

    return right


@pytest.mark.fuzz
@pytest.mark.parametrize("name", [*ASYNCHRONOUS, *PAPER])
def test_kernels(name: str) -> None:
    launch = (asynchronous.LAUNCHES if name in ASYNCHRONOUS else paper.LAUNCHES)[name]()
    found = score(prism.check(launch.kernel, launch.template), right_of(launch), launch.shape[1], TRIED)
    assert found.wrong + len(found.excused)
    assert [name for name in found.survivors if name != BY_THE_WARP] == []


@pytest.mark.fuzz
@pytest.mark.parametrize(
    "cut", [hgemms.ONE, hgemms.SMALL, replace(hgemms.SMALL, cluster_m=2)], ids=lambda cut: cut.name
)
def test_the_product(cut: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    built = hgemms.program("bfloat16", "bfloat16", (False, False), False, False, 0, hgemms.identity, cut)

    def right(mutant: Program, **options: Any) -> bool:
        del options["check"]
        monkeypatch.setattr(hgemms, "program", lambda *_: mutant)
        return hgemms.exact(300, 200, 264, cut=cut, blocks=1, **options)

    found = score(built, right, cut.threads, TRIED)
    assert found.wrong and not found.survivors


@pytest.mark.fuzz
def test_the_turned_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row-major operands, made as the transpose: sums are stored across the slab's rows."""
    cut = replace(hgemms.SMALL, bn=72, slabs=2)
    built = hgemms.program("bfloat16", "bfloat16", (True, False), False, False, 0, hgemms.identity, cut, True)

    def right(mutant: Program, **options: Any) -> bool:
        del options["check"]
        monkeypatch.setattr(hgemms, "program", lambda *_: mutant)
        return hgemms.exact(200, 300, 264, cut=cut, blocks=1, turned=True, transposed=(False, True), **options)

    found = score(built, right, cut.threads, TRIED)
    assert found.wrong and not found.survivors


@pytest.mark.fuzz
@pytest.mark.parametrize("plain", [False, True], ids=["by tensor copies", "plain"])
def test_products_in_one_launch(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a batch: a block goes on from product to product, and so do the rings."""
    facts = "bfloat16", "float32", (False, True), plain, False, 0, hgemms.identity, hgemms.SMALL, 3
    built = hgemms.program_for(*facts)

    def right(mutant: Program, **options: Any) -> bool:
        del options["check"]
        monkeypatch.setattr(hgemms, "program_for", lambda *_: mutant)
        rows = 72 if plain else hgemms.SMALL.bm
        return hgemms.batch_is_exact(
            3, rows, 72, 192, hgemms.SMALL, blocks=1, transposed=(False, True), plain=plain, **options
        )

    found = score(built, right, hgemms.SMALL.threads, TRIED)
    assert found.wrong and not found.survivors


@pytest.mark.fuzz
@pytest.mark.parametrize("variant", ["tiled", "vectorized", "warps"])
def test_the_float32_products(variant: str) -> None:
    cut = sgemms.SMALL[variant]
    built = sgemms.program_for(cut, sgemms.WIDE, sgemms.OTHER, sgemms.OTHER)

    def right(mutant: Program, **options: Any) -> bool:
        return sgemms.exact(cut, 40, 36, 20, program=mutant, **options)

    found = score(built, right, cut.threads, TRIED)
    assert found.wrong and not found.survivors and not found.excused


@pytest.mark.fuzz
def test_the_scan() -> None:
    case = scans.ADD
    x = case.data(9 * scans.SMALL.tile)

    def right(mutant: Program, **options: Any) -> bool:
        del options["check"]
        return np.array_equal(scans.launch(case, x, 2, mutant=mutant, **options), np.cumsum(x, dtype=np.int32))

    found = score(scans.program("int32", case.function, False, scans.SMALL), right, scans.SMALL.threads, TRIED)
    assert found.wrong and not found.survivors and not found.excused
