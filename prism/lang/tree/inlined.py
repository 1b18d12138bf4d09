"""Functions that are compiled into others (`tree.Inlined`): whose lines are whose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from prism.lang.diagnostics import Error, Label, Span
from prism.lang.keep.bases import Frozen
from prism.lang.keep.memo import memoize
from prism.lang.tree import Body, Function, Group, Inlined, Partition, Split, Stmt, children
from prism.lang.tree.plan import Path


class Place(Frozen):
    """A statement list, and which threads come to it."""

    body: Body
    path: Path


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
        return any(among(span, self.function.span, place.body) for place in self.places)


@memoize
def parts(host: Function) -> tuple[Part, ...]:
    """Return a function, and those that are compiled into it, in the order of their first calls."""
    found: dict[tuple[object, ...], tuple[Inlined, list[Place]]] = {}
    for inlined, place in _compiled_in(host.body, ()):
        found.setdefault((inlined.span, *inlined.template.items()), (inlined, []))[1].append(place)
    others = (Part(_stand_alone(host, one, places[0].body), host, tuple(places)) for one, places in found.values())
    return (Part(host, host, (Place(host.body, ()),)), *others)


def among(span: Span, head: Span, body: Body) -> bool:
    """Whether a piece of source is among the lines of a function with this head and this body."""
    return span.file == head.file and head.line <= span.line <= max(map(last_line, body), default=head.end_line)


def owner(host: Function, span: Span) -> str:
    """Return the name of the function among whose lines a piece of source is, of those compiled into another; or nothing."""
    return next((part.function.name for part in parts(host) if part.has(span)), "")


def _stand_alone(host: Function, one: Inlined, body: Body) -> Function:
    """Return a function that is compiled in as if it stood alone."""
    return replace(
        host, name=one.name, kind="device", bound=one.bound, parameters=one.parameters, template=one.template, body=body,
        file=one.span.file, span=one.span,
    )  # fmt: skip


def _compiled_in(body: Body, path: Path) -> Iterator[tuple[Inlined, Place]]:
    for statement in body:
        if isinstance(statement, Partition) and statement.inlined is not None:
            yield statement.inlined, Place(statement.body, path)
        for inner, there in bodies_with_paths(statement, path):
            yield from _compiled_in(inner, there)


def add_calls(error: Error, functions: Iterable[Function]) -> Error:
    """Return an error that is found after checking with the calls of the function in it, where that is compiled into others."""
    calls = [
        Label(inlined.call, f"`{inlined.name}` is called here")
        for host in functions
        for inlined, place in _compiled_in(host.body, ())
        if among(error.span, inlined.span, place.body)
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


def own_bodies(statement: Stmt) -> tuple[Body, ...]:
    """Return the statement lists inside a statement that are of the same function's text."""
    compiled_in = isinstance(statement, Partition) and statement.inlined is not None
    return () if compiled_in else children(statement)


def own(body: Body) -> Iterator[Stmt]:
    """Yield the statements of a function's own text, in program order."""
    for statement in body:
        yield statement
        for inner in own_bodies(statement):
            yield from own(inner)


def last_line(statement: Stmt) -> int:
    """Return the last line of a statement, with all that stands inside it."""
    inner = (last_line(s) for body in own_bodies(statement) for s in body)
    return max([statement.span.end_line, *inner])
