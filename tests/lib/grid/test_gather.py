"""grid.gather, gather_into and epoch: the last block has what all come to, in every schedule and launch, bit for bit the same.

Tests of prism/lib/grid: draw, gather.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, BoundsError, RaceError, run
from prism.lang import (
    CompileError,
    block,
    claim,
    const,
    constexpr,
    count,
    dtype,
    float64,
    function,
    grid,
    group,
    id,
    int32,
    load_relaxed,
    mailbox,
    partition,
    prism,
    ptr,
    requires,
    shared,
    split,
    template,
    thread,
    uint32,
    uint64,
)
from tests.lib.oracles import CASES, Case, case
from tests.mutation import without_barriers


@prism("global")
@template(T=dtype, OP=function, ORDERED=constexpr(bool), WORDS=constexpr(int))
@requires(grid[1], block[1], thread[32])
def combined(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], initial: T @ grid[1], identity: T @ grid[1],
    words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """`OP` of `initial` and all elements, one a thread."""
    me: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    i: int32 @ thread[1] = id()
    with partition(y, block[1], offset=0, races="none") as result, group(block[1]):  # one block alone writes
        epoch: uint32 @ thread[1] = grid.epoch(control)
        mine: T @ thread[1] = x[i]
        total: T @ thread[1] = block.reduce_to_first(mine, identity, OP=OP, MOST=128, TENSOR=False)
        all: T @ thread[1] = grid.gather(
            words, me, blocks, total, initial, identity, epoch, OP=OP, WORDS=WORDS, ORDERED=ORDERED, TENSOR=False
        )
        if me == blocks - 1:
            with claim(result, thread[1]) as own:
                match split(thread):
                    case 1:
                        own[0] = all
            grid.count_launch(control, words, capacity, blocks - 1, epoch, identity)


@prism("device")
@requires(thread[1])
@template(T=dtype, N=dtype)
def halved(x: N @ thread[1]) -> T @ thread[1]:
    return T(float64(x) / 2)


@prism("global")
@template(T=dtype, OP=function, ORDERED=constexpr(bool), WORDS=constexpr(int))
@requires(grid[1], block[1], thread[32])
def combined_into(
    x: ptr(const(T)) @ grid[1], y: ptr(float64) @ grid[1], initial: T @ grid[1], identity: T @ grid[1],
    words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint32) @ grid[1],
):  # fmt: skip
    """Half of what `combined` computes."""
    me: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    i: int32 @ thread[1] = id()
    with partition(y, block[1], offset=0, races="none") as result, group(block[1]):  # one block alone writes
        cell: shared(uint32[1])
        before: uint32 @ thread[1] = 0
        match split(thread):
            case 1:
                before = load_relaxed(control[1])
        mine: T @ thread[1] = x[i]
        with claim(cell, thread[1]) as own:
            match split(thread):
                case 1:
                    own[0] = before
        total: T @ thread[1] = block.reduce_to_first(mine, identity, OP=OP, MOST=128, TENSOR=False)
        grid.gather_into(
            result, words, control, capacity, cell, before, total, OP(initial, total), initial, identity, me, blocks,
            OP=OP, INTO=halved, WORDS=WORDS, ORDERED=ORDERED, TENSOR=False,
        )  # fmt: skip


class Scratch:
    """What launches leave to one another."""

    def __init__(self, kind: str, capacity: int = 128) -> None:
        self.words = np.zeros(capacity * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64)
        self.control = np.zeros(1, np.uint64)
        self.capacity = capacity


ADD = case("add", "int32")


def program(case: Case, ordered: bool, words: int = 2):
    return package.check(combined, {"T": str(case.dtype), "OP": case.function, "ORDERED": ordered, "WORDS": words})


def launch(case: Case, x, blocks: int, *, ordered=True, words=2, initial=None, scratch=None, mutant=None, **options):
    y = np.zeros(1, x.dtype)
    scratch = scratch or Scratch(str(case.dtype))
    begin = case.identity if initial is None else initial
    arguments = (x, y, begin, case.identity, scratch.words, scratch.capacity, scratch.control)
    run(mutant or program(case, ordered, words), blocks, len(x) // blocks, arguments, check=True, **options)
    return y[0]


@pytest.mark.covering(1)
@pytest.mark.parametrize("blocks", [1, 2, 40, 70])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case, blocks: int) -> None:
    """In order, whichever is done first: some of these don't commute."""
    x = case.data(32 * blocks)
    initial = case.data(1, seed=9)[0]
    wanted = case.inclusive(np.concatenate([[initial], x]).astype(x.dtype))[-1]
    assert launch(case, x, blocks, initial=initial) == wanted


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_in_launches_that_follow_each_other(schedule: str, ordered: bool) -> None:
    scratch = Scratch("int32")
    for seed, (blocks, threads) in enumerate(((1, 64), (3, 96), (2, 32), (35, 32))):
        x = ADD.data(blocks * threads, seed)
        given = {"scratch": scratch, "schedule": schedule, "seed": seed}
        assert launch(ADD, x, blocks, ordered=ordered, **given) == x.sum(dtype=np.int32)
        assert scratch.control[0] == (seed + 1) << 32


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("words", [1, 3])
def test_every_number_of_blocks_around_a_round(words: int, ordered: bool) -> None:
    for blocks in (31, 32, 33, 34, 64, 65, 66, 97, 98):
        x = ADD.data(32 * blocks)
        assert launch(ADD, x, blocks, ordered=ordered, words=words) == x.sum(dtype=np.int32)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_into_memory(schedule: str, ordered: bool) -> None:
    scratch, template = Scratch("int32"), {"T": "int32", "OP": ADDS, "ORDERED": ordered, "WORDS": 2}
    made = package.check(combined_into, template)
    for seed, (blocks, threads) in enumerate(((3, 96), (2, 32), (35, 32), (1, 64))):
        x, y = ADD.data(blocks * threads, seed) // 1000, np.zeros(1)
        arguments = (x, y, 7, 0, scratch.words, scratch.capacity, scratch.control.view(np.uint32))
        run(made, blocks, threads, arguments, check=True, schedule=schedule, seed=seed)
        assert y[0] == (x.sum(dtype=np.int32) + np.int32(7)) / 2
        assert scratch.control[0] == min(seed + 1, 3) << 32  # one block alone needs no word, and counts nothing


def test_results_are_the_same_in_every_run() -> None:
    adds = case("add", "float64")
    x = np.random.default_rng(0).normal(size=32 * 50)
    assert len({launch(adds, x, 50, schedule=how, seed=1) for how in SCHEDULES}) == 1


def test_words_of_other_launches_are_not_taken() -> None:
    scratch = Scratch("int32")
    scratch.control[0] = 40 << 32
    scratch.words.view(np.uint32)[:] = np.random.default_rng(0).integers(0, 41, 256, dtype=np.uint32)
    x = ADD.data(32 * 9)
    assert launch(ADD, x, 9, scratch=scratch) == x.sum(dtype=np.int32)


def test_each_inferred_barrier_is_needed() -> None:
    mutants = list(without_barriers(program(ADD, True)))
    assert mutants
    for _, mutant in mutants:
        with pytest.raises(RaceError, match="barrier"):
            for schedule in ("round-robin", "reversed"):
                launch(ADD, ADD.data(4 * 96), 4, mutant=mutant, schedule=schedule)


def test_too_few_words() -> None:
    with pytest.raises(BoundsError, match="words"):
        launch(ADD, ADD.data(6 * 32), 6, scratch=Scratch("int32", 4))


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_each_warp(words: ptr(mailbox(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[32]):
        sum: int32 @ thread[1] = grid.gather(
            words, 0, 1, 1, 0, 0, 1, OP=ADDS, WORDS=1, ORDERED=True, TENSOR=False
        )  # fmt: skip
        with group(thread[1]):
            mine[0] = sum


ADDS = ADD.function


def test_a_whole_block_gathers() -> None:
    with pytest.raises(CompileError, match=r"`gather` must be run by block\[1\] together"):
        package.check(by_each_warp)


def test_it_compiles() -> None:
    assert package.compile(combined, {"T": "float32", "OP": ADDS, "ORDERED": False, "WORDS": 9}).cubin
