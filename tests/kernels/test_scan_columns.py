"""Scans along an axis that is not the last, on the reference machine with all its checks: all shapes, both directions."""

import functools
import itertools

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.scan import scan_columns, scan_columns_by_thread, scan_columns_shared, scan_whole_rows
from prism.lib.algorithms.scan.plan import Task, all_columns
from prism.lib.operators import BY_NAME
from tests.lib.oracles import AFFINE, CASES, SCHEDULES, Case
from tests.mutation import without_barriers
from tests.rarely import rarely

ADD = CASES[0]
THREADS = 64
WAYS = {
    "by_thread": (scan_columns_by_thread, {"THREADS": THREADS, "ITEMS": 6, "WIDTH": 1}),
    "by_thread-vectors": (scan_columns_by_thread, {"THREADS": THREADS, "ITEMS": 6, "WIDTH": 2}),
    "by_block-1": (scan_columns, {"THREADS": THREADS, "ITEMS": 2, "WIDTH": 1, "BLOCKS": 1, "TX": 1}),
    "by_block-8": (scan_columns, {"THREADS": THREADS, "ITEMS": 3, "WIDTH": 1, "BLOCKS": 1, "TX": 8}),
    "by_block-vectors": (scan_columns, {"THREADS": THREADS, "ITEMS": 6, "WIDTH": 2, "BLOCKS": 1, "TX": 32}),
    "shared-1": (scan_columns_shared, {"THREADS": THREADS, "ITEMS": 2, "WIDTH": 1, "BLOCKS": 1, "TX": 1, "WORDS": 1}),
    "shared-4": (scan_columns_shared, {"THREADS": THREADS, "ITEMS": 3, "WIDTH": 1, "BLOCKS": 1, "TX": 4, "WORDS": 2}),
    "shared-vectors": (
        scan_columns_shared,
        {"THREADS": THREADS, "ITEMS": 4, "WIDTH": 2, "BLOCKS": 1, "TX": 16, "WORDS": 2},
    ),
    "whole rows": (scan_whole_rows, {"THREADS": THREADS, "ITEMS": 3, "BLOCKS": 1, "WORDS": 2}),
}


# How many rows are one tile of a way, and some columns: more than one strip of them, where a strip is narrow.
ROWS = {way: template["ITEMS"] * (THREADS // template.get("TX", THREADS)) for way, (_, template) in WAYS.items()}
COLUMNS_OF = {way: {1: 2, 4: 6}.get(template.get("TX"), 10) for way, (_, template) in WAYS.items()}
ROWS["whole rows"] = 18  # of 10 columns


@functools.cache
def program(way: str, kind: str, function, exclusive: bool, reverse: bool):
    kernel, template = WAYS[way]
    more = {"T": kind, "TI": kind, "TO": kind, "OP": function, "EXCLUSIVE": exclusive, "REVERSE": reverse}
    return prism.check(kernel, {**template, **more})


class Scratch:
    """What launches leave to one another: the words and the control words, zero at first."""

    def __init__(self, kind: str, capacity: int = 64, strips: int = 64) -> None:
        self.words = np.zeros(strips * capacity * 32 * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64)
        self.control = np.zeros(strips, np.uint64)
        self.capacity = capacity


def launch(
    way, case: Case, x, *, exclusive=False, reverse=False, blocks=3, initial=None, scratch=None, mutant=None, **options
):
    """The scan of `x`, of shape (outer, n, inner), along its middle axis, checked."""
    outer, n, inner = x.shape
    kind = str(case.dtype)
    y = np.zeros_like(x)
    begin = case.identity if initial is None else initial
    arguments = (x.ravel(), y.reshape(-1), outer, n, inner, case.identity, begin)
    if way.startswith("shared"):
        template = WAYS[way][1]
        scratch = scratch or Scratch(kind)
        arguments += (scratch.words, scratch.capacity, scratch.control)
        blocks *= outer * -(-inner // (template["TX"] * template["WIDTH"]))
    if way == "whole rows":
        scratch = scratch or Scratch(kind, capacity=128)
        arguments += (scratch.words, min(64, inner + 5), scratch.capacity, scratch.control)
        blocks *= outer
    code = mutant or program(way, kind, case.function, exclusive, reverse)
    run(code, blocks, THREADS, arguments, check=True, **options)
    return y


def expected(case: Case, x, exclusive=False, reverse=False, initial=None):
    """The scan along the middle axis, by the definition."""
    found = np.empty_like(x)
    running = np.full((x.shape[0], x.shape[2]), case.identity if initial is None else initial, x.dtype)
    with np.errstate(over="ignore"):
        for i in range(x.shape[1])[:: -1 if reverse else 1]:
            here = case.meaning(running, x[:, i])
            found[:, i] = running if exclusive else here
            running = here
    return found


def data(case: Case, shape, seed=0):
    return case.data(int(np.prod(shape)), seed).reshape(shape)


EACH = list(itertools.product(WAYS, CASES))
OFTEN = [(way, case) for n, (way, case) in enumerate(EACH) if case.operator is AFFINE or n % 4 == 1]
"""The operator that does not commute in each way, and each other operator in one or more: which way only moves elements."""


@pytest.mark.parametrize(("way", "case"), rarely(EACH, but=OFTEN), ids=str)
def test_operators(way: str, case: Case) -> None:
    x = data(case, (2, 2 * ROWS[way] + ROWS[way] // 2 + 1, COLUMNS_OF[way]))
    other = (list(WAYS).index(way) + CASES.index(case)) % 2 == 1  # each way and each operator has both
    assert np.array_equal(launch(way, case, x, exclusive=other, reverse=other), expected(case, x, other, other))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("outer", "inner"), [(1, 2), (3, 6), (1, 34), (2, 64)])
def test_shapes(way: str, outer: int, inner: int) -> None:
    if WAYS[way][1].get("TX") == 1 and inner > 6:
        pytest.skip("for few columns")
    tile = ROWS[way]
    every = {1, 2, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1, 5 * tile - 1}
    for rows in sorted(every if inner == 2 else {1, tile, 2 * tile + 1}):
        x = data(ADD, (outer, rows, inner))
        y = launch(way, ADD, x, initial=7)
        assert np.array_equal(y, expected(ADD, x, initial=7)), rows


@pytest.mark.parametrize("way", ["by_thread", "by_block-8", "shared-4", "whole rows"])
@pytest.mark.parametrize("inner", [1, 3, 7, 9, 33, 64])
def test_columns_that_fill_no_strip(way: str, inner: int) -> None:
    x = data(ADD, (2, 70, inner))
    assert np.array_equal(launch(way, ADD, x), expected(ADD, x))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.parametrize("way", WAYS)
def test_schedules(way: str, schedule: str, seed: int) -> None:
    x = data(ADD, (1, 4 * ROWS[way] - 1, 4))
    for blocks in (1, 2, 5):
        assert np.array_equal(launch(way, ADD, x, blocks=blocks, schedule=schedule, seed=seed), expected(ADD, x))


def test_any_number_of_resident_blocks_makes_progress() -> None:
    x = data(ADD, (2, 600, 6))
    for schedule in ("round-robin", "reversed", "random"):
        for way in ("shared-4", "whole rows"):
            y = launch(way, ADD, x, resident=1, schedule=schedule)
            assert np.array_equal(y, expected(ADD, x))


@pytest.mark.parametrize("way", ["shared-4", "whole rows"])
def test_nothing_is_cleared_between_launches(way: str) -> None:
    scratch = Scratch("int32", capacity=32)
    scratch.words.view(np.uint32)[1::2] = np.random.default_rng(0).integers(
        100, 2**32, scratch.words.size, dtype=np.uint32
    )
    random = np.random.default_rng(0)
    for number in range(1, 12):
        x = data(ADD, (2, int(random.integers(1, 700)), 6), seed=number)
        y = launch(way, ADD, x, blocks=int(random.integers(1, 5)), scratch=scratch)
        assert np.array_equal(y, expected(ADD, x))
        strips = 4 if way == "shared-4" else 2
        assert scratch.control[:strips].tolist() == [number << 32] * strips


def test_in_place() -> None:
    for way in WAYS:
        x = data(ADD, (2, 130, 8))
        outer, n, inner = x.shape
        wanted, flat = expected(ADD, x), x.reshape(-1)
        arguments = (flat, flat, outer, n, inner, 0, 0)
        if way.startswith("shared"):
            scratch = Scratch("int32")
            arguments += (scratch.words, scratch.capacity, scratch.control)
        if way == "whole rows":
            scratch = Scratch("int32")
            arguments += (scratch.words, 8, scratch.capacity, scratch.control)
        run(program(way, "int32", ADD.function, False, False), 2 * 8 * 2, THREADS, arguments, check=True)
        assert np.array_equal(x, wanted)


@pytest.mark.parametrize("way", ["by_block-8", "shared-4", "whole rows"])
def test_each_inferred_barrier_is_needed(way: str) -> None:
    found = list(without_barriers(program(way, "int32", ADD.function, False, False)))
    assert found
    x = data(ADD, (1, 700, 8))
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                launch(way, ADD, x, blocks=2, mutant=mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize("kind", rarely(["int8", "int16", "int32", "int64", "float32", "float64"], but=["float64"]))
def test_the_kernels_for_the_device_do_not_spill(kind: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    for kernel, template in all_columns(Task(BY_NAME["add"], kind, kind)):
        # Some addresses are: fewer items spill none, and are slower (asv_bench/scan_ways.py)
        few = (
            kernel is scan_columns_shared
            and template["ITEMS"] * template["THREADS"] * np.dtype(kind).itemsize == 32 << 10
        )
        assert prism.compile(kernel, dict(template)).spills <= (48 if few else 0), template
