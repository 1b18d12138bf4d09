"""The search of a whole array in one launch on the reference machine, with all its checks: every schedule, any alignment."""

import functools
from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.interpret import RaceError, run
from prism.kernels.reduce import find_both, find_whole
from prism.lib.algorithms.reduce import calls as reduce_calls
from prism.lib.algorithms.reduce.plan import seeker, seeker_of_both
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers

KINDS = ["int8", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]
THREADS, ROWS, WORDS = 64, 2, 2


@functools.cache
def search(kind: str, largest: bool):
    return reduce_calls.search_of(largest, np.dtype(kind))


@functools.cache
def template(kind: str, largest: bool, width: int) -> dict[str, Any]:
    """As on a GPU, but in small blocks."""
    shape = {"THREADS": THREADS, "BLOCKS": 1, "ROWS": ROWS, "AHEAD": ROWS, "WORDS": WORDS, "WIDTH": width}
    return {**dict(seeker(search(kind, largest)).template), **shape}


@functools.cache
def program(kind: str, largest: bool = True, width: int = 2):
    return prism.check(find_whole, template(kind, largest, width))


def found(
    x, largest: bool = True, blocks: int = 3, head: int = 0, width: int = 2, times: int = 1, code=None, **options
) -> int:
    """Where the element is, `x` lying so that its vectors begin behind `head` elements; launched so many times."""
    kind = x.dtype.name
    room = np.zeros(x.size + 64, kind)
    start = (-room.ctypes.data % 16) // x.itemsize + -head % (16 // x.itemsize)
    given = room[start : start + x.size]
    given[:] = x
    sought = search(kind, largest)
    nothing = 0 if sought.word == "uint64" else np.zeros((), [("rank", "u8"), ("rest", "u8")])[()]
    words, control = np.zeros(64, np.uint64), np.zeros(2, np.uint32)
    y = np.full(1, -1)
    for _ in range(times):
        numbers = (16, x.size, head, sought.weakest, nothing)
        run(
            code or program(kind, largest, width),
            blocks,
            THREADS,
            (given, y, words, control, *numbers),
            check=True,
            **options,
        )
    return int(y[0])


def check_both(x, **options) -> None:
    assert found(x, True, **options) == x.argmax()
    assert found(x, False, **options) == x.argmin()


def data(kind: str, size: int):
    """Few values, each many times."""
    return np.random.default_rng(size).integers(0, 5, size).astype(kind) - np.array(2 if kind[0] != "u" else 0, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("blocks", [1, 3])
def test_kinds(kind: str, blocks: int) -> None:
    for size in (1, 2, 31, 33, 255, 1000):
        check_both(data(kind, size), blocks=blocks)
    limits = np.finfo(kind) if kind[0] == "f" else np.iinfo(kind)
    for ends in ((limits.min, limits.max), (limits.max, limits.min)):
        x = np.full(300, ends[0], kind)
        check_both(x, blocks=blocks)
        x[77] = x[200] = ends[1]
        check_both(x, blocks=blocks)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_floats(kind: str) -> None:
    x = data(kind, 500)
    x[33], x[210] = -np.inf, np.inf
    check_both(x)
    check_both(np.full(300, -np.inf, kind))
    check_both(np.full(300, np.inf, kind))
    zeros = np.where(np.arange(300) % 3, 0.0, -0.0).astype(kind)
    check_both(zeros)  # -0 is as large as 0: the first of either
    for at in (0, 299, 150):
        x[at] = -np.nan if at else np.nan
        check_both(x)


@pytest.mark.parametrize("width", [2, 4])
def test_heads_and_tails(width: int) -> None:
    for head in range(width):
        for size in range(head, 2 * width + head + 1):
            for at in range(size):
                x = np.zeros(size, np.int32)
                x[at] = 1
                assert found(x, head=head, width=width) == at
                assert found(-x, False, head=head, width=width) == at


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.parametrize("kind", ["int32", "float64"])
def test_schedules(schedule: str, seed: int, kind: str) -> None:
    x = data(kind, 2000)
    for blocks in (2, 8):
        check_both(x, blocks=blocks, schedule=schedule, seed=seed)


def test_launches_follow_each_other() -> None:
    for kind in ("int32", "int64"):
        check_both(data(kind, 700), blocks=3, times=20)  # more than there are words: each is marked once


def mutants() -> list[Any]:
    return [
        pytest.param(mutant, id=f"{barrier.kind}:{barrier.before.span.line}")
        for barrier, mutant in without_barriers(program("int64"))
    ]


@pytest.mark.parametrize("mutant", mutants())
def test_each_inferred_barrier_is_needed(mutant) -> None:
    with pytest.raises(RaceError):
        for schedule, seed in SCHEDULES:
            found(data("int64", 1000), code=mutant, schedule=schedule, seed=seed)


@functools.cache
def program_of_both(kind: str, width: int = 2):
    template = dict(seeker_of_both(search(kind, False), search(kind, True)).template)
    shape = {"THREADS": THREADS, "BLOCKS": 1, "ROWS": ROWS, "AHEAD": ROWS, "WORDS": WORDS, "WIDTH": width}
    return prism.check(find_both, {**template, **shape})


def both(x, blocks: int = 3, head: int = 0, times: int = 1, code=None, **options) -> tuple[int, int]:
    """Where both extremes are, as `found` gives one."""
    kind, least, most = x.dtype.name, search(x.dtype.name, False), search(x.dtype.name, True)
    room = np.zeros(x.size + 64, kind)
    start = (-room.ctypes.data % 16) // x.itemsize + -head % (16 // x.itemsize)
    given = room[start : start + x.size]
    given[:] = x
    nothing = 0 if least.word == "uint64" else np.zeros((), [("rank", "u8"), ("rest", "u8")])[()]
    words, control, others, other_control = (
        np.zeros(64 if k % 2 == 0 else 2, "u8" if k % 2 == 0 else "u4") for k in range(4)
    )
    y = np.full(2, -1)
    for _ in range(times):
        numbers = (16, x.size, head, least.weakest, most.weakest, nothing)
        arrays = (given, y[:1], y[1:], words, control, others, other_control)
        run(code or program_of_both(kind), blocks, THREADS, (*arrays, *numbers), check=True, **options)
    return int(y[0]), int(y[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("blocks", [1, 3])
def test_both_at_once(kind: str, blocks: int) -> None:
    for size in (1, 2, 33, 255, 1000):
        x = data(kind, size)
        assert both(x, blocks) == (x.argmin(), x.argmax())
        if kind.startswith("float"):
            x[size // 2] = np.nan
            assert both(x, blocks) == (size // 2, size // 2)
    limits = np.finfo(kind) if kind[0] == "f" else np.iinfo(kind)
    x = np.full(300, limits.max, kind)
    x[[77, 200]] = limits.min
    assert both(x, blocks) == (77, 0)
    for head in (0, 1):
        for size in range(head, 6 + head):
            for at in range(size):
                x = np.zeros(size, kind)
                x[at] = 1
                assert both(x, blocks, head) == (x.argmin(), at)


@pytest.mark.parametrize("schedule", interpret.SCHEDULES)
def test_both_at_once_in_every_schedule(schedule: str) -> None:
    x = data("int64", 2000)
    assert both(x, 3, times=20, schedule=schedule, seed=1) == (x.argmin(), x.argmax())


def mutants_of_both() -> list[Any]:
    return [
        pytest.param(mutant, id=f"{barrier.kind}:{barrier.before.span.line}")
        for barrier, mutant in without_barriers(program_of_both("int64"))
    ]


@pytest.mark.parametrize("mutant", mutants_of_both())
def test_each_inferred_barrier_of_both_is_needed(mutant) -> None:
    with pytest.raises(RaceError):
        for schedule, seed in SCHEDULES:
            both(data("int64", 1000), code=mutant, schedule=schedule, seed=seed)
