"""grid.look_back_segments: a scan that begins anew at heads, however many there are, in every schedule and launch."""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, BoundsError, RaceError, run
from prism.lang import (
    assume,
    block,
    bool_,
    const,
    constexpr,
    count,
    distinct,
    dtype,
    function,
    grid,
    group,
    id,
    int32,
    mailbox,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
    uint8,
    uint32,
    uint64,
)
from prism.lib.thread import operators
from tests.lib.oracles import CASES, Case, case, heads_of
from tests.mutation import without_barriers


@prism("global")
@template(T=dtype, OP=function, THREADS=constexpr(int), WORDS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def scan(
    x: ptr(const(T)) @ grid[1], heads: ptr(const(uint8)) @ grid[1], y: ptr(T) @ grid[1], before: ptr(int32) @ grid[1],
    n: int32 @ grid[1], identity: T @ grid[1], words: ptr(mailbox(T)) @ grid[1], marks: ptr(mailbox(uint32)) @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """`y`: the inclusive scan, anew at each head; `before`: how many heads there are before each tile. An element a thread."""
    tiles: int32 @ grid[1] = (n + (THREADS - 1)) // THREADS
    blocks: int32 @ grid[1] = count(block[1])
    t: int32 @ thread[1] = id() % THREADS
    with partition(y, block[1]) as whole, partition(before, block[1]) as starts, group(block[1]):
        first: grid.Ticket @ block[1] = grid.tiles(control)
        tile: int32 @ block[1] = first.tile
        done: int32 @ block[1] = 0
        prefix: T @ block[1] = identity
        all: int32 @ block[1] = 0
        while tile < tiles:
            at: int32 @ thread[1] = tile * THREADS + t
            items: T[1] @ thread[1] = [identity]
            flags: bool_[1] @ thread[1] = [False]
            seen: int32[1] @ thread[1] = {0}
            with group(thread[1]):
                if at < n:
                    items[0] = x[at]
                    flags[0] = heads[at] != 0
                    seen[0] = int32(heads[at])
            number: int32 @ block[1] = block.scan(seen, 0, WIDTH=1, OP=ADDS, EXCLUSIVE=False)
            total: T @ block[1] = block.scan_segments(items, flags, identity, identity, WIDTH=1, OP=OP, EXCLUSIVE=False)
            grid.publish(words, tile, total, first.epoch)
            grid.publish(marks, tile, uint32(number), first.epoch)
            ticket: uint64 @ thread[1] = grid.draw(control)
            found: int32[1] @ block[1]
            between: T @ block[1] = grid.look_back_segments(
                words, marks, done, tile, identity, first.epoch, found, OP=OP, THREADS=THREADS, WORDS=WORDS
            )
            prefix = between if found[0] != 0 else OP(prefix, between)
            all = all + found[0]
            done = tile
            here: int32 @ block[1] = tile
            assume(distinct(here))
            with partition(starts, thread[1], offset=here, races="none") as start, group(thread[1]):
                if t == 0:
                    start[0] = all
            with partition(whole, thread[1], offset=here * THREADS + t) as mine, group(thread[1]):
                if at < n:
                    mine[0] = OP(prefix, items[0]) if seen[0] == 0 else items[0]
            tile = grid.next_tile(ticket)
        if tile == tiles + blocks - 1:
            grid.count_launch(control, words, capacity, tiles, first.epoch, identity)
            grid.count_launch(control, marks, capacity, tiles, first.epoch, 0)


ADDS = operators.add
ADD = case("add", "int32")
THREADS = 32


class Scratch:
    """What launches leave to one another."""

    def __init__(self, kind: str, capacity: int = 256) -> None:
        self.words = np.zeros(capacity * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64)
        self.marks, self.control = np.zeros(capacity, np.uint64), np.zeros(1, np.uint64)
        self.capacity = capacity


def program(case: Case, words: int = 2):
    return package.check(scan, {"T": str(case.dtype), "OP": case.function, "THREADS": THREADS, "WORDS": words})


def compare(case: Case, x, heads, blocks: int, *, words=2, scratch=None, mutant=None, **options) -> None:
    y, before = np.zeros_like(x), np.zeros(-(-len(x) // THREADS), np.int32)
    scratch = scratch or Scratch(str(case.dtype))
    arguments = (x, heads, y, before, len(x), case.identity)
    arguments += (scratch.words, scratch.marks, scratch.capacity, scratch.control)
    run(mutant or program(case, words), blocks, THREADS, arguments, check=True, **options)
    assert np.array_equal(y, case.segmented(x, heads, case.identity)[0])
    assert np.array_equal(before, np.concatenate([[0], np.cumsum(heads, dtype=np.int32)])[:-1][::THREADS])


@pytest.mark.covering(1)
@pytest.mark.parametrize("density", [0, 0.01, 0.3])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case, density: float) -> None:
    x = case.data(9 * THREADS + 5)
    compare(case, x, heads_of(len(x), density), 3)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_in_launches_that_follow_each_other(schedule: str) -> None:
    scratch = Scratch("int32")
    for seed, blocks in enumerate((1, 2, 5)):
        x = ADD.data(8 * THREADS + 1, seed)
        compare(ADD, x, heads_of(len(x), 0.02, seed), blocks, scratch=scratch, schedule=schedule, seed=seed)
        assert scratch.control[0] == (seed + 1) << 32


@pytest.mark.parametrize("words", [1, 3])
def test_more_tiles_than_one_round_asks_for(words: int) -> None:
    last = CASES[-1]  # its order matters
    for density in (0, 0.002):
        x = last.data(150 * THREADS)
        compare(last, x, heads_of(len(x), density), 3, words=words, schedule="starved")


def test_each_inferred_barrier_is_needed() -> None:
    x = ADD.data(40 * THREADS)
    mutants = list(without_barriers(program(ADD)))
    assert mutants
    for _, mutant in mutants:
        with pytest.raises(RaceError, match="barrier"):
            for schedule in ("round-robin", "reversed", "random"):
                compare(ADD, x, heads_of(len(x), 0.01), 2, mutant=mutant, schedule=schedule, seed=1)


def test_too_few_words_of_either_kind() -> None:
    scratch = Scratch("int32")
    scratch.marks = scratch.marks[:3]
    with pytest.raises(BoundsError, match="marks"):
        compare(ADD, ADD.data(5 * THREADS), heads_of(5 * THREADS, 0.1), 2, scratch=scratch)


def test_it_compiles() -> None:
    template = {"T": "float32", "OP": ADDS, "THREADS": 128, "WORDS": 2}
    assert package.compile(scan, template).cubin
