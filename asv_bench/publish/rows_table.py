"""The tables of docs/measurements/rows.md, of softmax, norms and their gradients: TB/s, shares of a copy, ratios to torch's."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from benchmarks.normalise import CALLS, DTYPES, HELD_OUT, WIDTHS

PAGE = Path(__file__).parents[2] / "docs" / "measurements" / "rows.md"
NAME = "normalise.Speed.track_speed"
BEGIN, END = "<!-- rows: begin; asv_bench/publish/pictures.py writes it -->\n", "<!-- rows: end -->"
Recorded = dict[str, list[Any]]


def by_params(recorded: Recorded, name: str) -> dict[tuple[str, ...], float]:
    """Return what is recorded by the values of its parameters, as text."""
    if name not in recorded:
        return {}
    values, params, _ = recorded[name]
    combined = itertools.product(*([one.strip("'") for one in some] for some in params))
    return {key: value for key, value in zip(combined, values, strict=True) if value is not None}


def cell(of: dict[tuple[str, ...], float], call: str, dtype: str, width: int) -> str:
    """Return a call's TB/s, and in brackets its share of a copy's, and times torch's, eager and compiled."""
    there = {key[0]: value for key, value in of.items() if key[1:] == (call, dtype, str(width))}
    if "prism" not in there:
        return ""
    ours = there["prism"]
    beside = "; ".join(f"{ours / there[name]:.2f}" for name in ("copy", "torch", "compiled") if name in there)
    return f"{ours:.2f} ({beside})"


def table(recorded: Recorded) -> str:
    """Return the tables, of each dtype; widths that nothing was chosen by stand below the others."""
    of = by_params(recorded, NAME)
    parts = []
    for dtype, widths in itertools.product(DTYPES, (WIDTHS, HELD_OUT)):
        there = [n for n in widths if any(cell(of, call, dtype, n) for call in CALLS)]
        rows = [f"| `{call}` | " + " | ".join(cell(of, call, dtype, n) for n in there) + " |" for call in CALLS]
        if there:
            about = ", of widths that nothing was chosen by" if widths is HELD_OUT else ""
            head = [f"| | {' | '.join(f'{n:,}' for n in there)} |", "|---" * (1 + len(there)) + "|"]
            parts.append("\n".join([f"{dtype}{about}:", "", *head, *(row for row in rows if "(" in row)]))
    return "\n\n".join(parts)


__all__ = ["BEGIN", "END", "NAME", "PAGE", "Recorded", "by_params", "table"]
