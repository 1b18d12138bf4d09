"""Where a fault can be put into a legal program: each statement, with what the rules know there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from prism.lang import tree
from prism.lang.types.perspective import Bound, Perspective


@dataclass(frozen=True)
class Site:
    """A statement and its surroundings. `ways` are the statements around it, outermost first."""

    function: tree.Function
    statement: tree.Stmt
    bound: Bound
    names: Mapping[str, tree.Symbol]
    hidden: frozenset[tree.Symbol]
    ways: tuple[tree.Stmt, ...] = ()

    @property
    def code(self) -> Perspective:
        """The code's perspective."""
        return self.bound.code

    @property
    def line(self) -> int:
        """The statement's first line."""
        return self.statement.span.line

    def visible(self) -> list[tree.Symbol]:
        """Return the symbols that may be used here, but for rings, claims' names, and what is in flight."""
        claimed = {way.view for way in self.ways if isinstance(way, tree.Claim | tree.Async)}
        claimed |= {s for s in self.names.values() if isinstance(s.type, tree.Pointer) and s.type.ring}
        through = {s for s in self.names.values() if any(v in claimed for v in behind(s))}
        return [s for s in self.names.values() if s not in self.hidden and s not in through]


def behind(symbol: tree.Symbol) -> Iterator[tree.Symbol]:
    """Yield a symbol and those that it is a view of."""
    yield symbol
    while symbol.view is not None:
        symbol = symbol.view.source
        yield symbol


def sites(function: tree.Function) -> list[Site]:
    """Return the sites of a function, in program order."""
    found: list[Site] = []
    names = {p.name: p for p in function.parameters}
    empty = Site(function, function.body[0], function.bound, names, frozenset()) if function.body else None
    if empty is not None:
        walk(empty, function.body, found)
    return found


def walk(site: Site, body: tree.Body, found: list[Site]) -> None:
    """Add the sites of one statement list."""
    for statement in body:
        if isinstance(statement, tree.Declare) and statement.symbol.span.line != statement.span.line:
            continue  # a parameter of a function that is compiled in
        if statement.span.file != site.function.file:
            continue  # of a function of another file, which is compiled in
        here = replace(site, statement=statement)
        found.append(here)
        inner = replace(here, ways=(*site.ways, statement))
        match statement:
            case tree.Declare() | tree.SharedDeclare():
                site = replace(site, names={**site.names, statement.symbol.name: statement.symbol})
            case tree.If():
                walk(inner, statement.then, found)
                walk(inner, statement.otherwise, found)
            case tree.While():
                walk(inner, statement.body, found)
            case tree.For():
                names = {**site.names, statement.symbol.name: statement.symbol}
                walk(replace(inner, names=names), statement.body, found)
            case tree.Group():
                walk(replace(inner, bound=site.bound.narrow(statement.unit)), statement.body, found)
            case tree.Split():
                for arm in statement.arms:
                    unit = Perspective(statement.level, arm.size)
                    walk(replace(inner, bound=site.bound.narrow(unit)), arm.body, found)
            case tree.Batch():
                walk(inner, statement.body, found)
            case tree.Partition(view=tree.Symbol(view=tree.View(alias=True))):
                pass  # another function's text
            case tree.Partition() | tree.Claim() | tree.Async():
                view = statement.view
                assert view.view is not None
                source = view.view.source
                const = isinstance(source.type, tree.Pointer) and source.type.const
                hidden = site.hidden if const else site.hidden | {source}
                names = {**site.names, view.name: view}
                walk(replace(inner, names=names, hidden=hidden), statement.body, found)
            case _:
                pass


def uses(body: tree.Body, symbol: tree.Symbol) -> bool:
    """Whether a statement list uses a symbol, or partitions it."""

    def inside(e: tree.Expr) -> bool:
        own = isinstance(e, tree.Var | tree.Item | tree.Element) and e.symbol is symbol
        return own or any(inside(part) for part in tree.operands(e))

    for statement in body:
        if isinstance(statement, tree.Partition | tree.Claim | tree.Async):
            view = statement.view.view
            if view is not None and view.source is symbol:
                return True
        if any(inside(e) for e in tree.expressions(statement)):
            return True
        if any(uses(part, symbol) for part in tree.children(statement)):
            return True
    return False


def statements(body: tree.Body) -> Iterator[tree.Stmt]:
    """Yield all statements of a body."""
    for statement in body:
        yield statement
        for part in tree.children(statement):
            yield from statements(part)
