"""Small arguments as cases: a partition that is proved in each of the few launches that assumptions leave; and what is not."""
# ruff: noqa: F821 -- names that kernels declare, and template parameters

import numpy as np
import pytest

from prism import LaunchError
from prism.interpret import RaceError, run
from prism.lang import (
    assume,
    attr,
    block,
    constexpr,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
    uint32,
)
from prism.lang.pipeline import build
from prism.lang.safety import verdicts
from prism.lang.surface import Kernel


def status(kernel: Kernel, view: str = "slot", **template: object) -> str:
    """What is known of a partition."""
    (found,) = {one.status for one in verdicts(build(kernel, template)) if one.what == f"partition `{view}`"}
    return found


@prism("global")
@template(SAID=constexpr(int), MOST=constexpr(int), MANY=constexpr(int))
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(64)")
def first_lanes(y: ptr(int32) @ grid[1], lanes: int32 @ grid[1], apart: int32 @ grid[1]):
    """Of each group of `1 << lanes` lanes, `1 << apart` from one to the next, the first writes."""
    if SAID % 2 == 1:
        assume(0 <= lanes and lanes <= MOST and 0 <= apart and 5 >= apart)
    if SAID >= 2:
        assume(apart == 0 or apart == 5 - lanes)
    groups: int32 @ grid[1] = 32 >> lanes
    several: int32 @ grid[1] = 1 << lanes
    with partition(y, thread[1], id()) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        lane: int32 @ thread[1] = t % 32
        along: int32 @ thread[1] = lane >> apart & several - 1
        beside: int32 @ thread[1] = lane >> lanes if apart == 0 else lane & groups - 1
        w: int32 @ thread[1] = t // 32
        desk: shared(int32[128])
        with partition(desk, thread[1], (w * groups + beside) * 2) as slot, group(thread[1]):
            if along <= MANY:
                for e in range(2):
                    slot[e] = t
        with group(thread[1]):
            mine[0] = desk[(w * groups + beside) * 2 + 1]


ALL = {"SAID": 3, "MOST": 5, "MANY": 0}


def test_it_is_proved_in_each_case() -> None:
    assert status(first_lanes, **ALL) == "proved"
    for lanes in range(6):
        for apart in {0, 5 - lanes}:
            y = np.zeros(64, np.int32)
            first_lanes[1, 64](y, lanes, apart, template=ALL, check=True)
            lane = np.arange(64) % 32
            beside = lane >> lanes if apart == 0 else lane & (32 >> lanes) - 1
            assert (y == np.arange(64) // 32 * 32 + (beside << (lanes if apart == 0 else 0))).all()
    for lanes, apart in ((6, 0), (-1, 0), (1, 2), (5, 5)):
        with pytest.raises(LaunchError, match="assumes"):
            first_lanes[1, 64](y, lanes, apart, template=ALL)


@pytest.mark.parametrize("change", [{"SAID": 0}, {"SAID": 1}, {"SAID": 2}, {"MOST": 6}, {"MANY": 1}])
def test_each_premise_is_needed(change: dict[str, object]) -> None:
    """Nothing said of the numbers, of the two together, of their bounds; one bound too wide; all lanes write."""
    assert status(first_lanes, **{**ALL, **change}) == "not proved"


def test_what_is_not_proved_does_race() -> None:
    y = np.zeros(64, np.int32)
    for change, numbers in (({"SAID": 1}, (1, 2)), ({"MANY": 1}, (1, 0)), ({"MOST": 6}, (6, 0))):
        with pytest.raises(RaceError):
            run(build(first_lanes, {**ALL, **change}), 1, 64, (y, *numbers), check=True)


@prism("global")
@template(WHERE=constexpr(int), MOST=constexpr(int))
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(32)")
def shifted(k: uint32 @ grid[1], n: int32 @ grid[1]):
    """Parts of `1 << k`, so far apart that they are disjoint."""
    m: uint32 @ grid[1] = k
    if WHERE == 1:
        assume(k <= MOST)
    elif WHERE == 2:
        if n > 0:
            assume(k <= MOST)
    elif WHERE == 3:
        assume(m <= MOST)
        m = m + 1
    elif WHERE == 4:
        assume(k <= MOST or n > 3)
    with group(block[1]):
        room: shared(int32[1024])
        t: int32 @ thread[1] = id()
        with partition(room, thread[1], t << k) as slot, group(thread[1]):
            for e in range(1 << (k if WHERE != 3 else m)):
                slot[e] = 1


@pytest.mark.parametrize(
    ("where", "most", "expected"),
    [
        (0, 4, "not proved"),
        (1, 4, "proved"),
        (1, 100, "not proved"),
        (2, 4, "not proved"),
        (3, 4, "not proved"),
        (4, 4, "not proved"),
    ],
)
def test_only_what_each_launch_tests_bounds_a_number(where: int, most: int, expected: str) -> None:
    assert status(shifted, WHERE=where, MOST=most) == expected


@prism("global")
@template(MOST=constexpr(int))
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(32)")
def three(a: int32 @ grid[1], b: int32 @ grid[1], c: int32 @ grid[1]):
    assume(0 <= a and a <= MOST and 0 <= b and b <= MOST and 0 <= c and c <= MOST)
    with group(block[1]):
        room: shared(int32[32768])
        t: int32 @ thread[1] = id()
        with partition(room, thread[1], t << a << b << c) as slot, group(thread[1]):
            slot[0] = 1


def test_there_are_so_many_cases_at_most() -> None:
    assert (status(three, MOST=3), status(three, MOST=4)) == ("proved", "not proved")
