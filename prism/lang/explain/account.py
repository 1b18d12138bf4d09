"""From a checked and synchronised program to its account: each function's facts, gathered from the tree, the plan, the layout."""

from __future__ import annotations

from prism.lang import overlap, races
from prism.lang.budget import most_threads
from prism.lang.explain.counts import counts, duties
from prism.lang.explain.entries import entries, exempts
from prism.lang.explain.graph import graph
from prism.lang.explain.memory import pieces
from prism.lang.explain.model import Account, Chapter, Remark, Resources, Unproved
from prism.lang.explain.regions import lines, regions
from prism.lang.plan import Program
from prism.lang.skew import shown
from prism.lang.tree import Function

NOT_COMPILED = "not known: it was not compiled"


def account(program: Program, resources: Resources | str = NOT_COMPILED) -> Account:
    """Return what there is to say about a program, the entry first; `resources` is what compiling it for a machine said."""
    seen = shown(program)
    return Account(tuple(chapter(seen, function) for function in reversed(seen.functions)), resources)


def chapter(program: Program, function: Function) -> Chapter:
    """Return what there is to say about one function."""
    plan, layout = program.plans[function], program.layouts.get(function)
    inside, between, without = regions(function), entries(function, plan), exempts(function, plan)
    source = lines(function, inside, max((entry.line for entry in between), default=0))
    return Chapter(
        name=function.name,
        file=function.file,
        line=function.span.line,
        bound=str(function.bound),
        template=tuple((name, _shown(value)) for name, value in function.template.items()),
        lines=source,
        regions=inside,
        entries=between,
        exempts=without,
        unproved=_unproved(function, most_threads(program.entry)),
        remarks=tuple(Remark(note.span.line, note.text) for note in plan.notes),
        counts=counts(program, function),
        bytes=0 if layout is None else layout.bytes,
        pieces=pieces(program, function),
        graph=graph(function, source, between, without),
        duties=duties(function),
    )


def _unproved(function: Function, threads: int) -> tuple[Unproved, ...]:
    verdicts = (verdict for _, verdict in overlap.verdicts(function, races.facts(function, threads)))
    return tuple(
        Unproved(verdict.view.name, verdict.view.span.line, verdict.reason)
        for verdict in verdicts
        if verdict.status == "unknown"
    )


def _shown(value: object) -> str:
    """Return a template argument as one would write it: a function by its name."""
    return str(getattr(value, "__name__", value))
