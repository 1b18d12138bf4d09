"""Elements put into parts by samples on the reference machine, with all its checks.

Tests of kernels/merge/samples.py, kernels/merge/moves.py, kernels/merge/buckets.py, prism/lib/algorithms/merge/samples.py.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, RaceError, UninitialisedError, run
from prism.kernels import merge as kernels
from prism.lang import int32, requires, thread
from prism.lang import prism as mark
from prism.lib.thread import operators
from tests.lib.block.test_sort import tens
from tests.mutation import without_barriers
from tests.rarely import rarely

THREADS, ITEMS, SORTERS = 256, 1, 64
TILE, ADDERS = THREADS * ITEMS, 512
SIZES = {"FEW": 1, "MORE": 0, "ITEMS": 3, "THREADS": SORTERS, "BLOCKS": 1}
CUT = {"ITEMS": ITEMS, "THREADS": THREADS, "BLOCKS": 1}
STAY = 2  # tiles that a block counts
SEARCH = {**CUT, "BATCH": 1, "STAY": STAY}


def summed(counts: Any, how: Any) -> Any:
    """Add counts up by the kernel; return their chunks' sums."""
    sums, every = np.zeros(-(-len(counts) // kernels.CHUNK), np.uint32), np.zeros(1, np.uint32)
    template = {"THREADS": ADDERS, "ITEMS": kernels.CHUNK // ADDERS}
    kernels.add_counts[len(sums), ADDERS](counts, sums, len(counts), template=template, **how)
    kernels.add_counts[1, ADDERS](sums, every, len(sums), template=template, **how)
    return sums


def parted(
    x: Any,
    samples: Any,
    bits: tuple[int, int],
    less: Any,
    each: int,
    programs: Any = None,
    *,
    values: bool = False,
    **how: Any,
) -> Any:
    """Sort by all kernels but those that sort samples: into parts of as many bits each, and within these.

    `each`: how many samples a part has. `programs`: others in place of some kernels, by their names. `values`: numbers go along,
    and are returned.
    """
    n, how = len(x), {"check": True, **how}
    outer, inner = bits
    segments = np.zeros(2 * kernels.SEGMENTS + 2, np.uint32)
    numbers, none = np.zeros(n, np.uint8), np.zeros(1, np.int32)
    given, spare, y = (
        (one, np.zeros(n, np.int32) if values else none) for one in (x, np.zeros_like(x), np.zeros_like(x))
    )
    given[1][:] = np.arange(len(given[1]))
    beside = {"V": "int32", "VALUES": values}

    def launch(name: str, template: dict[str, Any], blocks: int, threads: int, *given: Any) -> None:
        program = (programs or {}).get((name, template.get("INNER"))) or prism.check(getattr(kernels, name), template)
        run(program, blocks, threads, given, **how)

    def level(source: Any, target: Any, tiles: int, many: int, apart: int, within: bool) -> tuple[Any, Any]:
        counts = np.zeros(tiles << many, np.uint32)
        counting, counted = {"T": x.dtype, "LESS": less, "INNER": within, **SEARCH}, (counts, n, apart, many, tiles)
        launch("count_parts", counting, -(-tiles // STAY), THREADS, source[0], samples, segments, numbers, *counted)
        sums = summed(counts, how)
        moving, moved = {"T": x.dtype, "INNER": within, **beside, **CUT}, (source[0], target[0], source[1], target[1])
        launch("move_parts", moving, tiles, THREADS, *moved, segments, numbers, counts, sums, n, many)
        return counts, sums

    tiles = -(-n // TILE)
    counts, sums = level(given, spare, tiles, outer, each << inner, False)
    launch("find_segments", {"TILE": TILE}, 1, 256, counts, sums, segments, n, tiles, outer)
    counts, sums = level(spare, y, tiles + (1 << outer), inner, each, True)
    parts, template = 1 << outer + inner, {"T": x.dtype, "LESS": less, **beside, **SIZES}
    last = (y[0], spare[0], y[1], spare[1], samples, segments, counts, sums, each, inner, parts, np.int32(0))
    launch("sort_parts", template, parts, SORTERS, *last)
    assert not values or np.array_equal(x[y[1]], y[0])
    return y[values]


def by_tens(x: Any) -> Any:
    return x[np.argsort(x // 10, kind="stable")]


DATA = {
    "random": lambda random, n: random.integers(0, 1 << 30, n),
    "few": lambda random, n: random.integers(0, 60, n),
    "equal": lambda random, n: random.integers(50, 60, n),
    "half": lambda random, n: np.where(
        random.random(n) < 0.5, random.integers(0, 10, n), random.integers(0, 1 << 30, n)
    ),
    "sorted": lambda random, n: np.sort(random.integers(0, 1 << 30, n)),
}


def data(kind: str, n: int) -> tuple[Any, Any]:
    """Return integers, and 8 samples of each of 16 parts of them, in order."""
    x = DATA[kind](np.random.default_rng(n), n).astype(np.int32)
    return x, by_tens(x[np.linspace(0, n - 1, 128).astype(int)])


@pytest.mark.parametrize("kind", rarely(DATA, but=["few", "half"]))
def test_data_of_all_kinds(kind: str) -> None:
    """Equal elements keep their order; very many of them have a part of their own, or several parts of parts."""
    x, samples = data(kind, 1003)
    assert np.array_equal(parted(x, samples, (2, 2), tens, 8), by_tens(x))
    order = np.argsort(x // 10, kind="stable")
    assert np.array_equal(parted(x, samples, (2, 2), tens, 8, values=True), order)


@pytest.mark.parametrize("bits", [(2, 2), (3, 2)])
def test_other_numbers_of_parts(bits: tuple[int, int]) -> None:
    x, samples = data("random", 701)
    assert np.array_equal(parted(x, samples, bits, tens, 128 >> sum(bits)), by_tens(x))


def test_samples_that_are_of_no_use() -> None:
    """A part has more elements than a block sorts at once: it is merged by threads. All samples are one element, or others."""
    x = np.random.default_rng(2).integers(0, 1 << 30, 900, dtype=np.int32)
    for samples in (np.full(128, x.min()), np.full(128, x.max()), np.arange(128, dtype=np.int32)):
        for values in (False, True):
            y = parted(x, samples.astype(np.int32), (2, 2), tens, 8, values=values)
            assert np.array_equal(y, np.argsort(x // 10, kind="stable") if values else by_tens(x))


@pytest.mark.parametrize("always", [True, False])
def test_an_order_that_is_none(always: bool) -> None:
    """All elements are there afterwards, in any order."""

    @mark("device")
    @requires(thread[1])
    def less(a: int32 @ thread[1], b: int32 @ thread[1]) -> bool @ thread[1]:
        return always

    x, samples = data("random", 600)
    y = parted(x, samples, (2, 2), less, 8)
    assert always or np.array_equal(y, x)
    assert set(y.tolist()) <= set(x.tolist())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule(schedule: str) -> None:
    x, samples = data("half", 530)
    assert np.array_equal(parted(x, samples, (2, 2), tens, 8, schedule=schedule, seed=3), by_tens(x))


MUTANTS = [
    ("count_parts", True, {"T": "int32", "LESS": tens, "INNER": True, **SEARCH}),
    ("move_parts", True, {"T": "int32", "V": "int32", "VALUES": True, "INNER": True, **CUT}),
    ("find_segments", None, {"TILE": TILE}),
    ("sort_parts", None, {"T": "int32", "V": "int32", "VALUES": True, "LESS": tens, **SIZES}),
]

APART = ["sort_here(y=...)"]
"""Between two pieces of a long part: their objects lie in the same bytes, and the reference machine has them apart."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "inner", "template"), MUTANTS, ids=[name for name, *_ in MUTANTS])
def test_each_barrier_is_needed(name: str, inner: bool | None, template: dict[str, Any]) -> None:
    """Those of these kernels: collectives have tests of their own."""
    half, long = data("half", 400), np.random.default_rng(2).integers(0, 1 << 30, 900, dtype=np.int32)
    given, missed = [half, *((x, np.full(128, x.min())) for x in (long[:700], long))], []
    for barrier, mutant in without_barriers(prism.check(getattr(kernels, name), template)):
        if Path(barrier.second.span.file).name not in ("samples.py", "moves.py", "buckets.py"):
            continue
        try:
            for schedule, (x, samples) in product(SCHEDULES if name == "move_parts" else SCHEDULES[:1], given):
                y = parted(x, samples, (2, 2), tens, 8, {(name, inner): mutant}, values=True, schedule=schedule)
                assert np.array_equal(y, np.argsort(x // 10, kind="stable"))
            missed.append(barrier.second.text)
        except (RaceError, UninitialisedError, AssertionError):
            pass
    assert missed == APART * (name == "sort_parts")


def test_samples_are_of_all_elements() -> None:
    """One of each stretch of the array, so of a sorted one no two lie far apart."""
    x, found = np.arange(1000, dtype=np.int32), np.zeros(128, np.int32)
    kernels.take_samples[4, 32](x, found, 1000 // 128, 128, template={"T": "int32", "THREADS": 32}, check=True)
    assert (found // 7 == np.arange(128)).all() and len(set((found % 7).tolist())) == 7


PARTINGS = [(False, size) for size in kernels.PARTING] + [(True, size) for size in kernels.PARTING_PAIRS]


@pytest.mark.parametrize(("values", "size"), rarely(PARTINGS, but=[PARTINGS[0], PARTINGS[-1]]))
def test_kernels_do_not_spill(values: bool, size: int) -> None:
    c = (kernels.PARTING_PAIRS if values else kernels.PARTING)[size]
    template = {"T": f"uint{8 * size}", "THREADS": c.threads, "ITEMS": c.items, "BLOCKS": c.blocks}
    beside = {"V": f"uint{8 * size}", "VALUES": values}
    for inner in (False, True):
        counting = {
            **template,
            "LESS": operators.less,
            "INNER": inner,
            "BATCH": c.batch,
            "BLOCKS": c.counting,
            "STAY": c.stay,
        }
        assert prism.compile(kernels.count_parts, counting, arch="sm_90a").spills == 0
        assert prism.compile(kernels.move_parts, {**template, **beside, "INNER": inner}, arch="sm_90a").spills == 0
    sorting = {"T": f"uint{8 * size}", "LESS": operators.less, "FEW": c.few, "MORE": c.more, "ITEMS": c.most}
    sorting |= {"THREADS": c.sorters, "BLOCKS": c.sorting, **beside}
    assert prism.compile(kernels.sort_parts, sorting, arch="sm_90a").spills == 0
