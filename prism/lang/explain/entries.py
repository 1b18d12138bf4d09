"""What a plan puts between the lines, as entries: one function for each kind of step."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang.explain.model import Entry, Exempt, Spot
from prism.lang.perspective import Level, Perspective
from prism.lang.plan import (
    Access,
    Advance,
    Arrive,
    Barrier,
    Commit,
    Expect,
    Op,
    Plan,
    ProxyFence,
    Wait,
    WaitGroup,
    WgmmaFence,
)
from prism.lang.races import statements
from prism.lang.tree import Function, Stmt, children

_BARRIERS = {
    "block": ("__syncthreads()", "block barrier"),
    "warp": ("__syncwarp()", "warp barrier"),
    "named": ("named barrier", "named barrier"),
    "cluster": ("cluster barrier", "cluster barrier"),
    "grid": ("grid barrier", "grid barrier"),
}
_GROUPS = {"cp_async": "cp.async", "bulk": "bulk store", "wgmma": "wgmma"}
EACH = "each thread that comes here"


def entries(function: Function, plan: Plan) -> tuple[Entry, ...]:
    """Return all that a plan puts before and after a function's statements, in the order of the lines, each with a key."""
    found: list[Entry] = []
    before, after = plan.before(), plan.after()
    for statement in statements(function.body):
        found += (entry(function, step, statement) for step in before.get(statement, ()))
        found += (entry(function, step, statement) for step in after.get(statement, ()))
    unique = dict.fromkeys(sorted(found, key=lambda one: (one.line, one.side == "after")))
    return tuple(_named(unique))


def _named(found: dict[Entry, None]) -> Iterator[Entry]:
    numbers: dict[str, int] = {}
    for one in found:
        letter = "B" if one.counted.endswith("barrier") else "W" if one.counted else "S"
        numbers[letter] = numbers.get(letter, 0) + 1
        yield Entry(
            f"{letter}{numbers[letter]}", one.line, one.column, one.title, one.joins, one.side, one.first, one.second,
            one.loop, one.why, one.counted,
        )  # fmt: skip


def entry(function: Function, step: Barrier | Op, at: Stmt) -> Entry:  # noqa: C901
    """Return one step of a plan as an entry; its key is given when all are there."""

    def made(title: str, why: str = "", joins: str = EACH, counted: str = "", loop: bool = False) -> Entry:
        pair = (getattr(step, "first", None), getattr(step, "second", None))
        first, second = (spot(function, access) if isinstance(access, Access) else None for access in pair)
        side = getattr(step, "side", "before")
        line = at.span.line if side == "before" else last_line(at)
        return Entry("", line, at.span.column, title, joins, side, first, second, loop, why, counted)

    match step:
        case Barrier(kind=kind, unit=unit, loop=loop):
            title, counted = _BARRIERS.get(kind, (f"{kind} barrier", f"{kind} barrier"))
            joins = "the whole grid" if unit.level == Level.GRID else f"each {unit_name(unit)}"
            return made(title, joins=joins, counted=counted, loop=loop)
        case Wait(barrier=barrier, lap=lap):
            when = "of this round" if lap == 0 else f"of {_many(barrier.cycle.copies, 'round')} ago, if there was one"
            return made(f"wait for `{barrier.name}`: the visit {when}", counted="mbarrier wait")
        case Arrive():
            return made(*_arrive(step))
        case Expect(barrier=barrier, bytes=size):
            return made(f"announce {'the' if size is None else size} bytes of the copy to `{barrier.name}`",
                        "the mbarrier completes when they have come in")  # fmt: skip
        case Advance(cycle=cycle):
            return made("next round" if cycle.leads is None else "next round of fills", f"{_rings(cycle.rings)}: the next of {cycle.copies} copies")
        case ProxyFence():
            return made("fence.proxy.async")
        case Commit(kind=kind):
            return made(f"close the group of {_GROUPS.get(kind, kind)}s issued so far", "it is waited for as one")
        case WaitGroup(kind=kind, pending=pending):
            number = "all groups" if pending == 0 else f"all but the newest {_many(pending, 'group')}"
            return made(f"wait for {number} of {_GROUPS.get(kind, kind)}s", counted="group wait")
        case WgmmaFence():
            return made("wgmma.fence", "the registers of the wgmmas that follow were written by plain code")
        case _:  # a step that this file has not heard of: its name is better than nothing
            return made(type(step).__name__)


def _arrive(step: Arrive) -> tuple[str, str, str]:
    visit = "this visit" if step.delay == 0 else f"the visit of {_many(step.delay, 'round')} ago"
    why = f"{visit} has ended" + (", as far as its copies have come in" if step.copies else "")
    joins = EACH if step.every == 1 else "each warp that comes here, by one of its threads"
    return f"arrive at `{step.barrier.name}`", why, joins


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _rings(rings: tuple[object, ...]) -> str:
    return ", ".join(f"`{getattr(ring, 'name', ring)}`" for ring in rings)


def exempts(function: Function, plan: Plan) -> tuple[Exempt, ...]:
    """Return the conflicts that needed nothing of their own, but for those that some entry is there for."""
    forced = {(b.first, b.second) for b in plan.barriers}
    return tuple(
        Exempt(spot(function, e.first), spot(function, e.second), e.reason)
        for e in plan.elided
        if (e.first, e.second) not in forced
    )


def spot(function: Function, access: Access) -> Spot:
    """Return an access as it is shown."""
    span = access.span
    end = span.end_column if span.end_line == span.line else span.column
    here = span.file == function.span.file
    return Spot(access.kind, access.root.name, access.text, access.by, span.line, span.column, end, here)


def unit_name(unit: Perspective) -> str:
    """Return a unit in the shortest words: `block`, `warp`, else as it is written."""
    return {"block[1]": "block", "thread[32]": "warp"}.get(str(unit), str(unit))


def last_line(statement: Stmt) -> int:
    """Return the last line of a statement, with all that stands inside it."""
    inner = (last_line(s) for body in children(statement) for s in body)
    return max([statement.span.end_line, *inner])
