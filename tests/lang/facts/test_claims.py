"""`assume(distinct(values))`: numbers that tell units apart, said by the program; what follows from them, and what does not."""
# ruff: noqa: F821 -- names that kernels declare

import itertools

import numpy as np
import pytest

from prism.interpret import SCHEDULES, AssumeError, RaceError, run
from prism.lang import (
    assume,
    block,
    claim,
    const,
    constexpr,
    distinct,
    float32,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
)  # fmt: skip
from prism.lang.diagnostics import CompileError
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lang.safety import verdicts
from tests.generated.programs import HEAD, loaded


def status(kernel, name: str = "mine", **template: object) -> str:
    """The verdict on a partition."""
    (found,) = (one.status for one in verdicts(build(kernel, template)) if one.what == f"partition `{name}`")
    return found


@prism("device")
@requires(block[1], thread[32])
@template(REACH=constexpr(int))
def put(y: ptr(int32) @ block[1], value: int32 @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], t) as own, group(thread[1]):
        if t < REACH:
            own[0] = value


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(REACH=constexpr(int), HOW=constexpr(int))
def drawn(y: ptr(int32) @ grid[1], numbers: ptr(const(int32)) @ grid[1]):
    me: int32 @ block[1] = id()
    with partition(y, block[1]) as whole, group(block[1]):
        tile: int32 @ block[1] = numbers[me]
        here: int32 @ block[1] = tile
        if HOW == 1:  # a digit of it
            assume(distinct(tile))
            here = tile % 8
        elif HOW == 2:
            assume(distinct(tile))
            here = tile // 2
        elif HOW == 3:  # what it is made of is assigned again
            assume(distinct(here))
            here = here + 1
        elif HOW == 4:  # only on some ways
            if me > 0:
                assume(distinct(tile))
        elif HOW == 5:  # of two numbers together
            assume(distinct(me, tile))
        elif HOW == 6:  # of another number
            assume(distinct(me + 1))
        elif HOW == 0:
            assume(distinct(tile))
        if HOW == 0 or HOW > 3:
            with partition(whole, block[1], 32 * tile) as part:
                put(part, me, REACH=REACH)
        else:
            with partition(whole, block[1], 32 * here) as part:
                put(part, me, REACH=REACH)


@pytest.mark.parametrize(
    ("how", "reach", "wanted"),
    [(0, 32, "proved"), (0, 1, "proved"), (0, 33, "not proved"), (1, 32, "not proved"), (2, 32, "not proved"),
     (3, 32, "not proved"), (4, 32, "not proved"), (5, 32, "not proved"), (6, 32, "not proved")],
)  # fmt: skip
def test_only_the_number_itself_tells_units_apart_and_only_where_it_is_said(how: int, reach: int, wanted: str) -> None:
    assert status(drawn, "whole", HOW=how, REACH=reach) == wanted


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(PLACES=constexpr(int))
def places(y: ptr(int32) @ grid[1], numbers: ptr(const(int32)) @ grid[1]):
    me: int32 @ block[1] = id()
    with partition(y, block[1]) as whole, group(block[1]):
        if me % 2 == 0:
            even: int32 @ block[1] = numbers[me]
            assume(distinct(even))
            with claim(whole, thread[1]) as mine, one(thread):
                mine[even] = 1
        elif PLACES == 2:
            odd: int32 @ block[1] = numbers[me]
            assume(distinct(odd))
            with claim(whole, thread[1]) as mine, one(thread):
                mine[odd] = 1


def test_two_places_may_have_the_same_values() -> None:
    assert status(places, "whole", PLACES=1) == "proved" and status(places, "whole", PLACES=2) == "not proved"
    numbers = np.array([3, 3], np.int32)
    with pytest.raises(RaceError):
        run(build(places, {"PLACES": 2}), 2, 32, (np.zeros(8, np.int32), numbers), check=True)
    run(build(places, {"PLACES": 2}), 1, 32, (np.zeros(8, np.int32), numbers), check=True)


@prism("global")
@requires(grid[1], block[1], thread[32])
def renamed(y: ptr(int32) @ grid[1], numbers: ptr(const(int32)) @ grid[1]):
    me: int32 @ block[1] = id()
    with partition(y, block[1]) as whole, group(block[1]):
        tile: int32 @ block[1] = numbers[me]
        assume(distinct(tile))
        again: int32 @ block[1] = numbers[me + 1]
        with claim(whole, thread[1]) as mine, one(thread):
            mine[tile] = 1
            mine[again] = 1


def test_an_access_by_another_number_is_not_told_apart() -> None:
    assert status(renamed, "whole") == "not proved"


@prism("global")
@requires(grid[1], block[1], thread[32])
@template(OF=constexpr(int))
def levels(y: ptr(int32) @ grid[1], numbers: ptr(const(int32)) @ grid[1]):
    me: int32 @ block[1] = id()
    with partition(y, block[1]) as whole, group(block[1]):
        tile: int32 @ block[1] = numbers[me]
        t: int32 @ thread[1] = id()
        place: int32 @ thread[1] = numbers[t]
        if OF == 0:
            assume(distinct(tile))
            with partition(whole, thread[1]) as mine, group(thread[1]):
                mine[tile] = 1
        else:
            assume(distinct(place))
            with partition(whole, thread[1]) as mine, group(thread[1]):
                mine[place] = 1


def test_what_blocks_differ_in_says_nothing_of_threads_but_the_other_way_round_it_does() -> None:
    with pytest.raises(CompileError) as caught:  # all threads of a block write its element
        build(levels, {"OF": 0})
    assert caught.value.code == "race"
    assert (status(levels, "whole", OF=1), status(levels, "mine", OF=1)) == ("proved", "proved")


@prism("global")
@requires(grid[1], block[1], thread[32])
def matrices(
    y: ptr(int32) @ grid[1], numbers: ptr(const(int32)) @ grid[1], rows: int32 @ grid[1], matrices: int32 @ grid[1]
):
    me: int32 @ block[1] = id()
    matrix: int32 @ block[1] = me % matrices
    with partition(y, block[1]) as whole, group(block[1]):
        row: int32 @ block[1] = numbers[me]
        assume(distinct(matrix, row))
        if 0 <= row and row < rows:
            with partition(whole, block[1], 32 * (matrix * rows + row)) as part:
                put(part, me, REACH=32)


def test_numbers_that_are_distinct_together() -> None:
    assert status(matrices, "whole") == "proved"
    y, numbers = np.zeros(192, np.int32), np.array([0, 0, 1, 2, 2, 1], np.int32)
    matrices[6, 32](y, numbers, 3, 2, check=True)
    assert y.reshape(2, 3, 32)[:, :, 0].tolist() == [[0, 2, 4], [1, 5, 3]]
    numbers[4] = 1
    with pytest.raises(AssumeError, match=r"\(0, 1\), which block 2 had too"):
        matrices[6, 32](y, numbers, 3, 2, check=True)


@pytest.mark.parametrize("numbers", list(itertools.product(range(3), repeat=3)))
def test_the_machine_finds_two_units_of_one_value_and_nothing_else(numbers: tuple[int, ...]) -> None:
    program = build(drawn, {"HOW": 0, "REACH": 32})
    for check in (True, False):
        y = np.zeros(96, np.int32)
        if len(set(numbers)) == 3:
            run(program, 3, 32, (y, np.array(numbers, np.int32)), check=check)
            assert y[::32].tolist() == [numbers.index(tile) for tile in range(3)]
        else:
            with pytest.raises(AssumeError, match="two units have the same value") as caught:
                run(program, 3, 32, (y, np.array(numbers, np.int32)), check=check)
            assert caught.value.code == "machine-assume"


@prism("global")
@requires(grid[1], block[1], thread[32])
def again(y: ptr(int32) @ grid[1], times: int32 @ grid[1], threads: int32 @ grid[1]):
    me: int32 @ thread[1] = id()
    for _ in range(times):
        number: int32 @ thread[1] = me % threads
        assume(distinct(number))
    with partition(y, thread[1], me) as mine, group(thread[1]):
        mine[0] = me


def test_one_unit_may_come_again_with_its_value_and_threads_are_told_apart() -> None:
    again[2, 32](np.zeros(64, np.int32), 3, 64, check=True)
    with pytest.raises(AssumeError, match="thread 0 of block 0 had too"):
        again[2, 32](np.zeros(64, np.int32), 1, 32, check=True)


def test_it_is_counted_and_nothing_of_it_is_emitted() -> None:
    program = build(drawn, {"HOW": 0, "REACH": 32})
    (said,) = (one for one in verdicts(program) if one.kind == "assumption")
    assert (said.status, said.what) == ("assumed", "`assume(distinct(tile))`")
    assert "distinct" not in emit(lower(program)).source.replace("// line", "")


def test_what_is_no_such_number_is_refused() -> None:
    @prism("global")
    @requires(grid[1], block[1], thread[32])
    def grids(n: int32 @ grid[1]):
        assume(distinct(n))

    @prism("global")
    @requires(grid[1], block[1], thread[32])
    def floats(n: float32 @ grid[1]):
        assume(distinct(n))

    @prism("global")
    @requires(grid[1], block[1], thread[32])
    def memory(x: ptr(const(int32)) @ grid[1]):
        b: int32 @ block[1] = id()
        assume(distinct(x[b]))

    @prism("global")
    @requires(grid[1], block[1], thread[32])
    def nothing():
        assume(distinct())

    @prism("global")
    @requires(grid[1], block[1], thread[32])
    def elsewhere(n: int32 @ grid[1]):
        b: int32 @ block[1] = id()
        assume(distinct(b) and n > 0)

    for kernel, words in (
        (grids, "all units have these values"), (floats, "takes integers, and this is float32"),
        (memory, "of values alone"), (nothing, "`distinct` does not take these arguments"), (elsewhere, "cannot be called"),
    ):  # fmt: skip
        with pytest.raises(CompileError, match=words):
            build(kernel)


@prism("global")
@requires(grid[1], block[1], thread[32])
def fixed(y: ptr(int32) @ grid[1], numbers: ptr(const(int32)) @ grid[1]):
    me: int32 @ block[1] = id()
    with partition(y, block[1]) as whole, group(block[1]):
        table: shared(int32[1])
        with claim(table, thread[1]) as own, one(thread):
            own[0] = numbers[me]
        tile: int32 @ block[1] = 0
        for k in range(2):
            here: int32 @ block[1] = tile
            assume(distinct(here))
            tile = table[0] + k
            with claim(whole, thread[1]) as mine, one(thread):
                mine[tile] = 1


def test_a_copy_that_was_made_before_it_changed_does_not_count() -> None:
    assert status(fixed, "whole") == "not proved"


BESIDE = """\
@prism("global")
@requires(grid[1], block[1], thread[64])
def kernel(y: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1]) as mine, group(thread[1]):
        v: int32 @ thread[1] = x[t]
{body}
"""
BEHIND = """\
        if v != 3:
            assume(distinct(v))
            mine[v] = 1
"""


@pytest.mark.parametrize("body", [BEHIND + "        mine[v] = t\n", "        mine[v] = t\n" + BEHIND])
def test_an_access_beside_the_claim_is_none_behind_it(body: str) -> None:
    with loaded(HEAD + BESIDE.format(body=body)) as names:
        program = build(names["kernel"], None)
    assert [one.status for one in verdicts(program) if one.what == "partition `mine`"] == ["not proved"]
    x = np.arange(64, dtype=np.int32)
    x[10] = 3
    with pytest.raises(RaceError):
        run(program, 1, 64, [np.zeros(64, np.int32), x], check=True)


LONG = """\
@prism("global")
@requires(grid[1], block[1], thread[64])
def kernel(y: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1], when: ptr(const(int32)) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        v: int32 @ thread[1] = x[t]
        for k in range(2):
            with partition(s, thread[1]) as own, group(thread[1]):
                if v != 3:
                    assume(distinct(v))
                    own[v] = t
                if when[t] != k:
                    own[v] = t
        with group(thread[1]):
            mine[0] = s[v]
{more}
"""


@pytest.mark.parametrize("more", [0, 1, 150])
def test_a_long_function_tells_them_apart_too(more: int) -> None:
    with loaded(HEAD + LONG.format(more="            mine[0] ^= mine[0]\n" * more)) as names:
        program = build(names["kernel"], None)
    assert [barrier.kind for barrier in program.plans[program.entry].barriers] == ["block", "block"]
    x, when = np.arange(64, dtype=np.int32), np.full(64, 2, np.int32)
    x[10], when[3], when[10] = 3, 1, 0
    for schedule in SCHEDULES:
        y = np.zeros(64, np.int32)
        run(program, 1, 64, [y, x, when], check=True, schedule=schedule)
