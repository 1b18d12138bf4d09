"""Ranks of digits, by `block.radix_rank`, and how many there are of each: of all widths and layouts, on hard data too.

Tests of prism/lib/block: rank.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import MachineError, run
from prism.lang import (
    CompileError,
    block,
    const,
    constexpr,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
)
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers


@prism("global")
@template(ITEMS=constexpr(int), THREADS=constexpr(int), BITS=constexpr(int), WIDTH=constexpr(int), SHARE=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def counted(
    x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], counts: ptr(int32) @ grid[1], begins: ptr(int32) @ grid[1]
):
    i: int32 @ thread[1] = id()
    w: int32 @ thread[1] = i // 32 * 32 * ITEMS + i % 32
    with (
        partition(y, thread[1], offset=lambda k: k, races="none") as out,
        partition(counts, thread[1], i * SHARE) as numbers,
        partition(begins, thread[1], i * SHARE) as places,
        group(block[1]),
    ):
        digits: int32[ITEMS] @ thread[1]
        ranks: int32[ITEMS] @ thread[1]
        many: int32[SHARE] @ thread[1]
        first: int32[SHARE] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                digits[k] = x[w + 32 * k if WIDTH == 1 else i * ITEMS + k]
        block.radix_rank_counts(digits, ranks, many, first, THREADS=THREADS, BITS=BITS, WIDTH=WIDTH)
        with group(thread[1]):
            for k in range(ITEMS):
                out[w + 32 * k if WIDTH == 1 else i * ITEMS + k] = ranks[k]
            for j in range(SHARE):
                numbers[j] = many[j]
                places[j] = first[j]


def digits_of(data: str, n: int, bits: int) -> np.ndarray:
    """Return digits: uniform ones, all equal, half in one value, or each some times in a row."""
    random = np.random.default_rng(0)
    x = random.integers(0, 2**bits, n, dtype=np.int32)
    if data == "equal":
        x[:] = 2**bits - 1
    if data == "half":
        x[random.random(n) < 0.5] = 1
    return np.sort(x) if data == "sorted" else x


@pytest.mark.covering(2)
@pytest.mark.parametrize("width", [1, None])
@pytest.mark.parametrize("data", ["uniform", "half", "equal", "sorted"])
@pytest.mark.parametrize("bits", [1, 4, 5, 8])
@pytest.mark.parametrize(("threads", "items"), [(32, 1), (96, 4), (256, 3), (64, 8)])
def test_ranks_and_counts(threads: int, items: int, bits: int, data: str, width: int | None) -> None:
    x = digits_of(data, threads * items, bits)
    share = -(-(2**bits) // threads)
    template = {"ITEMS": items, "THREADS": threads, "BITS": bits, "WIDTH": width or items, "SHARE": share}
    for schedule, seed in SCHEDULES[:2]:
        y, counts, begins = np.zeros_like(x), np.zeros(threads * share, np.int32), np.zeros(threads * share, np.int32)
        counted[1, threads](x, y, counts, begins, template=template, check=True, schedule=schedule, seed=seed)
        assert np.array_equal(np.argsort(y), np.argsort(x, kind="stable"))
        wanted = np.bincount(x, minlength=threads * share)
        assert np.array_equal(counts, wanted)
        assert np.array_equal(begins, np.cumsum(wanted) - wanted)


@pytest.mark.parametrize("width", [1, 8])
def test_it_compiles(width: int) -> None:
    template = {"ITEMS": 8, "THREADS": 256, "BITS": 8, "WIDTH": width, "SHARE": 1}
    assert package.compile(counted, template).cubin


@pytest.mark.parametrize("width", [1, 2])
def test_each_barrier_is_needed(width: int) -> None:
    """On data that are ranked by masks, or on those that are ranked by votes."""
    template = {"ITEMS": 2, "THREADS": 64, "BITS": 5, "WIDTH": width, "SHARE": 1}
    tiles = [digits_of(data, 128, 5) for data in ("uniform", "half")]
    found = list(without_barriers(package.check(counted, template)))
    assert len(found) >= 7
    for barrier, mutant in found:
        caught = False
        for x in tiles:
            try:
                run(mutant, 1, 64, (x, *(np.zeros(128, np.int32) for _ in range(3))), check=True)
            except MachineError:
                caught = True
        assert caught, barrier


@pytest.mark.parametrize("digit", [256, -1])
def test_a_digit_that_is_none_is_reported(digit: int) -> None:
    x = np.full(256, 7, np.int32)
    x[77] = digit
    template = {"ITEMS": 4, "THREADS": 64, "BITS": 8, "WIDTH": 1, "SHARE": 4}
    with pytest.raises(MachineError):
        counted[1, 64](x, *(np.zeros(256, np.int32) for _ in range(3)), template=template, check=True)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"BITS": 9, "SHARE": 8}, "a digit has 1 to 8 bits"),
        ({"SHARE": 3}, "`SHARE` is how many digits a thread has"),
        ({"WIDTH": 2}, "`WIDTH` is 1 or `ITEMS`"),
    ],
)
def test_what_does_not_compile(wrong: dict[str, int], said: str) -> None:
    template = {"ITEMS": 4, "THREADS": 64, "BITS": 8, "WIDTH": 1, "SHARE": 4, **wrong}
    with pytest.raises(CompileError, match=said):
        package.check(counted, template)
