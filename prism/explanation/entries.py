"""What a plan puts between the lines, as entries: one function for each kind of step."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import replace

from prism.explanation.model import Entry, Exempt, Spot
from prism.lang.diagnostics import Span, source_lines
from prism.lang.emit.merge import ArriveExpect, Step, Steps, merge_steps
from prism.lang.keep.memo import memoize
from prism.lang.tree import Body, For, Function, Piece, Split, Stmt, Turns
from prism.lang.tree import plan as plans
from prism.lang.tree.inlined import Part, last_line, own_bodies, owner
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import BLOCK, Level, Perspective

_BARRIERS = {
    "block": ("__syncthreads()", "block barrier"),
    "warp": ("__syncwarp()", "warp barrier"),
    "named": ("named barrier", "named barrier"),
    "cluster": ("cluster barrier", "cluster barrier"),
    "grid": ("grid barrier", "grid barrier"),
}
_GROUPS = {"cp_async": "cp.async", "bulk": "bulk store", "wgmma": "wgmma"}
EACH = "each thread that comes here"


def entries(part: Part, plan: plans.Plan) -> tuple[Entry, ...]:
    """Return all that a plan puts before and after a part's statements, in the order of the lines, each with a key.

    What pieces of a loop have in common is told once; what only some of those have in which a line stands, with their numbers.
    """
    steps = merge_steps(plan, part.host.body)
    found: dict[Entry, set[Piece | None]] = {}
    lines: dict[int, set[Piece | None]] = {}
    for place in part.places:
        for one, piece in _entries_inside(part, place.body, steps, place.path):
            found.setdefault(one, set()).add(piece)
        for line, piece in _lines_inside(place.body):
            lines.setdefault(line, set()).add(piece)
    told = (replace(one, joins=one.joins + _where(found[one], lines[one.line])) for one in found)
    unique = dict.fromkeys(sorted(told, key=lambda one: (one.line, one.side == "after")))
    return tuple(_named(unique))


def _entries_inside(
    part: Part, body: Body, steps: tuple[Steps, Steps], path: plans.Path, piece: Piece | None = None
) -> Iterator[tuple[Entry, Piece | None]]:
    """Yield what stands in a statement list, in the order of execution, each with the piece of a loop around it.

    `path` says which threads come there.
    """
    before, after = steps
    for statement in body:
        yield from ((entry(part, step, statement, path), piece) for step in before.get(statement, ()))
        if isinstance(statement, Turns):
            yield turn(part.host, statement, "before"), piece
        for inner, there in own_bodies(statement, path):
            yield from _entries_inside(part, inner, steps, there, _piece_of(statement) or piece)
        if isinstance(statement, Turns):
            yield turn(part.host, statement, "after"), piece
        yield from ((entry(part, step, statement, path), piece) for step in after.get(statement, ()))


def _piece_of(statement: Stmt) -> Piece | None:
    return statement.part if isinstance(statement, For) else None


def _lines_inside(body: Body, piece: Piece | None = None) -> Iterator[tuple[int, Piece | None]]:
    """Yield the lines of a statement list, with the piece of a loop that each is in."""
    for statement in body:
        yield from ((line, piece) for line in (statement.span.line, last_line(statement)))
        for inner, _ in own_bodies(statement):
            yield from _lines_inside(inner, _piece_of(statement) or piece)


def _where(own: set[Piece | None], all_: set[Piece | None]) -> str:
    """Return in which of a loop's pieces a step is, if it is not in all that have its line."""
    pieces = [piece for piece in own if piece is not None]
    if own == all_ or not pieces:
        return ""
    numbers = sorted({number for piece in pieces for number in range(piece.first, piece.last + 1)})
    *some, last = map(str, numbers)
    which = f"parts {', '.join(some)} and {last}" if some else f"part {last}"
    return f", in {which} of the loop's {pieces[0].of}"


def _named(found: dict[Entry, None]) -> Iterator[Entry]:
    numbers: dict[str, int] = {}
    for one in found:
        letter = "B" if one.counted.endswith("barrier") else "W" if one.counted else "S"
        numbers[letter] = numbers.get(letter, 0) + 1
        yield replace(one, key=f"{letter}{numbers[letter]}")


def entry(part: Part, step: Step, at: Stmt, path: plans.Path = ()) -> Entry:  # noqa: C901
    """Return one step of a plan as an entry; its key is given when all are there. `path` says which threads come there."""
    each = who(part.host, getattr(step, "path", ()) or path)

    def made(
        title: str, why: str = "", joins: str = each, kind: str = "", loop: bool = False, rounds: int = 0
    ) -> Entry:
        pair = (getattr(step, "first", None), getattr(step, "second", None))
        first, second = (spot(part, access) if isinstance(access, plans.Access) else None for access in pair)
        side = getattr(step, "side", "before")
        begin, column = place(at.span)
        line = begin if side == "before" else last_line(at)
        return Entry("", line, column, title, joins, side, first, second, loop, why, kind, rounds)

    match step:
        case plans.Barrier(kind=kind, unit=unit, loop=loop):
            title, kind = _BARRIERS.get(kind, (f"{kind} barrier", f"{kind} barrier"))
            joins = "the whole grid" if unit.level == Level.GRID else f"each {unit_name(unit)}"
            return made(title, joins=joins, kind=kind, loop=loop)
        case plans.Wait(barrier=barrier, lap=lap):
            when = "of this round" if lap == 0 else f"of {_many(barrier.cycle.copies, 'round')} ago, if there was one"
            rounds = lap * barrier.cycle.copies
            return made(f"wait for `{barrier.name}`: the visit {when}", kind="mbarrier wait", rounds=rounds)
        case plans.Arrive():
            return made(*_arrive(step, each), kind="arrival")
        case ArriveExpect(barrier=barrier, bytes=size):
            return made(f"arrive at `{barrier.name}`, and announce {size} bytes of copies",
                        "the mbarrier completes when they have come in", kind="announcing arrival")  # fmt: skip
        case plans.Expect(barrier=barrier, bytes=size):
            return made(f"announce {'the' if size is None else size} bytes of the copy to `{barrier.name}`",
                        "the mbarrier completes when they have come in", kind="announcement")  # fmt: skip
        case plans.Advance(cycle=cycle):
            return made(
                "next round" if cycle.leads is None else "next round of fills",
                f"{_rings(cycle.rings)}: the next of {cycle.copies} copies",
            )
        case plans.ProxyFence():
            return made("fence.proxy.async", kind="proxy fence")
        case plans.Commit(kind=kind):
            return made(f"close the group of {_GROUPS.get(kind, kind)}s issued so far", "it is waited for as one",
                        kind="group commit")  # fmt: skip
        case plans.WaitGroup(kind=kind, pending=pending):
            number = "all groups" if pending == 0 else f"all but the newest {_many(pending, 'group')}"
            return made(f"wait for {number} of {_GROUPS.get(kind, kind)}s", kind="group wait")
        case plans.WgmmaFence():
            return made("wgmma.fence", "the registers of the wgmmas that follow were written by plain code",
                        kind="wgmma fence")  # fmt: skip
        case _:  # a step that this file has not heard of: its name is better than nothing
            return made(type(step).__name__)


def turn(function: Function, turns: Turns, side: str) -> Entry:
    """Return what a unit does before a passage, or after it."""
    joins, unit = who(function, ((Level.THREAD, turns.first, turns.size),)), unit_name(turns.unit)
    if side == "before":
        at, title = turns.span, f"wait for its {unit}'s turn"
        why = f"the {unit} before it has left the passage; the first one comes again after the last"
        return Entry("", *place(at), title, joins, side, why=why, kind="turn wait")
    return Entry("", last_line(turns), place(turns.span)[1], f"let the next {unit} in", joins, side)


def place(at: Span) -> tuple[int, int]:
    """Return the line and the column where a statement begins: of an item of a `with`, those of the `with`."""
    return _items(tuple(source_lines(at.file))).get((at.line, at.column), (at.line, at.column))


@functools.lru_cache(maxsize=8)
def _items(lines: tuple[str, ...]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return where the items of each `with` of a file stand, with where it begins itself."""
    try:
        parsed = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):  # a text that isn't Python by itself
        return {}
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for node in ast.walk(parsed):
        if isinstance(node, ast.With):
            for item in node.items:
                at = item.context_expr
                found[at.lineno, _character(lines, at.lineno, at.col_offset)] = node.lineno, node.col_offset
    return found


def _character(lines: tuple[str, ...], line: int, byte: int) -> int:
    """Return a column in characters of one in bytes."""
    return len(lines[line - 1].encode()[:byte].decode(errors="ignore"))


def who(function: Function, path: plans.Path) -> str:
    """Return which threads come to the end of a path, which starts at the block: those of a role by its name."""
    first = size = within = (
        0  # threads `first .. first + size - 1`, or (`bodies_with_paths`) some of each group inside them
    )
    name = ""
    for part in path:
        if isinstance(part, Perspective):
            within = part.size if size and part.level == Level.THREAD and part.size < (within or size) else within
        elif part[0] == Level.THREAD and within:
            arm = f"{_threads(part[1], part[2])} of each {Perspective(Level.THREAD, within)}"
            return f"{arm} of {name or _threads(first, size)}"
        elif part[0] == Level.THREAD:
            name = name or role_names(function).get((part[1], part[2]), "")
            first, size = first + part[1], part[2]
    if not size:
        return EACH
    threads = _threads(first, size)
    number = threads if size == 1 else "each thread" if name else f"each of {threads}"
    if not name:
        return number
    return f"{number} of {name}" if size == 1 else f"{number} of {name} ({threads})"


def _threads(first: int, size: int) -> str:
    return f"thread {first}" if size == 1 else f"threads {first} to {first + size - 1}"


@memoize
def role_names(function: Function) -> dict[tuple[int, int], str]:
    """Return the names of roles by their first thread and their size."""
    splits = (s for s in statements(function.body) if isinstance(s, Split) and s.level == Level.THREAD)
    return {(arm.first, arm.size): arm.name for s in splits if s.code == BLOCK for arm in s.arms if arm.name}


def _arrive(step: plans.Arrive, each: str) -> tuple[str, str, str]:
    visit = "this visit" if step.delay == 0 else f"the visit of {_many(step.delay, 'round')} ago"
    why = f"{visit} has ended" + (", as far as its copies have come in" if step.copies else "")
    joins = each
    if step.every > 1:
        whose = "that comes here" if each == EACH else each.removeprefix("each thread ").removeprefix("each ")
        joins = f"one thread of each warp {whose}"
    return f"arrive at `{step.barrier.name}`", why, joins


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _rings(rings: tuple[object, ...]) -> str:
    return ", ".join(f"`{getattr(ring, 'name', ring)}`" for ring in rings)


def exempts(part: Part, plan: plans.Plan) -> tuple[Exempt, ...]:
    """Return the conflicts that needed nothing of their own, those that begin in a part, but for those of some entry."""
    forced = {(b.first, b.second) for b in plan.barriers}
    found = (
        Exempt(spot(part, e.first), spot(part, e.second), e.reason + _whose(part, e.where), e.vague)
        for e in plan.elided
        if (e.first, e.second) not in forced and part.has(e.first.span)
    )
    return tuple(dict.fromkeys(found))


def _whose(part: Part, line: Span | None) -> str:
    """Return whose line it is that words end with, if it is not the part's."""
    name = "" if line is None or part.has(line) else owner(part.host, line)
    return f" of `{name}`" if name else ""


def spot(part: Part, access: plans.Access) -> Spot:
    """Return an access as it is shown."""
    span = access.span
    end = span.end_column if span.end_line == span.line else span.column
    here = part.has(span)
    where = "" if here else owner(part.host, span)
    return Spot(access.kind, access.root.name, access.text, access.by, span.line, span.column, end, here, where)


def unit_name(unit: Perspective) -> str:
    """Return a unit in the shortest words: `block`, `warp`, else as it is written."""
    return {"block[1]": "block", "thread[32]": "warp"}.get(str(unit), str(unit))
