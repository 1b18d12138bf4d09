"""grid.look_back and its like: what is before a tile, of any operator, in every schedule and launch; and how it can be misused.

Of grid.look_back_share and grid.look_back_each as what grid.look_back is made of. Tests of prism/lib/grid: look_back,
look_back_stable, publish, receive_totals.
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
    uint32,
    uint64,
)
from prism.lib.thread import operators
from tests.lib.oracles import CASES, Case, case
from tests.mutation import without_barriers


@prism("global")
@template(T=dtype, OP=function, THREADS=constexpr(int), WORDS=constexpr(int), STABLE=constexpr(bool))
@requires(grid[1], block[1], thread[THREADS])
def scan(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1], identity: T @ grid[1], initial: T @ grid[1],
    words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """The inclusive scan of `initial` and `x`, an element a thread, a tile a ticket; a total is out before its block waits."""
    tiles: int32 @ grid[1] = (n + (THREADS - 1)) // THREADS
    blocks: int32 @ grid[1] = count(block[1])
    t: int32 @ thread[1] = id() % THREADS
    with partition(y, block[1]) as whole, group(block[1]):
        first: grid.Ticket @ block[1] = grid.tiles(control)
        tile: int32 @ block[1] = first.tile
        done: int32 @ block[1] = 0
        prefixes: T[2] @ block[1]
        prefixes[0] = initial
        prefixes[1] = initial
        while tile < tiles:
            at: int32 @ thread[1] = tile * THREADS + t
            items: T[1] @ thread[1] = [identity]
            with group(thread[1]):
                if at < n:
                    items[0] = x[at]
            total: T @ block[1] = block.scan(items, identity, WIDTH=1, OP=OP, EXCLUSIVE=False)
            grid.publish(words, tile, total, first.epoch)
            ticket: uint64 @ thread[1] = grid.draw(control)
            if STABLE:
                grid.look_back_stable(
                    words, done, tile, identity, first.epoch, prefixes, OP=OP, THREADS=THREADS, WORDS=WORDS
                )
                done = tile // THREADS * THREADS
            else:
                between: T @ block[1] = grid.look_back(
                    words, done, tile, identity, first.epoch, OP=OP, THREADS=THREADS, WORDS=WORDS
                )
                prefixes[0] = OP(prefixes[0], between)
                done = tile
            with group(thread[1]):
                items[0] = OP(prefixes[0], items[0])
            here: int32 @ block[1] = tile
            assume(distinct(here))
            with partition(whole, thread[1], offset=here * THREADS + t) as mine, group(thread[1]):
                if at < n:
                    mine[0] = items[0]
            tile = grid.next_tile(ticket)
        if tile == tiles + blocks - 1:
            grid.count_launch(control, words, capacity, tiles, first.epoch, identity)


class Scratch:
    """What launches leave to one another."""

    def __init__(self, kind: str, capacity: int = 256, launches: int = 0) -> None:
        self.words = np.zeros(capacity * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64)
        self.control = np.full(1, launches << 32, np.uint64)
        self.capacity = capacity


ADD = case("add", "int32")
THREADS = 32


def program(case: Case, *, stable: bool, words: int = 2):
    template = {"T": str(case.dtype), "OP": case.function, "THREADS": THREADS, "WORDS": words, "STABLE": stable}
    return package.check(scan, template)


def launch(case: Case, x, blocks: int, *, stable=False, words=2, initial=None, scratch=None, mutant=None, **options):
    y = np.zeros_like(x)
    scratch = scratch or Scratch(str(case.dtype))
    begin = case.identity if initial is None else initial
    arguments = (x, y, len(x), case.identity, begin, scratch.words, scratch.capacity, scratch.control)
    run(mutant or program(case, stable=stable, words=words), blocks, THREADS, arguments, check=True, **options)
    return y


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case, stable: bool) -> None:
    x = case.data(11 * THREADS + 5)
    initial = case.data(1, seed=9)[0]
    wanted = case.inclusive(np.concatenate([[initial], x]).astype(x.dtype))[1:]
    assert np.array_equal(launch(case, x, 3, stable=stable, initial=initial), wanted)


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_in_launches_that_follow_each_other(schedule: str, stable: bool) -> None:
    scratch = Scratch("int32")
    for seed, blocks in enumerate((1, 2, 5)):
        x = ADD.data(7 * THREADS + 1, seed)
        given = {"scratch": scratch, "schedule": schedule, "seed": seed}
        assert np.array_equal(launch(ADD, x, blocks, stable=stable, **given), np.cumsum(x, dtype=np.int32))


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("words", [1, 3])
def test_more_tiles_than_one_round_asks_for(words: int, stable: bool) -> None:
    """With `starved` one block does all but a few tiles, and the others then look back at them at once."""
    x = ADD.data(150 * THREADS)
    for schedule in ("round-robin", "starved"):
        found = launch(ADD, x, 3, stable=stable, words=words, schedule=schedule)
        assert np.array_equal(found, np.cumsum(x, dtype=np.int32))


def test_stable_results_are_the_same_in_every_run() -> None:
    adds = case("add", "float64")
    x = np.random.default_rng(0).normal(size=80 * THREADS)
    kinds = (("round-robin", 2), ("reversed", 3), ("random", 5), ("starved", 4))
    stable = {launch(adds, x, blocks, stable=True, schedule=how, seed=1).tobytes() for how, blocks in kinds}
    assert len(stable) == 1
    assert len({launch(adds, x, blocks, schedule=how, seed=1).tobytes() for how, blocks in kinds}) > 1


def test_words_of_other_launches_are_not_taken() -> None:
    scratch = Scratch("int32", launches=40)
    tags = scratch.words.view(np.uint32)
    tags[:] = np.random.default_rng(0).integers(0, 41, len(tags), dtype=np.uint32)
    x = ADD.data(9 * THREADS)
    assert np.array_equal(launch(ADD, x, 4, scratch=scratch), np.cumsum(x, dtype=np.int32))


@pytest.mark.parametrize("stable", [False, True])
def test_each_inferred_barrier_is_needed(stable: bool) -> None:
    mutants = list(without_barriers(program(ADD, stable=stable)))
    assert mutants
    for _, mutant in mutants:
        with pytest.raises(RaceError, match="barrier"):
            for tiles in (90, 1):
                for schedule in ("round-robin", "reversed", "random"):
                    launch(ADD, ADD.data(tiles * THREADS), 2, mutant=mutant, schedule=schedule, seed=1)


def test_too_few_words() -> None:
    with pytest.raises(BoundsError, match="words"):
        launch(ADD, ADD.data(5 * THREADS), 2, scratch=Scratch("int32", 4))


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(THREADS=constexpr(int))
def looks_back_first(words: ptr(mailbox(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """Each block waits for what it publishes itself, later."""
    me: int32 @ block[1] = id()
    with partition(y, thread[1], id()) as mine, group(block[1]):
        sum: int32 @ block[1] = grid.look_back(words, 0, me + 1, 0, 1, OP=ADDS, THREADS=THREADS, WORDS=1)
        grid.publish(words, me, 1, 1)
        with group(thread[1]):
            mine[0] = sum


ADDS = ADD.function


def test_who_waits_before_it_has_published_waits_for_ever() -> None:
    with pytest.raises(DeadlockError):
        looks_back_first[2, 32](np.zeros(2, np.uint64), np.zeros(64, np.int32), template={"THREADS": 32})


def test_a_block_must_have_the_threads_that_it_says() -> None:
    with pytest.raises(package.LaunchError, match="needs blocks of 64 threads"):
        looks_back_first[2, 32](np.zeros(2, np.uint64), np.zeros(64, np.int32), template={"THREADS": 64})


@prism("global")
@requires(grid[1], block[1], thread[32])
def one_warp_looks_back(words: ptr(mailbox(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[32]):
        sum: int32 @ thread[32] = grid.look_back(words, 0, 1, 0, 1, OP=ADDS, THREADS=32, WORDS=1)
        with group(thread[1]):
            mine[0] = sum


@prism("global")
@requires(grid[1], block[1], thread[32])
def each_thread_has_a_tile(words: ptr(mailbox(int32)) @ grid[1]):
    with group(block[1]):
        t: int32 @ thread[1] = id()
        grid.publish(words, t, 1, 1)


def test_a_whole_block_looks_back_and_publishes_one_tile() -> None:
    with pytest.raises(CompileError, match=r"`look_back` must be run by block\[1\] together"):
        package.check(one_warp_looks_back)
    with pytest.raises(CompileError, match="`tile`"):
        package.check(each_thread_has_a_tile)


@pytest.mark.parametrize("kind", ["int8", "float32", "uint64"])
def test_they_compile(kind: str) -> None:
    template = {"T": kind, "OP": ADDS, "THREADS": 128, "WORDS": 2}
    assert all(package.compile(scan, {**template, "STABLE": stable}).cubin for stable in (False, True))


@prism("global")
@template(WORDS=constexpr(int))
@requires(grid[1], block[1], thread[32])
def last_marked(y: ptr(int32) @ grid[1], words: ptr(mailbox(uint32)) @ grid[1], first: int32 @ grid[1]):
    """Of each tile, how much is published of those from `first` on before it, and the last of them whose word is odd, or -1."""
    b: int32 @ block[1] = id()
    with partition(y, block[1], offset=2 * b) as mine, group(block[1]):
        grid.publish(words, b, uint32(b * b % 3), 1)
        total: int32 @ thread[1] = 0
        last: int32 @ thread[1] = -1

        @requires(thread[1])
        def take(got: uint32[WORDS] @ thread[1], tile: int32 @ thread[1]):
            nonlocal total, last
            for j in range(WORDS):
                total += int32(got[j])
                last = tile + j if got[j] % 2 == 1 else last

        grid.look_back_each(words, first, b, 0, 1, TAKE=take, THREADS=32, WORDS=WORDS)
        sums: int32 @ block[1] = block.reduce(total, OP=operators.add)
        most: int32 @ block[1] = block.reduce(last, OP=operators.maximum)
        block.fill(mine, sums, 1)
        with partition(mine, block[1], 1) as beside:
            block.fill(beside, most, 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("words", "first"), [(1, 0), (2, 3), (4, 0)])
def test_each_word_is_taken_once_with_its_tile(words: int, first: int, schedule: str) -> None:
    """More tiles than a round of 32 threads has words, and shares that end inside one."""
    n, y = 70, np.zeros(140, np.int32)
    program = package.check(last_marked, {"WORDS": words})
    run(program, n, 32, (y, np.zeros(n, np.uint64), first), check=True, schedule=schedule)
    marks = np.arange(n) ** 2 % 3
    for tile in range(n):
        before = marks[first:tile]
        odd = np.flatnonzero(before % 2)
        assert y[2 * tile] == before.sum() and y[2 * tile + 1] == (first + odd[-1] if odd.size else -1)
