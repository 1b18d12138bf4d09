"""grid.look_back_digits: how often each digit occurs before each tile, by chained sums, in every schedule and launch.

Tests of prism/lib/grid: look_back_digits, publish_digits.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, BoundsError, DeadlockError, RaceError, run
from prism.lang import (
    CompileError,
    assume,
    block,
    const,
    constexpr,
    count,
    distinct,
    dtype,
    grid,
    group,
    id,
    int32,
    mailbox,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
    uint32,
    uint64,
)
from tests.mutation import without_barriers


@prism("global")
@template(T=dtype, THREADS=constexpr(int), DIGITS=constexpr(int), WORDS=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
def starts(
    x: ptr(const(int32)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], words: ptr(mailbox(T)) @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """`y[tile, d]`: how many elements before the tile are `d`. Two elements a thread."""
    TILE: constexpr(int) = 2 * THREADS
    tiles: int32 @ grid[1] = (n + (TILE - 1)) // TILE
    blocks: int32 @ grid[1] = count(block[1])
    t: int32 @ thread[1] = id() % THREADS
    with partition(y, block[1]) as whole, group(block[1]):
        first: grid.Ticket @ block[1] = grid.tiles(control)
        tile: int32 @ block[1] = -1
        following: int32 @ block[1] = first.tile
        mine: T @ thread[1] = 0
        while tile < tiles:
            ahead: T @ thread[1] = 0
            ticket: uint64 @ thread[1] = 0
            if following < tiles:
                items: int32[2] @ thread[1]
                with partition(x, block[1], offset=following * TILE) as source:
                    block.load_striped(source, items, n - following * TILE, -1)
                counts: shared(uint32[DIGITS])
                block.fill(counts, 0, DIGITS)
                block.histogram(items, counts, DIGITS)
                with group(thread[1]):
                    if t < DIGITS:
                        ahead = T(counts[t])
                grid.publish_digits(words, following, ahead, first.epoch, THREADS=THREADS, DIGITS=DIGITS)
                ticket = grid.draw(control)
            if tile >= 0:
                before: T @ thread[1] = grid.look_back_digits(
                    words, tile, mine, first.epoch, THREADS=THREADS, DIGITS=DIGITS, WORDS=WORDS
                )
                here: int32 @ block[1] = tile
                assume(distinct(here))
                with partition(whole, thread[1], offset=here * DIGITS + t, races="none") as start, group(thread[1]):
                    if t < DIGITS:
                        start[0] = before
            mine = ahead
            tile = following
            following = grid.next_tile(ticket)
        if tile == tiles + blocks - 1:
            grid.count_launch(control, words, capacity, tiles * DIGITS, first.epoch, 0)


DIGITS = 16


class Scratch:
    """What launches leave to one another."""

    def __init__(self, kind: str = "uint32", tiles: int = 64) -> None:
        self.words = np.zeros(tiles * DIGITS * (1 if kind == "uint32" else 2), np.uint64)
        self.control = np.zeros(1, np.uint64)
        self.capacity = tiles * DIGITS


def program(kind: str = "uint32", words: int = 2, threads: int = 32):
    return package.check(starts, {"T": kind, "THREADS": threads, "DIGITS": DIGITS, "WORDS": words})


def compare(x, blocks: int, *, kind="uint32", words=2, threads=32, scratch=None, mutant=None, **options) -> None:
    tiles = -(-len(x) // (2 * threads))
    y = np.full((tiles, DIGITS), 7, kind)
    scratch = scratch or Scratch(kind)
    arguments = (x, y.reshape(-1), len(x), scratch.words, scratch.capacity, scratch.control)
    run(mutant or program(kind, words, threads), blocks, threads, arguments, check=True, **options)
    parts = [np.bincount(x[k * 2 * threads : (k + 1) * 2 * threads], minlength=DIGITS) for k in range(tiles)]
    assert np.array_equal(y, np.cumsum([np.zeros(DIGITS, int), *parts], axis=0)[:-1])


def digits(size: int, seed: int = 0):
    return np.random.default_rng(seed).integers(0, DIGITS, size, dtype=np.int32)


@pytest.mark.parametrize("words", [1, 3])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_in_launches_that_follow_each_other(schedule: str, words: int) -> None:
    scratch = Scratch()
    for seed, (blocks, size) in enumerate(((1, 100), (3, 1000), (5, 1999), (2, 640))):
        compare(digits(size, seed), blocks, words=words, scratch=scratch, schedule=schedule, seed=seed)
        assert scratch.control[0] == (seed + 1) << 32


@pytest.mark.parametrize("threads", [32, 96])
@pytest.mark.parametrize("kind", ["uint32", "uint64"])
def test_words_of_both_sizes_and_more_threads_than_digits(kind: str, threads: int) -> None:
    compare(digits(2000), 3, kind=kind, threads=threads)


def test_words_of_other_launches_are_not_taken() -> None:
    scratch = Scratch()
    scratch.control[0] = 40 << 32
    tags = scratch.words.view(np.uint32)
    tags[:] = np.random.default_rng(0).integers(0, 41, len(tags), dtype=np.uint32)
    compare(digits(1500), 4, scratch=scratch)


def test_each_inferred_barrier_is_needed() -> None:
    mutants = list(without_barriers(program()))
    assert mutants
    for _, mutant in mutants:
        with pytest.raises((RaceError, AssertionError)):
            for schedule in ("round-robin", "reversed", "random"):
                compare(digits(1280), 2, mutant=mutant, schedule=schedule, seed=1, threads=32)


def test_too_few_words() -> None:
    with pytest.raises(BoundsError, match="words"):
        compare(digits(1000), 2, scratch=Scratch(tiles=10))


@prism("global")
@requires(grid[1], block[1], thread[32])
def looks_back_first(words: ptr(mailbox(uint32)) @ grid[1], y: ptr(uint32) @ grid[1]):
    """Block 1 waits for block 0, which waits for nobody, but publishes nothing."""
    me: int32 @ block[1] = id()
    with partition(y, thread[1], id()) as mine, group(block[1]):
        sum: uint32 @ thread[1] = grid.look_back_digits(words, me, 1, 1, THREADS=32, DIGITS=32, WORDS=1)
        with group(thread[1]):
            mine[0] = sum


def test_what_nobody_publishes_is_waited_for_for_ever() -> None:
    with pytest.raises(DeadlockError):
        looks_back_first[2, 32](np.zeros(64, np.uint64), np.zeros(64, np.uint32))


def test_a_thread_for_each_digit() -> None:
    with pytest.raises(CompileError, match="a block has a thread for each digit"):
        package.check(starts, {"T": "uint32", "THREADS": 32, "DIGITS": 64, "WORDS": 1})


@pytest.mark.parametrize("kind", ["uint32", "uint64"])
def test_they_compile(kind: str) -> None:
    assert package.compile(starts, {"T": kind, "THREADS": 384, "DIGITS": 256, "WORDS": 4}).cubin


@prism.kernel
@template(T=dtype, EACH=constexpr(int), WORDS=constexpr(int))
@requires(grid[1], block[1], thread[32])
def starts_of_more(
    x: ptr(const(int32)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], words: ptr(mailbox(T)) @ grid[1],
    capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """`y[tile, d]`: how many elements before the tile are `d`, of `EACH * 32` digits. Two elements a thread."""
    DIGITS: constexpr(int) = EACH * 32
    tiles: int32 @ grid[1] = (n + 63) // 64
    blocks: int32 @ grid[1] = count(block[1])
    with partition(y, block[1]) as whole, group(block[1]):
        launch: grid.Ticket @ block[1] = grid.tiles(control)
        tile: int32 @ block[1] = launch.tile
        while tile < tiles:
            items: int32[2] @ thread[1]
            with partition(x, block[1], offset=tile * 64) as source:
                block.load_striped(source, items, n - tile * 64, -1)
            counts: shared(uint32[DIGITS])
            block.fill(counts, 0, DIGITS)
            block.histogram(items, counts, DIGITS)
            t: int32 @ thread[1] = id() % 32
            numbers: uint32[EACH] @ thread[1]
            with group(thread[1]):
                for k in range(EACH):
                    numbers[k] = counts[t + 32 * k]
            grid.publish_more_digits(words, tile, numbers, launch.epoch, THREADS=32)
            before: T[EACH] @ thread[1]
            grid.look_back_more_digits(words, tile, numbers, launch.epoch, before, THREADS=32, WORDS=WORDS)
            here: int32 @ block[1] = tile
            assume(distinct(here))
            with partition(whole, thread[1], offset=here * DIGITS + t, races="none") as start, group(thread[1]):
                for k in range(EACH):
                    start[32 * k] = before[k]
            ticket: uint64 @ thread[1] = grid.draw(control)
            tile = grid.next_tile(ticket)
        if tile == tiles + blocks - 1:
            grid.count_launch(control, words, capacity, tiles * DIGITS, launch.epoch, 0)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("kind", "each", "words"), [("uint32", 2, 1), ("uint64", 3, 2)])
def test_more_digits_than_threads(kind: str, each: int, words: int, schedule: str) -> None:
    """In launches that follow each other, behind words of others."""
    one = package.check(starts_of_more, {"T": kind, "EACH": each, "WORDS": words})
    many = each * 32
    mailboxes, control = np.zeros(40 * many * (1 if kind == "uint32" else 2), np.uint64), np.zeros(1, np.uint64)
    for seed, (blocks, size) in enumerate(((1, 100), (3, 1000), (4, 1999))):
        x = np.random.default_rng(seed).integers(0, many, size, dtype=np.int32)
        tiles = -(-size // 64)
        y = np.full((tiles, many), 7, kind)
        run(
            one,
            blocks,
            32,
            (x, y.reshape(-1), size, mailboxes, 40 * many, control),
            check=True,
            schedule=schedule,
            seed=seed,
        )
        parts = [np.bincount(x[64 * k : 64 * (k + 1)], minlength=many) for k in range(tiles)]
        assert np.array_equal(y, np.cumsum([np.zeros(many, int), *parts], axis=0)[:-1])
