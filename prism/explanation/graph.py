"""The data-control-flow graph of a function: access scopes by object, in the order of the program, and which may follow which.

A node is an access scope: all accesses of an object through one name, as far as no barrier stands between them. An edge says
that its target may follow its source, and conflicts with it: a barrier orders them, or the plan says why none need.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from prism.explanation.entries import spot
from prism.explanation.model import Crossing, Edge, Entry, Exempt, Graph, Line, Node, Span, Spot
from prism.lang.barriers import flow
from prism.lang.tree import Body, Call, Element, For, Function, Inlined, Pointer, Symbol, Var, While
from prism.lang.tree.inlined import Part, calls_inside, last_line, own_statements
from prism.lang.tree.plan import Access
from prism.lang.tree.walk import statements

Place = tuple[int, int]
"""A line, and 0 for what stands before it, 1 for what is on it, 2 for what stands after it."""


def graph(part: Part, lines: tuple[Line, ...], entries: tuple[Entry, ...], exempts: tuple[Exempt, ...]) -> Graph:
    """Return the graph of a part, of which the lines, the entries and the pairs that need none are given."""
    names = _names(part.function)
    code = {line.number: line.perspective for line in lines}
    walls = sorted(entry.line for entry in entries if entry.counted)
    paired = {one for one in _pair(entries, exempts) if one.here}
    covered = {(one.line, one.start) for one in paired}
    own = (one for one in _direct(part) if one.line in code)  # not what a call passes
    spots = sorted({*paired, *(one for one in own if (one.line, one.start) not in covered)}, key=_order)
    scopes: dict[tuple[object, ...], Node] = {}
    for one in spots:
        key = _scope(names, walls, one)
        node = scopes.get(key) or Node(one.object, one.text, (), code.get(one.line, one.by), one.line, 0)
        scopes[key] = replace(node, kinds=tuple(dict.fromkeys((*node.kinds, one.kind))))
    shown = [entry for entry in entries if entry.counted]
    places = {*((node.line, 1) for node in scopes.values()), *(_place(entry) for entry in shown)}
    rows = {place: row for row, place in enumerate(sorted(places))}
    order = sorted(scopes, key=lambda key: (scopes[key].line, scopes[key].object))
    nodes = tuple(replace(scopes[key], row=rows[scopes[key].line, 1]) for key in order)
    crossings = tuple(Crossing(entry, rows[_place(entry)]) for entry in shown)
    edges = _edges(entries, exempts, {one: order.index(_scope(names, walls, one)) for one in paired})
    return Graph(_columns(nodes, edges), nodes, edges, crossings, tuple(_loops(part.function, rows)))


def _order(one: Spot) -> tuple[int, int, str, str, str]:
    return (one.line, one.start, one.object, one.kind, one.text)


def _place(entry: Entry) -> Place:
    return (entry.line, 0 if entry.side == "before" else 2)


def _scope(names: dict[tuple[int, int], Symbol], walls: list[int], one: Spot) -> tuple[object, ...]:
    """Return what tells the node of an access: its object, its name or line, and how many barriers stand before it."""
    return (one.object, names.get((one.line, one.start), one.line), sum(line <= one.line for line in walls))


def _names(function: Function) -> dict[tuple[int, int], Symbol]:
    """Return the view that is named where an access stands."""
    found: dict[tuple[int, int], Symbol] = {}
    for statement in own_statements(function):
        for use in flow.uses(statement):
            if isinstance(use.expression, Element) and use.expression.symbol.view is not None:
                found[use.expression.span.line, use.expression.span.column] = use.expression.symbol
    return found


def _direct(part: Part) -> Iterable[Spot]:
    """Yield all accesses of a part, those that conflict with nothing too, by the names that are written there."""
    code = part.function.bound.code
    for statement in own_statements(part.function):
        for use in flow.uses(statement):
            expression = use.expression
            if isinstance(expression, Element):
                root, _ = flow.resolve(expression.symbol, ())
                yield spot(part, Access(root, use.kind, expression.span, flow.spell(expression), code))
            elif isinstance(expression, Call):
                yield from _spots_of_call(part, expression)
    for inlined, body in calls_inside(part.function):
        yield from _compiled_in(part, body, inlined)


def _compiled_in(part: Part, body: Body, inlined: Inlined) -> Iterable[Spot]:
    """Yield what a function that is compiled in does to memory, as done by its call."""
    for statement in statements(body):
        for use in flow.uses(statement):
            if isinstance(use.expression, Element):
                root, _ = flow.resolve(use.expression.symbol, ())
                yield spot(part, Access(root, use.kind, inlined.call, f"{inlined.name}(...)", inlined.bound.code))


def _spots_of_call(part: Part, call: Call) -> Iterable[Spot]:
    """Yield what a call does to the memory that it is given."""
    for parameter, argument in zip(call.function.parameters, call.arguments, strict=False):
        if isinstance(parameter.type, Pointer) and isinstance(argument, Var | Element):
            root, _ = flow.resolve(argument.symbol, ())
            for kind in sorted(_effects(call.function, parameter)):
                text = f"{call.function.name}({parameter.name}=...)"
                yield spot(part, Access(root, kind, call.span, text, call.function.bound.code))


def _effects(function: Function, parameter: Symbol) -> frozenset[str]:
    """Return the kinds of access that a function makes through a parameter by its name."""
    found: set[str] = set()
    for statement in statements(function.body):
        for use in flow.uses(statement):
            expression = use.expression
            if isinstance(expression, Call):
                for inner, argument in zip(expression.function.parameters, expression.arguments, strict=False):
                    if isinstance(argument, Var | Element) and flow.resolve(argument.symbol, ())[0] is parameter:
                        found |= _effects(expression.function, inner)
            elif isinstance(expression, Element) and flow.resolve(expression.symbol, ())[0] is parameter:
                found.add(use.kind)
    return frozenset(found)


def _pair(entries: tuple[Entry, ...], exempts: tuple[Exempt, ...]) -> Iterable[Spot]:
    for entry in entries:
        yield from (one for one in (entry.first, entry.second) if one is not None)
    for exempt in exempts:
        yield from (exempt.first, exempt.second)


def _edges(entries: tuple[Entry, ...], exempts: tuple[Exempt, ...], index: dict[Spot, int]) -> tuple[Edge, ...]:
    found: dict[tuple[int, int], Edge] = {}
    for entry in entries:
        if entry.first in index and entry.second in index and entry.counted:
            ends = index[entry.first], index[entry.second]
            found.setdefault(ends, Edge(*ends, entry.loop or ends[1] <= ends[0], entry.key, entry.reason))
    for exempt in exempts:
        if exempt.first in index and exempt.second in index:
            ends = index[exempt.first], index[exempt.second]
            found.setdefault(ends, Edge(*ends, ends[1] <= ends[0], "", exempt.reason))
    return tuple(found[ends] for ends in sorted(found))


def _columns(nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> tuple[str, ...]:
    """Return the objects, those with conflicts first, in the order of the program."""
    busy = {nodes[end].object for edge in edges for end in (edge.source, edge.target)}
    objects = dict.fromkeys(node.object for node in nodes)
    return (*(o for o in objects if o in busy), *(o for o in objects if o not in busy))


def _loops(function: Function, rows: dict[Place, int]) -> Iterable[Span]:
    """Yield the loops that more than one row stands in."""
    for statement in own_statements(function):
        if isinstance(statement, While | For):
            first, last = statement.span.line, last_line(statement)
            inside = [row for (line, _), row in rows.items() if first < line <= last]
            if len(inside) > 1:
                yield Span(statement.span.line, min(inside), max(inside))
