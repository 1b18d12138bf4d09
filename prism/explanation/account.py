"""From a checked and synchronised program to its account: each function's facts, gathered from the tree, the plan, the layout."""

from __future__ import annotations

from prism.explanation.counts import counts, duties
from prism.explanation.entries import entries, exempts
from prism.explanation.graph import graph
from prism.explanation.model import Account, Chapter, Remark, Resources, Unproved
from prism.explanation.regions import lines, regions
from prism.lang.diagnostics import place_name
from prism.lang.facts.budget import most_threads
from prism.lang.keep.records import spell
from prism.lang.lower.pieces import pieces
from prism.lang.lower.skew import unskew
from prism.lang.safety import NOT_PROVED, partitions, unordered_verdicts
from prism.lang.tree.inlined import Part, parts
from prism.lang.tree.plan import Plan, Program

NOT_COMPILED = "not known: it was not compiled"


def account(program: Program, resources: Resources | str = NOT_COMPILED) -> Account:
    """Return what there is to say about a program, the entry first; `resources` is what compiling it for a machine said."""
    seen = unskew(program)
    every = (part for function in reversed(seen.functions) for part in parts(function))
    return Account(tuple(chapter(seen, part) for part in every), resources)


def chapter(program: Program, part: Part) -> Chapter:
    """Return what there is to say about one function; of one that is compiled into another, what is not said there."""
    function, host = part.function, part.host
    plan, layout = program.plans[host], program.layouts.get(host)
    inside, between, without = regions(function), entries(part, plan), exempts(part, plan)
    source = lines(function, inside, max((entry.line for entry in between), default=0))
    return Chapter(
        name=function.name,
        file=place_name(function.file),
        line=function.span.line,
        bound=str(function.bound),
        template=tuple((name, spell(value)) for name, value in function.template.items()),
        lines=source,
        regions=inside,
        entries=between,
        exempts=tuple(one for one in without if not one.unproved),
        unproved=_list_unproved(part, plan, most_threads(program.entry)),
        remarks=tuple(Remark(note.span.line, note.text) for note in plan.notes if part.has(note.span)),
        counts=counts(program, host) if part.whole else (),
        bytes=0 if layout is None or not part.whole else layout.bytes,
        pieces=pieces(program, host) if part.whole else (),
        graph=graph(part, source, between, without),
        duties=duties(host) if part.whole else (),
        sized=tuple(map(str, layout.sized.values())) if layout is not None and part.whole else (),
    )


def _list_unproved(part: Part, plan: Plan, threads: int) -> tuple[Unproved, ...]:
    found = (
        Unproved(verdict.kind, verdict.what, verdict.line, verdict.reason)
        for span, verdict in (*partitions(part.host, threads), *unordered_verdicts(part.host, plan))
        if verdict.status == NOT_PROVED and part.has(span)
    )
    return tuple(dict.fromkeys(found))
