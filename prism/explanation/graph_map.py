"""The data-control-flow graph, as SVG: a column for each object, the program from top to bottom, barriers as lines across.

Arrows inside a column run at the boxes' right, those that go back up at their left, each in a lane of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prism.explanation.ink import shade
from prism.explanation.markup import Markup, tag
from prism.explanation.model import Edge, Entry, Graph, Node
from prism.lang.facts.touches import ATOMIC, NEAR, REDUCTION
from prism.lang.keep.bases import Value

_BOX, _TALL, _ROW, _WALL, _TOP = 152, 34, 50, 34, 44
"""Width and height of a box, height of a row of boxes and of a barrier's row, where the first one begins."""
_LANE, _MARGIN, _LOOP, _LABEL = 13, 14, 16, 60


class _Plan(Value):
    """Where everything stands: columns by object, the top of each row, the lane of each arrow inside a column."""

    columns: dict[str, float]
    tops: list[float]
    lanes: dict[Edge, int]
    left: float
    width: float
    height: float


def graph(found: Graph, prefix: str) -> Markup:
    """Return the picture of a graph; links lead to the page's lines and entries, whose ids begin with `prefix`."""
    loops = found.loops
    depth = [sum(o.first <= s.first and s.last <= o.last and o.line < s.line for o in loops) for s in loops]
    plan = _plan(found, _LABEL + _LOOP * (max(depth, default=-1) + 1))
    parts: list[Markup] = [tag("title", "accesses by object, and which must be ordered"), _arrows(prefix)]
    for name, x in plan.columns.items():
        middle = x + _BOX / 2
        parts.append(tag("line", x1=middle, x2=middle, y1=_TOP - 14, y2=plan.height - 6, cls="lane"))
        parts.append(tag("text", _short(name, 25), tag("title", name), x=middle, y=18, cls="object-name middle"))
    parts += _loops(found, plan.tops, depth)
    walls = _walls(found, plan)
    parts += (tag("line", x1=plan.left, x2=plan.width - 6, y1=y, y2=y, cls="wall") for _, y in walls)
    parts += (_edge(found, edge, plan, prefix) for edge in sorted(found.edges, key=lambda edge: bool(edge.entry)))
    parts += (_node(node, plan.columns[node.object], plan.tops[node.row], prefix) for node in found.nodes)
    parts += (_chip(_label(entry), plan.left + 4, y, f"#{prefix}-{entry.key}") for entry, y in walls)
    size = {"width": plan.width, "height": plan.height}
    return tag("svg", parts, viewBox=f"0 0 {plan.width} {plan.height}", cls="graph", role="img", **size)


# -- places ---------------------------------------------------------------------------------------------------------------


def _plan(found: Graph, left: float) -> _Plan:
    lanes: dict[Edge, int] = {}
    columns: dict[str, float] = {}
    x = left
    for name in found.objects:
        inside = [e for e in found.edges if _object(found, e) == name and e.source != e.target]
        sides = [_assign(found, [e for e in inside if _down(found, e) == down]) for down in (False, True)]
        lanes |= sides[0] | sides[1]
        outer, inner = (_MARGIN + _LANE * len({*side.values()}) for side in sides)
        columns[name] = x + outer
        x += outer + _BOX + inner
    tops, height = _rows(found)
    return _Plan(columns, tops, lanes, left, x, height)


def _object(found: Graph, edge: Edge) -> str | None:
    """Return the object whose column an edge stays in."""
    source, target = found.nodes[edge.source].object, found.nodes[edge.target].object
    return source if source == target else None


def _down(found: Graph, edge: Edge) -> bool:
    return found.nodes[edge.target].row > found.nodes[edge.source].row


def _assign(found: Graph, edges: list[Edge]) -> dict[Edge, int]:
    """Give each arrow of one side of a column the nearest lane that is free along it, short ones first."""
    taken: list[list[tuple[int, int]]] = []
    lanes: dict[Edge, int] = {}
    ends = {e: tuple(sorted((found.nodes[e.source].row, found.nodes[e.target].row))) for e in edges}
    for edge in sorted(edges, key=lambda e: (ends[e][1] - ends[e][0], ends[e])):
        first, last = ends[edge]
        lane = next((n for n, t in enumerate(taken) if all(last <= a or b <= first for a, b in t)), len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((first, last))
        lanes[edge] = lane
    return lanes


def _walls(found: Graph, plan: _Plan) -> list[tuple[Entry, float]]:
    """Return the entries that are lines across, and where; those of one row below each other."""
    met: dict[int, int] = {}
    places = []
    for crossing in found.crossings:
        before = met.get(crossing.row, 0)
        met[crossing.row] = before + 1
        places.append((crossing.entry, plan.tops[crossing.row] + _WALL * (before + 0.5) - 4))
    return places


def _label(entry: Entry) -> str:
    return f"{entry.key} {_short(entry.title.partition(':')[0].replace('`', ''), 36)}"


def _rows(found: Graph) -> tuple[list[float], float]:
    """Return where each row begins, and where the last one ends."""
    walls = Counter(crossing.row for crossing in found.crossings)
    number = max([*(node.row for node in found.nodes), *walls], default=-1) + 1
    tops, y = list[float](), float(_TOP)
    for row in range(number):
        tops.append(y)
        y += _WALL * walls[row] if row in walls else _ROW
    return tops, y


# -- parts ----------------------------------------------------------------------------------------------------------------


def _loops(found: Graph, tops: list[float], depth: list[int]) -> Iterator[Markup]:
    walls = Counter(crossing.row for crossing in found.crossings)
    for loop, level in zip(found.loops, depth, strict=True):
        x, y = _LABEL + _LOOP * level - 6, tops[loop.first] + 2
        end = tops[loop.last] + (_WALL * walls[loop.last] if loop.last in walls else _ROW) - 12
        yield tag(
            "path", tag("title", f"the loop on line {loop.line}"), d=f"M{x + 7} {y}H{x}V{end}H{x + 7}", cls="loop"
        )
        if level == 0:
            yield tag("text", "loop", x=x - 6, y=y + 12, cls="loop-name")
            yield tag("text", f"line {loop.line}", x=x - 6, y=y + 25, cls="loop-name")


def _node(node: Node, x: float, y: float, prefix: str) -> Markup:
    writes = "writes" if {"write", ATOMIC, NEAR, REDUCTION} & set(node.kinds) else None
    kinds = " and ".join(node.kinds)
    title = tag("title", f"{kinds} of {node.object} as {node.text}, by code at {node.by}")
    box = tag("rect", x=x, y=y, width=_BOX, height=_TALL, rx=5, cls=writes)
    label = tag("text", f"{kinds} · line {node.line}", x=x + 9, y=y + 14, cls="kind")
    named = tag("text", _short(node.text, 21), x=x + 9, y=y + 27, cls="code")
    return tag("a", tag("g", title, box, label, named, cls=f"node {shade(node.by)}"), href=f"#{prefix}-L{node.line}")


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _edge(found: Graph, edge: Edge, plan: _Plan, prefix: str) -> Markup:
    path, x, y = _path(found, edge, plan)
    kind = "forced" if edge.entry else "free"
    line = tag("path", d=path, marker_end=f"url(#{prefix}-{kind})", cls="back" if edge.loop else None)
    title = tag("title", f"{edge.entry}: {edge.reason}" if edge.entry else edge.reason)
    chip = (_chip(edge.entry, x, y, f"#{prefix}-{edge.entry}", middle=True),) if edge.entry else ()
    return tag("g", title, line, *chip, cls=f"edge {kind}")


def _path(found: Graph, edge: Edge, plan: _Plan) -> tuple[str, float, float]:
    """Return an arrow's path, and where its label stands."""
    source, target = found.nodes[edge.source], found.nodes[edge.target]
    x0, x1 = plan.columns[source.object], plan.columns[target.object]
    y0, y1 = (plan.tops[node.row] + _TALL / 2 for node in (source, target))
    if x0 != x1:
        bend = 40 if x0 < x1 else -40
        a, b = (x0 + _BOX, x1) if x0 < x1 else (x0, x1 + _BOX)
        return f"M{a} {y0}C{a + bend} {y0} {b - bend} {y1} {b} {y1}", (a + b) / 2, (y0 + y1) / 2
    if source is target:
        a = x0 + _BOX
        return f"M{a - 22} {y0 + _TALL / 2}v5a4 4 0 0 0 4 4h8a4 4 0 0 0 4 -4v-5", a, y0 + _TALL / 2 + 6
    down = y1 > y0
    a, sign = (x0 + _BOX, 1) if down else (x0, -1)
    out, turn = a + sign * (_MARGIN + _LANE * plan.lanes[edge] - 2), 6 * sign
    y0, y1, step = (y0 + 6, y1 - 6, 6) if down else (y0 - 6, y1 + 6, -6)
    path = f"M{a} {y0}H{out - turn}q{turn} 0 {turn} {step}V{y1 - step}q0 {step} {-turn} {step}H{a}"
    return path, out, y1 - 2.5 * step  # near its end, clear of the lines across


def _chip(label: str, x: float, y: float, target: str, *, middle: bool = False) -> Markup:
    width = 10 + 6.7 * len(label)
    x -= width / 2 if middle else 0
    box = tag("rect", x=f"{x:.1f}", y=y - 9, width=f"{width:.1f}", height=18, rx=9)
    return tag("a", tag("g", box, tag("text", label, x=f"{x + 5:.1f}", y=y + 4), cls="chip"), href=target)


def _arrows(prefix: str) -> Markup:
    shape = tag("path", d="M0 0L8 4L0 8z")
    size = {"viewBox": "0 0 8 8", "refX": 8, "refY": 4, "markerWidth": 7, "markerHeight": 7}
    return tag("defs", [
        tag("marker", shape, id=f"{prefix}-{kind}", cls=kind, orient="auto", markerUnits="userSpaceOnUse", **size)
        for kind in ("forced", "free")
    ])  # fmt: skip
