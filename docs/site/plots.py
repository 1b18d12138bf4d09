"""Pictures of ratios, or of times, as SVG in the page's own colours: a row of dots for each row, and a line at 1."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

COLOURS = ("#2a6fdb", "#d9822b", "#2f9e6e", "#a64ca6", "#c23b3b", "#6b7280")
WIDTH, LEFT, ROW = 720, 190, 26


def ticks(least: float, most: float) -> list[float]:
    """Return round numbers to label on a logarithmic axis."""
    spread = most / least
    steps = (1, 2, 5) if spread > 20 else (1, 1.5, 2, 3, 5, 7) if spread > 4 else (1, 1.2, 1.5, 2, 3, 5, 7, 8, 9)
    found = [m * 10.0**e for e in range(-3, 5) for m in steps]
    return [t for t in found if least <= t * 1.0001 and t <= most * 1.0001]


def legend(labels: Sequence[str], left: float) -> tuple[list[tuple[float, int]], int]:
    """Return where each label of the legend stands, in lines that end inside the picture, and how far that goes down."""
    places, at, y = [], left, 0
    for label in labels:
        wide = 34 + 8 * len(label)
        if at + wide > WIDTH and at > left:
            at, y = left, y + 20
        places.append((at, y))
        at += wide
    return places, y


def svg(
    title: str,
    labels: Sequence[str],
    rows: Sequence[tuple[str, Sequence[tuple[str, float]]]],
    line: float = 1,
    what: str = "ratios",
) -> str:
    """Return the picture: x is logarithmic, with a line at 1 (of times, at `line`). Further right is more of `what`."""
    values = [v / line for _, row in rows for _, v in row]
    least, most = line * min([*values, 0.8]) / 1.05, line * max([*values, 1.25]) * 1.05
    left = max(LEFT, 24 + 7 * max((len(name) for name, _ in rows), default=0))
    places, down = legend(labels, left)
    height = 58 + down + ROW * len(rows)

    def x(value: float) -> float:
        return left + (WIDTH - left - 20) * math.log(value / least) / math.log(most / least)

    colour = dict(zip(labels, [COLOURS[k % len(COLOURS)] for k in range(len(labels))], strict=True))
    parts = [
        f'<svg class="ratios" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(title)}: {what}">'
    ]
    for tick in ticks(least, most):
        kind = "one" if tick == line else "tick"
        parts.append(
            f'<line class="{kind}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{30 + down}" y2="{height - 26}"/>'
        )
        parts.append(f'<text class="axis" x="{x(tick):.1f}" y="{height - 10}" text-anchor="middle">{tick:g}</text>')
    for label, (at, y) in zip(labels, places, strict=True):
        parts.append(f'<circle cx="{at + 5}" cy="{14 + y}" r="5" fill="{colour[label]}"/>')
        parts.append(f'<text x="{at + 15}" y="{18 + y}">{html.escape(label)}</text>')
    for k, (name, row) in enumerate(rows):
        y = 44 + down + ROW * k
        parts.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{html.escape(name)}</text>')
        for label, value in row:
            tip = f"<title>{html.escape(name)}, {html.escape(label)}: {value:g}</title>"
            parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="5" fill="{colour[label]}">{tip}</circle>')
    note = "<figcaption>A dot right of 1: Prism takes less time. The axis is logarithmic.</figcaption>"
    return "<figure>" + "".join([*parts, "</svg>"]) + note + "</figure>"
