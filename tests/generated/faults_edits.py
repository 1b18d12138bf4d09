"""Faults that change or remove what a program has, where those of the other files mostly add a line to it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import prism.lang
from prism.lang import tree
from prism.lang.types import Array, Pointer, Scalar
from prism.lang.types.perspective import THREAD
from tests.generated.faults import Fault, Lines, edit, misfit, operator, swap
from tests.generated.faults_memory import after, units
from tests.generated.sites import Site, statements


def parts(statement: tree.Stmt) -> Iterator[tree.Expr]:
    """Yield all expressions that a statement itself evaluates, and their parts."""
    left = list(tree.expressions(statement))
    while left:
        e = left.pop()
        yield e
        left.extend(tree.operands(e))


def written_as(text: Lines, e: tree.Expr, name: str) -> bool:
    """Whether an expression stands in the source under this name."""
    line = text[e.span.line - 1][e.span.column :]
    return re.match(rf"{re.escape(name)}\b", line) is not None


def count(function: tree.Function, symbol: tree.Symbol) -> int:
    """How often a name is used in a function, as a part of an expression or as what a view is of."""
    found = 0
    for statement in statements(function.body):
        view = statement.view.view if isinstance(statement, tree.Partition | tree.Claim | tree.Async) else None
        if view is not None:
            found += view.source is symbol
            found += sum(within(index, symbol) for index in view.index) if view.offset is None else 0
        uses = (e for e in parts(statement) if isinstance(e, tree.Var | tree.Item | tree.Element))
        found += sum(e.symbol is symbol for e in uses)
        found += symbol in statement.uses if isinstance(statement, tree.Unsafe) else 0
    return found


def within(e: tree.Expr, symbol: tree.Symbol) -> int:
    """How often a symbol stands in an expression."""
    own = isinstance(e, tree.Var | tree.Item | tree.Element) and e.symbol is symbol
    return own + sum(within(part, symbol) for part in tree.operands(e))


@operator
def misspell(site: Site, text: Lines) -> Iterator[Fault]:
    """A name that is used becomes one that nothing defines."""
    for e in parts(site.statement):
        if isinstance(e, tree.Var) and isinstance(e.type, Scalar) and written_as(text, e, e.symbol.name):
            if text[e.span.line - 1][e.span.column : e.span.end_column] == e.symbol.name:
                yield from swap(text, e.span, "zz_unknown", "name")


@operator
def use_what_is_parted(site: Site, text: Lines) -> Iterator[Fault]:
    """R21: the part's name becomes that of the whole, inside its partition."""
    for e in parts(site.statement):
        if not isinstance(e, tree.Element) or e.symbol.view is None or not written_as(text, e, e.symbol.name):
            continue
        source = e.symbol.view.source
        if source in site.hidden and site.names.get(source.name) is source and e.span.line == e.span.end_line:
            line, at = text[e.span.line - 1], e.span.column
            new = line[:at] + source.name + line[at + len(e.symbol.name) :]
            yield Fault(e.span.line, e.span.line + 1, (new,), "hide", e.span.line)


@operator
def ungroup(site: Site, text: Lines) -> Iterator[Fault]:
    """R18: a store that is no longer in a group of one thread."""
    s = site.statement
    if not isinstance(s, tree.Group) or s.unit != THREAD or site.code == THREAD or len(s.body) != 1:
        return
    store, end = s.body[0], after(site, text)
    if isinstance(store, tree.Assign) and isinstance(store.target, tree.Element) and end == site.line + 2:
        if text[site.line - 1].lstrip().startswith("with group"):
            yield Fault(site.line, end, (" " * s.span.column + text[site.line].lstrip(),), "ptr-write", site.line)


@operator
def forget_declaration(site: Site, text: Lines) -> Iterator[Fault]:
    """A declaration removed, whose name is used once, and isn't one of the language's too."""
    s = site.statement
    if (
        not isinstance(s, tree.Declare)
        or not isinstance(s.symbol.type, Scalar | Array)
        or s.span.line != s.span.end_line
        or s.symbol.name in prism.lang.__all__
    ):
        return
    if text[site.line - 1].strip().startswith(f"{s.symbol.name}:") and count(site.function, s.symbol) == 1:
        uses = [
            other
            for other in statements(site.function.body)
            if any(within(e, s.symbol) for e in tree.expressions(other))
        ]
        if len(uses) == 1 and uses[0].span.line == uses[0].span.end_line and uses[0].span.line > site.line:
            same = [t for t in site.names.values() if t.name == s.symbol.name]
            # A template's `if` is not in the tree, but names are looked for in it.
            between = "\n".join(text[site.line : uses[0].span.line - 1])
            named = re.search(rf"\b{s.symbol.name}\b", between)
            if not same and not named and not isinstance(uses[0], tree.If | tree.While | tree.For):
                yield Fault(site.line, site.line + 1, (" " * s.span.column + "pass",), "name", uses[0].span.line)


@operator
def shared_at_a_thread(site: Site, text: Lines) -> Iterator[Fault]:
    """R25: a shared object declared for each thread."""
    if isinstance(site.statement, tree.SharedDeclare):
        yield from edit(text, site.line, r"\) @ block\[1\]$", ") @ thread[1]", "shared-alloc")


@operator
def part_of_units_not_there(site: Site, text: Lines) -> Iterator[Fault]:
    """R20: a partition for units that are not guaranteed."""
    s = site.statement
    if isinstance(s, tree.Partition) and site.bound.thread is not None and site.code != THREAD:
        yield from edit(
            text, site.line, r"(?<=, )(thread|warp)\[\w+\](?=[,)])", f"thread[{misfit(site.bound.thread)}]", "partition"
        )


@operator
def parts_that_coincide(site: Site, text: Lines) -> Iterator[Fault]:
    """Races: the offset of a partition that is written becomes the same for all."""
    s = site.statement
    view = s.view.view if isinstance(s, tree.Partition) else None
    if view is None or view.offset is None or view.races == "allow" or s.view.perspective != THREAD or units(site) < 2:
        return
    kind = s.view.type
    if isinstance(kind, Pointer) and not kind.const and always_written(s.body, s.view):
        yield from swap(text, view.offset[1].span, "0", "race")


def always_written(body: tree.Body, view: tree.Symbol) -> bool:
    """Whether every thread writes a view's first element whenever it comes to a statement list."""
    for statement in body:
        match statement:
            case tree.Assign(target=tree.Element(symbol=symbol, indices=(tree.Const(value=0),))) if symbol is view:
                return True
            case tree.Group(unit=unit) if unit == THREAD and always_written(statement.body, view):
                return True
    return False
