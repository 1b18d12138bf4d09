"""grid.look_back_columns: what the tiles before came to, column by column, a block a tile, in every schedule."""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import SCHEDULES, BoundsError, RaceError, run
from prism.lang import (
    block,
    const,
    constexpr,
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
    publish,
    requires,
    template,
    thread,
    uint32,
)
from tests.lib.oracles import CASES, Case, case
from tests.mutation import without_barriers


@prism("global")
@template(
    T=dtype, OP=function, THREADS=constexpr(int), TX=constexpr(int), WIDTH=constexpr(int), WORDS=constexpr(int)
)  # fmt: skip
@requires(grid[1], block[1], thread[THREADS])
def columns(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], initial: T @ grid[1], identity: T @ grid[1],
    words: ptr(mailbox(T)) @ grid[1], start: int32 @ grid[1], epoch: uint32 @ grid[1],
):  # fmt: skip
    """`y[b, c] = OP(initial, x[0, c], ..., x[b - 1, c])`, for `TX * WIDTH` columns; row b is block b's."""
    COLUMNS: constexpr(int) = TX * WIDTH
    me: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % THREADS
    with partition(y, block[1], offset=me * COLUMNS) as row, group(block[1]):
        prefix: T[WIDTH] @ thread[1]
        with group(thread[1]):
            for k in range(WIDTH):
                prefix[k] = initial
            if t < COLUMNS:
                publish(words[start + me * COLUMNS + t], x[me * COLUMNS + t], epoch)
        grid.look_back_columns(
            words, start, 0, me, identity, epoch, prefix, OP=OP, THREADS=THREADS, TX=TX, WIDTH=WIDTH, WORDS=WORDS
        )
        with partition(row, thread[1], offset=t * WIDTH, races="none") as mine, group(thread[1]):
            if t < TX:
                for k in range(WIDTH):
                    mine[k] = prefix[k]


def compare(
    case: Case, rows: int, tx: int, width: int, *, words=2, threads=64, mutant=None, spare=0, **options
) -> None:
    x = case.data(rows * tx * width).reshape(rows, -1)
    initial = case.data(1, seed=9)[0]
    kind = str(case.dtype)
    template = {"T": kind, "OP": case.function, "THREADS": threads, "TX": tx, "WIDTH": width, "WORDS": words}
    code = mutant or package.check(columns, template)
    room = np.zeros((x.size + 5 + spare) * (1 if case.dtype.itemsize <= 4 else 2), np.uint64)
    for epoch in (1, 2):
        y = np.zeros_like(x)
        arguments = (x.ravel(), y.reshape(-1), initial, case.identity, room, 5, epoch)
        run(code, rows, threads, arguments, check=True, **options)
        for column, found in zip(x.T, y.T, strict=True):
            assert np.array_equal(found, case.inclusive(np.concatenate([[initial], column]).astype(x.dtype))[:-1])


@pytest.mark.parametrize(("tx", "width"), [(1, 1), (4, 2), (8, 4), (32, 1)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(case: Case, tx: int, width: int) -> None:
    compare(case, 5, tx, width)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule(schedule: str) -> None:
    for words in (1, 3):
        compare(case("add", "int32"), 21, 8, 2, words=words, schedule=schedule, seed=1)


def test_each_inferred_barrier_is_needed() -> None:
    adds = case("add", "int32")
    template = {"T": "int32", "OP": adds.function, "THREADS": 64, "TX": 4, "WIDTH": 2, "WORDS": 2}
    mutants = list(without_barriers(package.check(columns, template)))
    assert mutants
    for _, mutant in mutants:
        with pytest.raises(RaceError, match="barrier"):
            for schedule in ("round-robin", "reversed"):
                compare(adds, 9, 4, 2, mutant=mutant, schedule=schedule)


def test_too_few_words() -> None:
    with pytest.raises(BoundsError, match="words"):
        compare(case("add", "int32"), 5, 4, 2, spare=-8)


def test_it_compiles() -> None:
    template = {"T": "float32", "OP": CASES[0].function, "THREADS": 256, "TX": 4, "WIDTH": 4, "WORDS": 4}
    assert package.compile(columns, template).cubin
