"""The table of docs/measurements/layers.md of what is recorded of activations, losses, rotary positions and quantisation."""

from __future__ import annotations

from pathlib import Path

from benchmarks.layers import CALLS, HELD_OUT
from publish.rows_table import Recorded, by_params

PAGE = Path(__file__).parents[2] / "docs" / "measurements" / "layers.md"
NAME = "layers.Speed.track_speed"
BEGIN, END = "<!-- layers: begin; asv_bench/publish/pictures.py writes it -->\n", "<!-- layers: end -->"


def line(call: str, there: dict[str, float]) -> str:
    """Return a call's row: TB/s of each, and ratios of Prism's to them."""
    speeds = [f"{there[name]:.2f}" if name in there else "" for name in ("prism", "copy", "torch", "compiled")]
    ratios = [f"{there['prism'] / there[name]:.2f}" if name in there else "" for name in ("copy", "torch", "compiled")]
    return f"| {' | '.join([call, *speeds, *ratios])} |"


def table(recorded: Recorded) -> str:
    """Return the table; calls that nothing was chosen by stand below the others."""
    of = by_params(recorded, NAME)
    head = ["| | Prism | copy | torch | compiled | to a copy | to torch | to compiled |", "|---" * 8 + "|"]
    parts = []
    for calls, about in ((CALLS, ""), (HELD_OUT, "Lengths that nothing was chosen by:\n\n")):
        found = {call: {key[0]: value for key, value in of.items() if key[1] == call} for call in calls}
        rows = [line(call, there) for call, there in found.items() if "prism" in there]
        if rows:
            parts.append(about + "\n".join([*head, *rows]))
    return "\n\n".join(parts)


__all__ = ["BEGIN", "END", "NAME", "PAGE", "table"]
