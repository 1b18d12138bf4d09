"""Functions that are compiled into others (`tree.Inlined`): whose lines are whose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from prism.lang.diagnostics import Error, Label, Span
from prism.lang.keep.bases import Frozen
from prism.lang.keep.memo import memoize
from prism.lang.tree import Body, Function, Group, Inlined, Split, Stmt, children
from prism.lang.tree.plan import Path


class Place(Frozen):
    """Statements of a list, those of one function's text, and which threads come to it."""

    body: Body
    path: Path
    last: int = field(init=False)
    """The last line of the statements; 0 where there is none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "last", max(map(last_line, self.body), default=0))

    def has(self, span: Span, head: Span) -> bool:
        """Whether a piece of source is among the lines of the function, which has this head."""
        return span.file == head.file and head.line <= span.line <= (self.last or head.end_line)


class Part(Frozen):
    """Lines of source that are explained together: `function` is a whole one, or says so of one that is compiled into `host`.

    `places`: where its body stands, once for each call.
    """

    function: Function
    host: Function
    places: tuple[Place, ...]

    @property
    def whole(self) -> bool:
        """Whether it is a function of the emitted code."""
        return self.function is self.host

    def has(self, span: Span) -> bool:
        """Whether a piece of source is among its lines."""
        return any(place.has(span, self.function.span) for place in self.places)


@memoize
def parts(host: Function) -> tuple[Part, ...]:
    """Return a function, and those that are compiled into it, in the order of their first calls."""
    found: dict[tuple[object, ...], dict[Inlined, list[Place]]] = {}
    for inlined, place in _compiled_in(host.body, (), None):
        found.setdefault((inlined.span, *inlined.template.items()), {}).setdefault(inlined, []).append(place)
    others = (
        Part(
            _stand_alone(host, *next(iter(calls.items()))), host, tuple(p for places in calls.values() for p in places)
        )
        for calls in found.values()
    )
    return (Part(host, host, (Place(own_text(host), ()),)), *others)


def owner(host: Function, span: Span) -> str:
    """Return the name of the innermost function among whose lines a piece of source is, of those compiled in; or nothing."""
    inside = [part.function for part in parts(host) if part.has(span)]
    return max(inside, key=lambda one: one.span.line).name if inside else ""


def chain(inlined: Inlined | None, outer: Inlined | None = None) -> Iterator[Inlined]:
    """Yield a function that is compiled in, and those that it is compiled into, up to one that is left out; innermost first."""
    while inlined is not None and inlined is not outer:
        yield inlined
        inlined = inlined.within


def _stand_alone(host: Function, one: Inlined, places: Iterable[Place]) -> Function:
    """Return a function that is compiled in as if it stood alone."""
    return replace(
        host, name=one.name, kind="device", bound=one.bound, parameters=one.parameters, template=one.template, inlined=one,
        body=tuple(s for place in places for s in place.body), file=one.span.file, span=one.span,
    )  # fmt: skip


def _text_of(body: Body, inlined: Inlined | None) -> Body:
    """Return the statements of a list that are of one function's text; None: of that in whose text the list stands."""
    return tuple(s for s in body if s.inlined is inlined)


def _compiled_in(body: Body, path: Path, outer: Inlined | None) -> Iterator[tuple[Inlined, Place]]:
    """Yield the functions that are compiled in, and where; `outer`: the one in whose text the list stands."""
    for inlined in dict.fromkeys(one for s in body for one in reversed((*chain(s.inlined, outer),))):
        yield inlined, Place(_text_of(body, inlined), path)
    for statement in body:
        for inner, there in bodies_with_paths(statement, path):
            yield from _compiled_in(inner, there, statement.inlined or outer)


def add_calls(error: Error, functions: Iterable[Function]) -> Error:
    """Return an error that is found after checking with the calls of the function in it, where that is compiled into others."""
    calls = [
        Label(inlined.call, f"`{inlined.name}` is called here")
        for host in functions
        for inlined, place in _compiled_in(host.body, (), None)
        if place.has(error.span, inlined.span)
    ]
    return error if error.trace or not calls else replace(error, trace=tuple(dict.fromkeys(calls)))


def bodies_with_paths(statement: Stmt, path: Path) -> Iterator[tuple[Body, Path]]:
    """Yield the statement lists inside a statement, with which threads come there."""
    if isinstance(statement, Split):
        for arm in statement.arms:
            yield arm.body, (*path, (statement.level, arm.first, arm.size))
    else:
        for inner in children(statement):
            yield inner, (*path, statement.unit) if isinstance(statement, Group) else path


def own_bodies(statement: Stmt, path: Path = ()) -> tuple[tuple[Body, Path], ...]:
    """Return the statements of the lists inside a statement that are of the same function's text, with who comes there."""
    return tuple((_text_of(body, None), there) for body, there in bodies_with_paths(statement, path))


def own_statements(function: Function) -> Iterator[Stmt]:
    """Yield the statements of a function's own text, in program order."""
    return _own(own_text(function))


def own_text(function: Function) -> Body:
    """Return the statements at the top of a function's own text."""
    return _text_of(function.body, function.inlined)


def _own(body: Body) -> Iterator[Stmt]:
    for statement in body:
        yield statement
        for inner, _ in own_bodies(statement):
            yield from _own(inner)


def calls_inside(function: Function) -> Iterator[tuple[Inlined, Body]]:
    """Yield the calls in a function's own text that are compiled in, each with the statements that stand for it."""
    lists = [function.body, *(body for statement in own_statements(function) for body in children(statement))]
    for number, body in enumerate(lists):
        own_one = None if number else function.inlined
        calls: dict[Inlined, list[Stmt]] = {}
        for statement in body:
            if statement.inlined is not own_one:
                *_, outermost = chain(statement.inlined, own_one)
                calls.setdefault(outermost, []).append(statement)
        yield from ((inlined, tuple(found)) for inlined, found in calls.items())


def last_line(statement: Stmt) -> int:
    """Return the last line of a statement, with all that stands inside it."""
    inner = (last_line(s) for body, _ in own_bodies(statement) for s in body)
    return max([statement.span.end_line, *inner])
