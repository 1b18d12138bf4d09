"""Where each perspective is in force: the regions of a function's lines, and the perspectives of its names."""

from __future__ import annotations

from collections.abc import Iterator

from prism.explanation.model import Line, Name, Region
from prism.lang import tree
from prism.lang.diagnostics import Span, source_lines
from prism.lang.tree.inlined import last_line, own_bodies, own_statements, own_text
from prism.lang.types.perspective import Level, Perspective

_UNITS = {Level.THREAD: "thread", Level.BLOCK: "block", Level.GRID: "grid"}


def regions(function: tree.Function) -> tuple[Region, ...]:
    """Return the regions inside a function, outer before inner."""
    return tuple(dict.fromkeys(_regions_inside(own_text(function), source_lines(function.span.file))))


def _regions_inside(body: tree.Body, lines: list[str]) -> Iterator[Region]:
    for statement in body:
        match statement:
            case tree.Group(unit=unit):
                yield from _region(f"group({unit})", unit, statement, statement.body, lines, code=True)
            case tree.Split(level=level, arms=arms):
                for number, arm in enumerate(arms, 1):
                    units = _UNITS[level] + ("s" if arm.size > 1 else "")
                    range_ = f"{arm.first} to {arm.first + arm.size - 1}" if arm.size > 1 else str(arm.first)
                    which = arm.name or f"arm {number} of {len(arms)}"
                    title = f"{which}: {units} {range_}"
                    yield from _region(title, Perspective(level, arm.size), arm, arm.body, lines, code=True)
            case tree.Partition(view=tree.Symbol(view=tree.View(alias=True))):
                pass
            case tree.Partition(view=view) | tree.Claim(view=view) | tree.Async(view=view):
                kind = type(statement).__name__.lower()
                title = f"{kind}: {view.name}, of {view.name if view.view is None else view.view.source.name}"
                yield from _region(title, view.perspective, statement, statement.body, lines, code=False)
        for inner, _ in own_bodies(statement):
            yield from _regions_inside(inner, lines)


def _region(
    title: str, perspective: Perspective, head: object, body: tree.Body, lines: list[str], *, code: bool
) -> Iterator[Region]:
    own = [statement for statement in body if statement.inlined is None]
    if own:
        span = getattr(head, "span")  # noqa: B009 -- a statement's or an arm's
        first = min(span.end_line + 1, own[0].span.line)
        last = _with_comments(max(map(last_line, own)), span.column, lines)
        yield Region(title, perspective, first, last, span.column, code)


def _with_comments(last: int, column: int, lines: list[str]) -> int:
    """Return the last line of a body, with the comments that stand inside it after its last statement."""
    for number in range(last + 1, len(lines) + 1):
        text = lines[number - 1]
        if text.strip() and (not text.lstrip().startswith("#") or len(text) - len(text.lstrip()) <= column):
            break
        last = number if text.strip() else last
    return last


def lines(function: tree.Function, inside: tuple[Region, ...], furthest: int = 0) -> tuple[Line, ...]:
    """Return a function's lines of source, at least up to `furthest`, each with its perspective and its names."""
    source = source_lines(function.span.file)
    last = max(
        [furthest, function.span.end_line, *map(last_line, own_text(function)), *(region.last for region in inside)]
    )
    named = names(function, source)
    found = []
    for number in range(function.span.line, last + 1):
        text = source[number - 1] if number <= len(source) else ""
        covering = [r.perspective for r in inside if r.code and r.first <= number <= r.last]
        perspective = covering[-1] if covering else function.bound.code
        found.append(Line(number, text, perspective, tuple(named.get(number, ()))))
    return tuple(found)


def names(function: tree.Function, source: list[str]) -> dict[int, list[Name]]:
    """Return the names of each line whose perspective is known, from left to right."""
    found: dict[tuple[int, int], Name] = {}

    def note(symbol: tree.Symbol, at: Span) -> None:
        text = source[at.line - 1] if at.file == function.span.file and 0 < at.line <= len(source) else ""
        end = at.column + len(symbol.name)
        if text[at.column : end] == symbol.name and not text[end : end + 1].isidentifier():
            found[at.line, at.column] = Name(at.column, end, symbol.perspective)

    def visit(expression: tree.Expr) -> None:
        if isinstance(expression, tree.Var | tree.Item | tree.Element):
            note(expression.symbol, expression.span)
        for operand in tree.operands(expression):
            visit(operand)

    for symbol in (*function.parameters, *filter(None, map(_declared_symbol, own_statements(function)))):
        note(symbol, symbol.span)
    for statement in own_statements(function):
        for expression in tree.expressions(statement):
            visit(expression)
    lines_: dict[int, list[Name]] = {}
    for (line, _), name in sorted(found.items()):
        lines_.setdefault(line, []).append(name)
    return lines_


def _declared_symbol(statement: tree.Stmt) -> tree.Symbol | None:
    match statement:
        case tree.Declare(symbol=symbol) | tree.SharedDeclare(symbol=symbol) | tree.For(symbol=symbol):
            return symbol
        case tree.Partition(view=view) | tree.Claim(view=view) | tree.Async(view=view):
            return view
        case _:
            return None
