"""grid.tiles and what goes with it: each tile is one block's, in the order of their numbers, launch after launch.

Tests of prism/lib/grid: tiles, draw, count_launch, ticket.
"""

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, BoundsError
from prism.lang import (
    CompileError,
    attr,
    block,
    claim,
    count,
    grid,
    group,
    id,
    int32,
    mailbox,
    partition,
    prism,
    ptr,
    requires,
    split,
    thread,
    uint32,
    uint64,
)


@prism("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(128)")
def drawn(
    owners: ptr(int32) @ grid[1], epochs: ptr(uint32) @ grid[1], tiles: int32 @ grid[1],
    words: ptr(mailbox(int32)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
):  # fmt: skip
    """Which block has each tile, and what it takes for the launch's number."""
    me: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with (
        partition(owners, block[1], races="allow") as owners_out,
        partition(epochs, block[1], races="allow") as epochs_out,
    ):
        with group(block[1]):
            first: grid.Ticket @ block[1] = grid.tiles(control)
            tile: int32 @ block[1] = first.tile
            while tile < tiles:
                ticket: uint64 @ thread[1] = grid.draw(control)
                with claim(owners_out, thread[1]) as owner, claim(epochs_out, thread[1]) as epoch:
                    match split(thread):
                        case 1:
                            owner[tile] = me
                            epoch[tile] = first.epoch
                tile = grid.next_tile(ticket)
            if tile == tiles + blocks - 1:
                grid.count_launch(control, words, capacity, tiles, first.epoch, -7)


class Scratch:
    """What launches leave to one another."""

    def __init__(self, capacity: int = 16, launches: int = 0) -> None:
        self.words = np.zeros(capacity, np.uint64)
        self.control = np.full(1, launches << 32, np.uint64)
        self.capacity = capacity


def launch(tiles: int, blocks: int, scratch: Scratch, threads: int = 64, **options):
    owners, epochs = np.full(tiles + 1, -1, np.int32), np.zeros(tiles + 1, np.uint32)
    arguments = (owners, epochs, tiles, scratch.words, scratch.capacity, scratch.control)
    drawn[blocks, threads](*arguments, check=True, **options)
    assert owners[tiles] == -1
    return owners[:tiles], epochs[:tiles]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("tiles", "blocks"), [(0, 2), (1, 1), (1, 4), (9, 1), (9, 3), (16, 4)])
def test_each_tile_is_drawn_once_in_every_launch(tiles: int, blocks: int, schedule: str) -> None:
    scratch = Scratch()
    for number in range(1, 6):
        owners, epochs = launch(tiles, blocks, scratch, schedule=schedule, seed=number)
        assert ((owners >= 0) & (owners < blocks)).all()
        assert (epochs == number).all()
        assert scratch.control[0] == number << 32


def test_launches_of_any_shape_follow_each_other() -> None:
    scratch, random = Scratch(), np.random.default_rng(0)
    for number in range(1, 20):
        tiles, blocks, threads = (
            int(random.integers(0, 12)),
            int(random.integers(1, 6)),
            32 * int(random.integers(1, 5)),
        )
        _, epochs = launch(tiles, blocks, scratch, threads, schedule="random", seed=number)
        assert (epochs == number).all() and scratch.control[0] == number << 32


def test_the_epoch_wraps_around() -> None:
    scratch = Scratch(launches=2**32 - 2)
    assert [launch(3, 2, scratch)[1][0] for _ in range(4)] == [2**32 - 1, 0, 1, 2]


def test_words_that_are_not_used_are_marked_in_turn() -> None:
    scratch = Scratch(8)
    for _ in range(9):
        launch(2, 3, scratch)
    tags = scratch.words.view(np.uint32).reshape(8, 2)
    assert tags[:, 1].tolist() == [0, 0, 2, 3, 4, 5, 6, 7]  # this kernel publishes none, so the first two stay
    assert (tags[2:, 0].view(np.int32) == -7).all()


@prism("global")
@requires(grid[1], thread[32])
def by_a_warp(control: ptr(uint64) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, thread[32]) as out, group(thread[32]):
        first: grid.Ticket @ thread[32] = grid.tiles(control)
        with group(thread[1]), claim(out, thread[1]) as mine:
            mine[0] = first.tile


@prism("global")
@requires(grid[1], block[1], thread[32])
def by_one_thread(control: ptr(uint64) @ grid[1], y: ptr(uint64) @ grid[1]):
    with partition(y, block[1]) as out, group(block[1]):
        with claim(out, thread[1]) as mine:
            match split(thread):
                case 1:
                    mine[0] = grid.draw(control)


@pytest.mark.parametrize(("kernel", "name"), [(by_a_warp, "tiles"), (by_one_thread, "draw")])
def test_a_whole_block_calls_them(kernel, name: str) -> None:
    with pytest.raises(CompileError, match=rf"`{name}` must be run by block\[1\] together"):
        package.check(kernel)


def test_there_must_be_a_counter() -> None:
    with pytest.raises(BoundsError):
        drawn[2, 64](
            np.zeros(2, np.int32),
            np.zeros(2, np.uint32),
            2,
            np.zeros(2, np.uint64),
            2,
            np.zeros(0, np.uint64),
            check=True,
        )


def test_they_compile() -> None:
    assert package.compile(drawn).cubin
