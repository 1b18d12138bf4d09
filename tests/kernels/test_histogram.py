"""Kernels of histograms on the reference machine, with all its checks: on many blocks, against NumPy and by edges.

Tests of kernels/histogram: bins, configurations, counting, handing, lanes.
"""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.histogram import (
    EDGES,
    EVEN,
    IDENTITY,
    check_edges,
    configurations,
    histogram,
    place,
    prepare,
)
from prism.lang.lower.limits import SHARED_LIMITS
from prism.lib.algorithms.histogram.plan import Task, cuts_of, direct
from prism.lib.algorithms.histogram.rules import even_bins
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

SIZES = {"THREADS": 64, "ITEMS": 4, "WIDTH": 2, "BLOCKS": 1}
SIZE = 12
NOWHERE = (np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
"""What nothing is handed over to."""
CUT = configurations.Configuration(slots=0, threads=64, blocks=1)


def task(given: str, kind: int, weights: str = "", **more) -> Task:
    bins = even_bins(np.dtype(given), -20.0, 30.0, SIZE) if kind == EVEN else None
    edges = ("float64", np.promote_types(given, "float64").name) if kind == EDGES else ("", "")
    return Task(given, SIZE, kind, weights, bins, *edges, **more)


KINDS = {
    "even floats": (task("float32", EVEN), {"SLOTS": 104, "COPIES": 8}),
    "even integers": (task("int32", EVEN), {"SLOTS": 13, "COPIES": 1}),
    "integers by value": (task("int32", EVEN), {"VALUES": True, "SLOTS": 104, "COPIES": 2}),
    "near floats": (
        task("float32", EVEN),
        {"SLOTS": 26, "COPIES": 2, "TABLE": 16, "NEAR": True, "LIMITS": True, "E": "float32"},
    ),
    "near integers": (
        task("int32", EVEN),
        {"SLOTS": 13, "COPIES": 1, "TABLE": 16, "NEAR": True, "LIMITS": True, "E": "int32", "TE": "float64"},
    ),
    "bytes": (task("int8", EVEN), {"SLOTS": 1024, "COPIES": 4, "ITEMS": 16, "WIDTH": 16}),
    "frequent": (task("float32", EVEN), {"SLOTS": 0, "COPIES": 1, "OFTEN": 4}),
    "no shared memory": (task("float32", EVEN, "int32"), {"SLOTS": 0, "COPIES": 1}),
    "edges": (task("float32", EDGES), {"SLOTS": 26, "COPIES": 2, "TABLE": 16, "CELLS": 32}),
    "limits": (
        task("int32", EDGES),
        {"SLOTS": 13, "COPIES": 1, "TABLE": 16, "CELLS": 20, "LIMITS": True, "E": "int32"},
    ),
    "lanes": (
        task("float32", EDGES),
        {"SLOTS": 512, "COPIES": 32, "TABLE": 16, "CELLS": 64, "LIMITS": True, "E": "float32", "LANES": 512},
    ),
    "lanes of integers": (
        task("int16", EDGES),
        {"SLOTS": 512, "COPIES": 32, "TABLE": 16, "CELLS": 64, "LIMITS": True, "E": "int16", "LANES": 512},
    ),
    "edges in global memory": (task("int32", EDGES), {"SLOTS": 26, "COPIES": 2, "TABLE": 0}),
    "integers": (task("int16", IDENTITY, most=True), {"SLOTS": 13, "COPIES": 1}),
    "weights": (task("float32", EVEN, "int32"), {"SLOTS": 26, "COPIES": 2}),
    "loaded early": (task("float32", EVEN), {"SLOTS": 26, "COPIES": 2, "EARLY": True}),
    "integers loaded early": (task("int32", IDENTITY, most=True), {"SLOTS": 26, "COPIES": 2, "EARLY": True}),
}


@functools.cache
def program(name: str):
    one, sizes = KINDS[name]
    template = {**one.template(CUT, 1, 0), **SIZES, **sizes}
    return prism.check(histogram, template)


def check(name: str, n: int, *, blocks=3, mutant=None, seed=0, scale=9.0, skew=-1, **options) -> None:
    one, sizes = KINDS[name]
    random = np.random.default_rng(seed)
    x = (random.standard_normal(n) * scale).astype(one.given)
    weights = random.integers(-5, 9, n).astype(one.weights or "uint8")
    edges = np.sort(random.standard_normal(SIZE + 1) * 9)
    if one.kind == IDENTITY:
        wanted = np.bincount(x[(x >= 0) & (x < SIZE)], minlength=SIZE)
        wanted = np.append(wanted, max(int(v) & 0xFFFFFFFF for v in x))
    else:
        bins = {"bins": SIZE, "range": (-20.0, 30.0)} if one.kind == EVEN else {"bins": edges}
        wanted, _ = np.histogram(x, weights=weights if one.weights else None, **bins)
    counts = np.zeros(len(wanted) + 1, one.sums)
    result, length = np.full(len(wanted) + 1 if one.most else 0, 0), np.full(1 if one.most else 0, -1)
    rule = one.bins.rule if one.bins else np.zeros((), prism.kernels.histogram.Even)[()]
    if one.integral and sizes.get("LIMITS"):
        rule["low"], rule["high"] = np.iinfo(one.given).min, np.iinfo(one.given).max
    nothing = np.zeros((), one.counter)[()]
    types = {**one.template(CUT, 1, 0), **sizes}
    table = edges if one.kind == EDGES else np.linspace(-20.0, 30.0, SIZE + 1, dtype=types["TE"])
    if skew > 0:
        x, weights = (np.concatenate([np.zeros(skew, array.dtype), array])[skew:] for array in (x, weights))
    values = (x, weights, table, counts, n, SIZE, skew, -1, rule, x.dtype.type(0), nothing, result, length, 3)
    run(mutant or program(name), blocks, 64, values, check=True, **options)
    if one.most:
        assert length.tolist() == [max(min(wanted[-1], SIZE) + 1, 3)]
        result, counts = counts, result  # what was handed over; where it was counted there are zeros again
        assert not result.any()
    assert np.array_equal(counts[:-1], wanted) and counts[-1] == 0


@pytest.mark.parametrize("name", KINDS)
def test_against_numpy(name: str) -> None:
    for number, n in enumerate((1, 255, 256, 257, 1500)):
        check(name, n, seed=number)
    check(name, 600, scale=0.3)


@pytest.mark.parametrize(("name", "skew"), [("even floats", 1), ("bytes", 5), ("weights", 1), ("integers", 0)])
def test_arrays_that_are_not_aligned(name: str, skew: int) -> None:
    for n in (1, 300, 2100):
        check(name, n, skew=skew, blocks=2)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES[:4])
def test_schedules(schedule: str, seed: int) -> None:
    for blocks in (1, 8):
        check("even floats", 1300, blocks=blocks, schedule=schedule, seed=seed)


SHARED = [name for name in KINDS if name != "no shared memory"]


@pytest.mark.parametrize("name", rarely(SHARED, but=["even floats", "bytes", "edges"]))
def test_each_inferred_barrier_is_needed(name: str) -> None:
    found = list(without_barriers(program(name)))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                check(name, 1500, blocks=2, mutant=mutant, schedule=schedule, seed=seed)


def edges_of_floats() -> list[np.ndarray]:
    """Edges in any order of magnitude: equal ones, infinite ones, all in one cell of a guide."""
    far = np.sort(np.random.default_rng(1).standard_normal(SIZE + 1) * 9)
    infinite = np.concatenate([[-np.inf], far[1:-1], [np.inf]])
    several = np.sort(np.concatenate([[-9.0], np.full(9, 1.0), [1.0625, 1.125, 9.0]]))
    return [far, infinite, several, np.full(SIZE + 1, 5.0), np.geomspace(1e-20, 1e20, SIZE + 1), 1000 + far / 1000]


def edges_of_integers(kind: np.dtype) -> list[np.ndarray]:
    """Edges at a type's limits, and beyond them."""
    least, most = (float(limit) for limit in (np.iinfo(kind).min, np.iinfo(kind).max))
    inner = np.linspace(least, most, SIZE + 1)
    ends = np.concatenate([np.full(3, least), inner[3:-3], np.full(3, most)])
    return [
        inner,
        ends,
        np.concatenate([[least - 1], inner[1:-1], [most + 1]]),
        np.full(SIZE + 1, most),
        inner / 1000,
        inner / most,
    ]


@pytest.mark.parametrize("given", ["float32", "int16", "uint16", "int32", "uint32"])
def test_each_lane_has_bounds_of_its_own(given: str) -> None:
    kind, random = np.dtype(given), np.random.default_rng(0)
    one = Task(given, SIZE, EDGES, edges="float64", compared="float64")
    template = {**one.template(CUT, 1, 0), **SIZES, **KINDS["lanes"][1], "E": given}
    rule = np.zeros((), prism.kernels.histogram.Even)[()]
    if kind.kind == "f":
        every = edges_of_floats()
    else:
        every, limits = edges_of_integers(kind), np.iinfo(kind)
        rule["low"], rule["high"] = limits.min, limits.max
    for edges in every:
        if kind.kind == "f":
            x = np.concatenate([random.standard_normal(500) * 9, edges, [np.inf, -np.inf, 0.0, -0.0]]).astype(given)
            x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
            x = np.append(x[~np.isnan(x)], np.float32(np.nan))
        else:
            near = np.clip(np.concatenate([edges - 1, edges, edges + 1]), limits.min, limits.max).astype(given)
            x = np.concatenate([random.integers(limits.min, limits.max, 500, given, endpoint=True), near])
        counts = np.zeros(SIZE + 1, np.int64)
        values = (
            x,
            np.zeros(1, np.uint8),
            edges,
            counts,
            x.size,
            SIZE,
            -1,
            -1,
            rule,
            kind.type(0),
            np.uint32(0),
            *NOWHERE,
        )
        run(prism.check(histogram, template), 2, 64, values, check=True)
        assert np.array_equal(counts[:-1], np.histogram(x[x == x], edges)[0]) and counts[-1] == 0, edges


def test_lanes_have_edges_of_long_arrays_that_are_few() -> None:
    class Gpu:
        host, multiprocessors = False, 132

        def __init__(self, arch: str) -> None:
            self.arch = arch

    def cells(size: int, n: int = 1 << 28, arch: str = "sm_90a", **more: str) -> int:
        task = Task(
            **{"given": "float32", "size": size, "kind": EDGES, "edges": "float64", "compared": "float64", **more}
        )  # type: ignore[arg-type]
        return task.configuration(n, Gpu(arch))[3] if task.configuration(n, Gpu(arch))[0].lanes else 0

    assert cells(configurations.RANKS - 3) == configurations.LANE_CELLS[1] and cells(configurations.RANKS - 2) == 0
    assert cells(256, 1 << 24) == configurations.LANE_CELLS[0]
    assert (
        cells(256, 1 << 20)
        == cells(256, arch="sm_86")
        == cells(256, weights="float32")
        == cells(256, given="float64")
        == 0
    )


def test_integers_are_counted_by_value_where_they_are_few() -> None:
    def counters(given: str, size: int, most: int) -> int:
        return Task(given, size, EVEN, bins=even_bins(np.dtype(given), 0, most, size)).counters

    assert counters("int32", 256, 256) == 258 and counters("int16", 4096, 256) == 258
    assert (
        counters("int32", 256, 257) == 257 and counters("float32", 4096, 256) == 4097 and counters("uint8", 9, 4) == 256
    )


@pytest.mark.parametrize("blocks", [1, 3])
def test_what_is_prepared(blocks: int) -> None:
    code = prism.check(prepare, {"S": "int64", "TE": "float32", "T": "float32", "L": "float64", "THREADS": 64})
    bins = even_bins(np.dtype("float32"), 0.1, 1.3, 100)
    counts, edges = np.full(130, 7), np.zeros(102, np.float32)
    run(code, blocks, 64, (counts, edges, 100, 128, bins.rule), check=True)
    assert (counts[:128] == 0).all() and (counts[128:] == 7).all()
    assert np.array_equal(edges[:101], np.linspace(0.1, 1.3, 101, dtype=np.float32)) and edges[101] == 0


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize(
    ("largest", "least", "length"),
    [
        (0, 0, 1),
        (4, 0, 5),
        (4, 5, 5),
        (4, 9, 9),
        (11, 0, 12),
        (12, 0, 13),
        (13, 3, 13),
        ((1 << 63) - 1, 12, 13),
        (-1, 0, 13),
    ],
)
def test_how_many_counts_there_are(largest: int, least: int, length: int, blocks: int) -> None:
    """A negative element is a large one, so none is missed; the zeros in which was counted are zeros for the next launch."""
    template = {**task("int64", IDENTITY, most=True).template(CUT, 1, 0), **SIZES, "SLOTS": 13, "COPIES": 1}
    x, counts = (
        np.append(np.arange(700) % (largest + 1 if 0 <= largest < SIZE else SIZE), largest),
        np.zeros(15, np.int64),
    )
    rule = np.zeros((), prism.kernels.histogram.Even)[()]
    for _ in range(2):
        result, found, none = np.full(14, -7), np.full(2, -1), np.zeros(0)
        given = (x, none.astype("uint8"), none.astype("float32"), counts, x.size, SIZE, -1, -1, rule, 0, np.uint32(0))
        run(prism.check(histogram, template), blocks, 64, (*given, result, found, least), check=True)
        assert found.tolist() == [length, -1] and result[13] == -7 and not counts.any()
        assert np.array_equal(result[:SIZE], np.bincount(x[(x >= 0) & (x < SIZE)], minlength=SIZE))


def test_places_in_two_dimensions() -> None:
    random = np.random.default_rng(0)
    x, edges = random.integers(0, 9, (2, 300)), (np.array([1.0, 3, 4]), np.array([0.0, 2, 5, 6]))
    places = np.full(301, 77, np.int32)
    for k, size in enumerate((2, 3)):
        template = {"TI": "int64", "TE": "float64", "E": "float64", "FIRST": k == 0, "THREADS": 64}
        run(prism.check(place, template), 2, 64, (x[k], edges[k], places, 300, size, 6), check=True)
    wanted, _ = np.histogramdd(x.T, bins=edges)
    assert np.array_equal(np.bincount(places[:300], minlength=7)[:6].reshape(2, 3), wanted) and places[300] == 77


def test_what_shared_memory_there_is() -> None:
    known = {arch: room for arch, room in SHARED_LIMITS.items() if room < 227 << 10}
    assert known == configurations.SMALL

    class Gpu:
        host, multiprocessors = False, 1

        def __init__(self, arch: str) -> None:
            self.arch = arch

    rooms = [4 * cuts_of(Gpu(arch))[-1].slots for arch in ("sm_75", "sm_86", "sm_90a", "sm_100")]
    assert rooms == [41 << 10, 96 << 10, 224 << 10, 224 << 10]
    often = [direct(Gpu(arch), weighted=False).often for arch in ("sm_75", "sm_86", "sm_90a", "sm_100")]
    assert often == [1 << 12, 1 << 12, 1 << 14, 1 << 14]
    assert direct(Gpu("sm_90a"), weighted=True) == configurations.DIRECT[-1]


def test_edges_are_looked_at() -> None:
    code = prism.check(check_edges, {"TE": "float64", "THREADS": 64})
    for size in (1, 63, 64, 65, 1000):
        for spot in (None, 0, size // 2, size - 1):
            edges, length = np.arange(size + 1.0), np.full(1, 77)
            if spot is not None:
                edges[spot] = np.nan if spot % 2 else edges[spot + 1] + 1
            run(code, 1, 64, (edges, length, size), check=True)
            assert length[0] == (size if spot is None else 0)
    for _, mutant in without_barriers(code):
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                run(mutant, 1, 64, (edges, length, size), check=True, schedule=schedule, seed=seed)
