"""Whole units: a barrier is executed by all the threads that it joins, wherever it was placed.

A barrier of thread[n] counts to n: where threads come to it whose unit has others that do not come, or that the block does not
have, all of them wait for ever. What comes to a place in whole units is said here, once; the walk asks it of each mark
(walk.py), and `check` of all barriers of a finished plan, those that other stages have placed or moved among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from prism.lang import tree
from prism.lang.diagnostics import CompileError, Fields, InternalError, Label
from prism.lang.errors.sync import ClusterBarrier
from prism.lang.facts.budget import most_threads
from prism.lang.keep.bases import Value
from prism.lang.tree.plan import Barrier, Program
from prism.lang.types.perspective import Level, Perspective

REST = 1 << 40
"""Where threads end that are all which a block has."""


def whole(unit: Perspective, code: Perspective, function: tree.Function) -> bool:
    """Whether the threads that come to a place in a function's code at `code` are whole units.

    Code of threads is run by whole units of its own size, and so by those of each divisor. Code of a block is run by as many
    threads as its block has: a multiple of what the function requires, and of nothing else.
    """
    # `thread[64]` is launched with 64, 128, 192 ... threads: whole warps and pairs of them, but not whole units of 128. In
    # the code of a unit all its threads come, or none: so whole units of each part that divides it.
    if unit.level == Level.THREAD and code.level > Level.THREAD:
        return (function.bound.thread or 1) % unit.size == 0
    return unit <= code


class _Place(Value):
    """Who comes to a statement: the units that `code` speaks for, of the block's threads `first .. last - 1`."""

    code: Perspective
    first: int = 0
    last: int = REST

    def among(self, first: int, last: int) -> _Place:
        """Return the place with some of its threads."""
        return replace(self, first=max(self.first, first), last=min(self.last, last))


def check(program: Program) -> None:
    """Raise InternalError where not whole units come to a barrier; CompileError where a unit has none in the hardware."""
    threads = most_threads(program.entry)
    for function, plan in program.plans.items():
        if not plan.barriers:
            continue
        places = dict(_places(function.body, _Place(function.bound.code), threads))
        copies: dict[object, list[_Place]] = {}
        for barrier in plan.barriers:
            if barrier.kind == "cluster" and barrier.unit.size != program.entry.bound.block:
                raise _no_cluster(program, function, barrier)
            key = barrier if barrier.met is None else barrier.met
            if barrier.before not in places:
                raise _wrong(barrier, "stands nowhere")
            copies.setdefault(key, []).append(places[barrier.before])
        for barrier in plan.barriers:
            _check_copies(function, barrier, copies[barrier if barrier.met is None else barrier.met])


def _places(body: tree.Body, place: _Place, threads: int) -> Iterator[tuple[tree.Stmt, _Place]]:
    """Yield each statement with who comes to it, in a block of at most so many threads."""
    for s in body:
        yield s, place
        for inner, part in zip(_places_inside(s, place, threads), tree.children(s), strict=True):
            yield from _places(part, inner, threads)


def _places_inside(s: tree.Stmt, place: _Place, threads: int) -> list[_Place]:
    """Return who comes to each of the statement lists inside a statement."""
    match s:
        case tree.Specialise(roles=roles):
            # The last role has all threads from its first on, however many a launch has.
            ends = [role.first + role.size for role in roles]
            return [place.among(r.first, REST if end == threads else end) for r, end in zip(roles, ends, strict=True)]
        # Every unit of the group comes, so the block's threads that come here are the same ones.
        case tree.Group(unit=unit):
            return [replace(place, code=unit)]
        case tree.Split(level=level, arms=arms):
            inner = [replace(place, code=Perspective(level, arm.size)) for arm in arms]
            # Threads of the block are numbered once: arms in the block's code are ranges of these, which may end inside a unit.
            if level < Level.BLOCK and place.code.level >= Level.BLOCK:  # elsewhere they are counted in each unit anew
                return [part.among(arm.first, arm.first + arm.size) for part, arm in zip(inner, arms, strict=True)]
            return inner
        case _:
            return [place] * len(tree.children(s))


def _check_copies(function: tree.Function, barrier: Barrier, copies: list[_Place]) -> None:
    """Check a barrier that has a copy in the text of each role that meets there."""
    unit, found = barrier.unit, list[tuple[int, int]]()
    fits = all(whole(unit, place.code, function) for place in copies)
    for first, last in sorted((place.first, place.last) for place in copies):
        # Copies in the texts of several roles are one barrier: what counts is which threads come to any of them.
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    # In each run of neighbours both ends are ends of units: 64 .. 191 has whole units of 64, and none of 128 at 64.
    if unit.level == Level.THREAD:
        fits &= all(first % unit.size == 0 and (last == REST or last % unit.size == 0) for first, last in found)
    else:
        fits &= found == [(0, REST)]
    if not fits:
        raise _wrong(barrier, "where not all its threads come")


def _wrong(barrier: Barrier, what: str) -> InternalError:
    span = barrier.before.span
    return InternalError(f"a barrier of {barrier.unit} {what} ({span.file}:{span.line})")


def _no_cluster(program: Program, function: tree.Function, barrier: Barrier) -> CompileError:
    first, second = barrier.first, barrier.second
    labels = (Label(first.span, f"the {first.kind}"),)
    facts: Fields = {"name": second.root.name, "first": first.kind, "second": second.kind, "function": function.name}
    of: Fields = {"unit": barrier.unit, "kernel": program.entry.name, "blocks": program.entry.bound.block or 1}
    return CompileError(ClusterBarrier(span=second.span, labels=labels, **facts, **of))
