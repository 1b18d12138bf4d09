"""grid.deal_tiles: each tile of each segment is one block's, and blocks have as many as others, or one less; owners; count_tiles.

Tests of prism/lib/grid: tiles.
"""

# ruff: noqa: I001 -- names that kernels declare

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    attr, block, const, constexpr, count, grid, group, id, int32, one, partition, ptr, requires, template, thread, vector,
)  # fmt: skip
from prism.lang import prism as mark
from prism.lang.tree.plan import Program
import prism
from tests.mutation import without_barriers

SIZE = 4
MOST = 100
"""Tiles of a segment, at most, that `dealt` has room for."""


@mark("global")
@template(UNEVEN=constexpr(bool))
@attr("__launch_bounds__(64, 1)")
@requires(grid[1], block[1], thread[64])
def dealt(
    y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1], lengths: ptr(const(int32)) @ grid[1], groups: int32 @ grid[1],
    many: int32 @ grid[1], most: int32 @ grid[1],
):  # fmt: skip
    """y[segment, tile] = 1 + its block; z[segment] = its length, the first block that has some of it, and how many have."""
    me: int32 @ block[1] = id()
    blocks: int32 @ grid[1] = count(block[1])
    with (
        partition(y, thread[1], lambda i: i, races="allow") as seen,
        partition(z, thread[1], lambda i: i, races="allow") as facts, group(block[1]),
    ):  # fmt: skip

        @requires(block[1], thread[64])
        def work(
            segment: int32 @ block[1],
            length: int32 @ block[1],
            first: int32 @ block[1],
            last: int32 @ block[1],
            start: int32 @ block[1],
            tiles: int32 @ block[1],
        ):
            place: vector(int32, 2) @ block[1] = grid.owners(start, grid.count_tiles(length, SIZE=4), tiles, blocks)
            with one(thread):
                for tile in range(first, last):
                    seen[100 * segment + tile] = seen[100 * segment + tile] + me + 1
                if me == place[0]:
                    facts[3 * segment] = length
                    facts[3 * segment + 1] = place[0]
                    facts[3 * segment + 2] = place[1]

        grid.deal_tiles(me, blocks, lengths, groups, many, most, WORK=work, SIZE=4, UNEVEN=UNEVEN, THREADS=64)


def wanted(lengths: Any, many: int, blocks: int) -> tuple[Any, Any]:
    """Return what `dealt` must leave, of segments of these lengths."""
    counts = [max(1, -(-int(n) // SIZE)) for n in np.repeat(lengths, many)]
    total, y, z, start = sum(counts), [], [], 0
    blocks = min(blocks, total)
    owner = np.concatenate(
        [np.full((b + 1) * total // blocks - b * total // blocks, b) for b in range(blocks)]  # as even as can be
    )
    for n, length in zip(counts, np.repeat(lengths, many), strict=True):
        own = owner[start : start + n]
        y.append(np.pad(own + 1, (0, MOST - n)))
        z.append((length, own[0], own[-1] - own[0] + 1))
        start += n
    return np.array(y, np.int32), np.array(z, np.int32)


def launch(
    lengths: Any, many: int, blocks: int, most: int, program: Program | None = None, **how: Any
) -> tuple[Any, Any]:
    """Return what `dealt` leaves; `lengths`: None where all segments have `most` elements, of three groups."""
    groups, given = (3, np.zeros(1, np.int32)) if lengths is None else (len(lengths), np.array(lengths, np.int32))
    y, z = np.zeros((groups * many, MOST), np.int32), np.zeros((groups * many, 3), np.int32)
    arguments = (y.ravel(), z.ravel(), given, groups, many, most)
    if program is None:
        dealt[blocks, 64](*arguments, template={"UNEVEN": lengths is not None}, **how)
    else:
        run(program, blocks, 64, arguments, **how)
    return y, z


UNEVEN = [([5, 0, 160, 1], 2), ([8], 1), ([-3, 400, 4], 3), ([*range(100)], 1), ([0] * 70, 2)]
"""Lengths, and segments of a group: none, one, more than `most`, more groups than threads."""


@pytest.mark.parametrize(("lengths", "many"), UNEVEN)
@pytest.mark.parametrize("blocks", [1, 3, 8])
def test_uneven_segments(lengths: list[int], many: int, blocks: int) -> None:
    y, z = launch(lengths, many, blocks, 160, check=True)
    for found, right in zip((y, z), wanted(np.clip(lengths, 0, 160), many, blocks), strict=True):
        assert np.array_equal(found, right)


@pytest.mark.parametrize("most", [0, 1, 4, 13, 160])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_even_segments(most: int, schedule: str) -> None:
    """Fewer tiles than blocks, as many, and more."""
    for blocks in (1, 4, 7):
        y, z = launch(None, 2, blocks, most, check=True, schedule=schedule)
        for found, right in zip((y, z), wanted([most] * 3, 2, blocks), strict=True):
            assert np.array_equal(found, right)


def test_shares_end_where_segments_do() -> None:
    """Where as many blocks have each segment: no block has parts of two, though 94 is no multiple of 8."""
    _, z = launch(None, 1, 24, 94 * SIZE, check=True)
    assert np.array_equal(z[:, 1], [0, 8, 16]) and (z[:, 2] == 8).all()


def test_the_barriers_are_needed() -> None:
    """Between what is scanned, and before the group is read that one thread has found; without lengths there are none."""
    assert not any(plan.barriers for plan in prism.check(dealt, template={"UNEVEN": False}).plans.values())
    mutants = without_barriers(prism.check(dealt, template={"UNEVEN": True}))
    right = wanted([5, 0, 160, 1], 2, 3)
    assert mutants
    for _, mutant in mutants:
        try:
            found = launch([5, 0, 160, 1], 2, 3, 160, mutant, check=True, schedule="random")
        except MachineError:
            continue
        assert not all(map(np.array_equal, found, right)), "a barrier too many"
