"""The program as text: its source with the inferred barriers in place, what forces each, and what needed none.

One block a function, the entry first. A barrier's lines stand above the line that it precedes: what it is, who joins, and the
two accesses that force it. Then the conflicts that needed none and why, what is not proved of partitions, and the layout.
"""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import overlap, races
from prism.lang.diagnostics import source_lines
from prism.lang.perspective import Perspective
from prism.lang.plan import Access, Barrier, Layout, Plan, Program
from prism.lang.tree import Function

_NAMES = {"block": "__syncthreads()", "warp": "__syncwarp()", "named": "named barrier"}


def explain(program: Program) -> str:
    """Return the explanation of a whole program."""
    parts = [
        "\n".join(_function(function, program.plans[function], program.layouts.get(function)))
        for function in reversed(program.functions)
    ]
    return "\n\n".join(parts) + "\n"


def _function(function: Function, plan: Plan, layout: Layout | None) -> Iterator[str]:
    yield f"{function.name}  ({function.file}:{function.span.line}, {function.bound})"
    yield from _source(function, plan)
    yield ""
    yield _counted(plan)
    forced = {(b.first, b.second) for b in plan.barriers}
    elided = [e for e in plan.elided if (e.first, e.second) not in forced]
    if elided:
        yield "  no further barrier for:" if plan.barriers else "  no barrier for:"
        yield from (f"    {_pair(e.first, e.second, False)}: {e.reason}" for e in elided)
    unknown = [v for _, v in overlap.verdicts(function, races.facts(function)) if v.status == "unknown"]
    if unknown:
        yield "  not proved:"
        yield from (f"    partition `{v.view.name}` (line {v.view.span.line}): {v.reason}" for v in unknown)
    if layout is not None and layout.bytes:
        yield f"  shared memory: {layout.bytes} bytes"
        yield from (f"    {offset:>7}  {symbol.name}" for symbol, offset in layout.offsets.items())


def _source(function: Function, plan: Plan) -> Iterator[str]:
    lines = source_lines(function.span.file)
    above: dict[int, list[Barrier]] = {}
    for barrier in plan.barriers:
        above.setdefault(barrier.before.span.line, []).append(barrier)
    last = max([function.span.end_line, *(s.span.end_line for s in races.statements(function.body))])
    width = len(str(last))
    for number in range(function.span.line, last + 1):
        text = lines[number - 1] if number <= len(lines) else ""
        indent = " " * (len(text) - len(text.lstrip()))
        for barrier in above.get(number, ()):
            yield f"{'':>{width}} + {indent}{_NAMES[barrier.kind]}  joins each {_joined(barrier.unit)}"
            yield f"{'':>{width}} |   {indent}{_pair(barrier.first, barrier.second, barrier.loop)}"
        yield f"{number:>{width}} | {text}".rstrip()


def _joined(unit: Perspective) -> str:
    return "block" if str(unit) == "block[1]" else "warp" if str(unit) == "thread[32]" else str(unit)


def _pair(first: Access, second: Access, loop: bool) -> str:
    when = " in the next trip" if loop else ""
    return f"{_access(first)}, then {_access(second)}{when}"


def _access(access: Access) -> str:
    return f"{access.kind} of {access.root.name} as `{access.text}` (line {access.span.line})"


def _counted(plan: Plan) -> str:
    number = len(plan.barriers)
    return "  no barriers" if not number else f"  {number} barrier{'s' if number > 1 else ''}"


__all__ = ["explain"]
