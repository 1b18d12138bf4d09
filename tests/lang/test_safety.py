"""The safety report: every verdict is in it, with its kind and its status; nothing is cut off."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from prism.lang import (
    attr,
    block,
    const,
    dtype,
    float32,
    grid,
    group,
    id,
    int32,
    intrinsic,
    may_alias,
    partition,
    prism,
    ptr,
    requires,
    roles,
    template,
    thread,
    unsafe,
    warp,
)
from prism.lang.barriers.flow import Relation
from prism.lang.barriers.walk_access import _note
from prism.lang.diagnostics import Span
from prism.lang.pipeline import build
from prism.lang.safety import Verdict, describe_verdicts, safety, unordered_verdicts, verdicts
from prism.lang.sync import elided_conflicts
from prism.lang.tree import Symbol
from prism.lang.tree.plan import Access, Elided, Plan
from prism.lang.types import FLOAT32, Pointer
from prism.lang.types.perspective import THREAD


@intrinsic("__cosf(x)", meaning=np.cos)
def quick_cosine(x: float32 @ thread[1]) -> float32:
    """quick_cosine(x): nearly."""


@prism("device")
@template(T=dtype)
@requires(thread[1])
def store(row: ptr(T) @ thread[1], value: T @ thread[1]):
    with partition(row, thread[1], 0) as own:
        own[0] = value


@prism("global")
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(64)")
def everything(x: ptr(float32) @ grid[1], y: ptr(float32) @ grid[1], z: ptr(float32) @ grid[1]):
    with partition(x, thread[1], id(thread[1])) as mine, group(thread[1]):
        unsafe("mine[0] += 1;", writes=[mine])
    with partition(y, block[1], 8 * id(block[1])) as part, group(block[1]):
        with partition(part, thread[1], id()) as own, group(thread[1]):
            value: float32 = quick_cosine(own[0])
            store(own, value)
    with partition(z, thread[1], 0, races="allow") as shared_by_all, group(thread[1]):
        shared_by_all[0] = 1


def by_kind(found: tuple[Verdict, ...]) -> set[tuple[str, str, str]]:
    return {(one.kind, one.status, one.what) for one in found}


def test_every_kind_is_reported_with_its_status() -> None:
    program = build(everything)
    found = verdicts(program)
    assert by_kind(found) == {
        ("partition", "not proved", "partition `mine`"),
        ("text", "believed", "`unsafe` 'mine[0] += 1;'"),
        ("partition", "not proved", "partition `part`"),
        ("partition", "proved", "partition `own`"),
        ("intrinsic", "believed", "`quick_cosine`"),
        ("partition", "believed", "partition `shared_by_all`"),
        ("alias", "believed", "parameters `x`, `y`, `z`"),
    }
    assert all(one.reason and one.line > 0 for one in found)
    report = safety(program)["verdicts"]
    assert report["proved"] == sum(one.status == "proved" for one in found) == 2
    assert [one["what"] for one in report["not proved"]] == ["partition `mine`", "partition `part`"]
    assert len(report["believed"]) == 4
    lines = list(describe_verdicts(found))
    assert lines[:2] == ["2 proved, 2 not proved, 0 assumed, 4 believed", "not proved:"] and len(lines) == 3 + 6


def test_what_may_alias_names_is_not_believed_to_lie_apart() -> None:
    @prism("global")
    @may_alias("x", "y")
    @requires(grid[1], thread[1])
    def shifted(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], w: ptr(const(float32)) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(thread[1]):
            mine[0] = w[0]

    assert [one.what for one in verdicts(build(shifted)) if one.kind == "alias"] == ["parameters `y`, `w`"]


# -- nothing is lost on the way -------------------------------------------------------------------------------------------------

SPAN = Span("somewhere.py", 7, 0, 7, 1)


def access(line: int, kind: str = "write") -> Access:
    span = Span("somewhere.py", line, 0, line, 1)
    return Access(Symbol("x", Pointer(FLOAT32, space="global"), THREAD, span), kind, span, "x[...]", THREAD)


def test_notes_are_not_cut_off() -> None:
    """A hundred conflicts that nothing is proved of are a hundred, in the plan and in the report."""
    elided = {(n, n): Elided(access(n), access(n + 1), "who knows", unproved="trip") for n in range(1, 101)}
    kept = elided_conflicts(SimpleNamespace(elided=elided))  # type: ignore[arg-type]
    assert len(kept) == 100
    function = build(everything).entry
    found = [one for _, one in unordered_verdicts(function, Plan(function, (), kept))]
    assert len(found) == 100 and {(one.kind, one.status) for one in found} == {("trip", "not proved")}
    assert len({one.line for one in found}) == 100


def test_what_is_not_proved_hides_behind_no_other_reason() -> None:
    """Two accesses may meet in several states: what is not proved in one of them is told, in whatever order they come."""
    unproved = Relation(None, "z: nobody knows", unproved="asynchronous")
    ordered = Relation(None, "a: ordered by a barrier")
    touch: Any = SimpleNamespace(serial=1, access=access(3))
    for relations in ((unproved, ordered), (ordered, unproved)):
        walk: Any = SimpleNamespace(elided={})
        for relation in relations:
            _note(walk, touch, touch, relation)
        (left,) = walk.elided.values()
        assert (left.unproved, left.reason) == ("asynchronous", "z: nobody knows")


@prism("global")
@may_alias("x", "y")
@requires(grid[1], block[1], thread[32])
def in_place(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i, races="allow") as mine, group(thread[1]):
        mine[0] = x[n - i]


def test_memory_that_may_overlap_is_one_verdict() -> None:
    found = [one for one in verdicts(build(in_place)) if one.status == "believed"]
    assert [(one.kind, one.what) for one in found] == [("alias", "parameters `x`, `y`")]
    assert "they may overlap" in found[0].reason


@prism("global")
@requires(grid[1], block[1], thread[96])
@attr("__launch_bounds__(96)")
def by_role(y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as part, group(block[1]):
        t: int32 @ thread[1] = id()
        few, rest = roles(warp, 2, 1)
        with partition(part, thread[1], t) as mine, few, group(thread[1]):
            mine[0] = 1


def test_a_role_bounds_its_threads() -> None:
    """Blocks' parts are 64 apart, and of 96 threads the first 64 write."""
    assert ("partition", "proved", "partition `part`") in by_kind(verdicts(build(by_role)))
