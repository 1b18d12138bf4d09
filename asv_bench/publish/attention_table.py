"""The table of docs/measurements/attention.md, of what is recorded of attention: TFLOP/s, ratios to the fastest peer, errors."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.attention import HELD_OUT, PEERS, SHAPES, best, parse_shape

PAGE = Path(__file__).parents[2] / "docs" / "measurements" / "attention.md"
BEGIN, END = (
    "<!-- attention: begin; asv_bench/publish/pictures.py writes it -->\n",
    "<!-- attention: end -->",
)
NAME = "attention.Time.track_us"
Recorded = dict[str, list[Any]]
COLUMNS = {"cudnn": "cuDNN", "flash": "flash", "fa4": "FA4", "prism": "Prism"}
"""Whose TFLOP/s are told, by what they are called."""


def by_shape(recorded: Recorded, name: str) -> dict[str, dict[str, float]]:
    """Return a benchmark's figures: of each shape those that there are, by who made it."""
    if name not in recorded:
        return {}
    values, params = recorded[name][0], [[ast.literal_eval(value) for value in axis] for axis in recorded[name][1]]
    found: dict[str, dict[str, float]] = {}
    for (who, shape), value in zip(itertools.product(*params), values, strict=True):
        if value is not None:
            found.setdefault(shape, {})[who] = value
    return found


def line(
    text: str,
    times: dict[str, float],
    alone: dict[str, float],
    errors: dict[str, float],
    columns: Iterable[str],
    work: float,
) -> str:
    """Return a shape's row; `work`: by how much more operations there are than two products have."""
    shape = parse_shape(text)
    words = ["causal" if shape.causal else "full"]
    words += [f"{shape.share} heads a key's"] if shape.share > 1 else []
    words += ["float16"] if shape.half else []
    words += ["8 bits"] if shape.bytes else []
    speeds = {name: f"{work * shape.operations / time / 1e6:.0f}" for name, time in times.items()}
    ratios = [f"{1 / best(one):.2f}" if len(one) > 1 and "prism" in one else "" for one in (times, alone)]
    theirs = [
        errors[name] for name in PEERS if name in errors and not shape.bytes
    ]  # of bytes theirs are of 16-bit numbers
    near = f"{errors['prism'] / min(theirs):.2f}" if theirs and "prism" in errors else ""
    cells = [
        str(shape.dim),
        f"{shape.length:,}",
        ", ".join(words),
        *(speeds.get(name, "") for name in columns),
    ]
    return f"| {' | '.join([*cells, *ratios, near])} |"


def table(
    recorded: Recorded,
    of: str = "attention",
    shapes: tuple[list[str], list[str]] = (SHAPES, HELD_OUT),
    columns: dict[str, str] = COLUMNS,
    work: float = 1.0,
) -> str:
    """Return the table of what a script wrote; shapes that nothing was chosen by stand below the others."""
    times, alone, errors = (
        by_shape(recorded, f"{of}.{name}") for name in ("Time.track_us", "Alone.track_us", "Error.track_error")
    )
    head = [
        f"| elements | length | | {' | '.join(columns.values())} | to the best | after another's kernel | error to the best's |",
        "|---" * (6 + len(columns)) + "|",
    ]
    parts = []
    for some, about in zip(shapes, ("", "Shapes that nothing was chosen by:\n\n"), strict=True):
        there = [s for s in some if "prism" in times.get(s, {})]
        rows = [line(s, times[s], alone.get(s, {}), errors.get(s, {}), columns, work) for s in there]
        if rows:
            parts.append(about + "\n".join([*head, *rows]))
    return "\n\n".join(parts)


__all__ = ["BEGIN", "COLUMNS", "END", "NAME", "PAGE", "table"]
