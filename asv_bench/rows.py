"""What the scripts of the tables share: a line on the screen for each call and size, and all of them as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.tables import CALLS, PEERS, WAITING

ALONE = ("sort",)
"""Scripts that time calls alone where they are asked to."""
OURS = ("prism", "count", "split")
"""What a script calls its first time, which is Prism's without a wait."""


class Rows:
    """Rows of times of one script, of what `benchmarks/tables.py` names and of what was asked for besides."""

    def __init__(self, script: str, parser: argparse.ArgumentParser) -> None:
        """Let the parser take `--json`, and `--alone`, which `selection.measure` understands."""
        parser.add_argument("--json", type=Path, help="write what was found here")
        if script in ALONE:
            parser.add_argument("--alone", action="store_true", help="time each call behind another library's kernel")
        self.script, self.found = script, list[dict[str, Any]]()

    def add(self, call: str, log2: int, times: Mapping[str, float], floor: float | None = None) -> None:
        """Print microseconds by their names, the least that is possible, and the ratio to each peer; keep them."""
        ours = next(name for name in OURS if name in times)
        texts = "  ".join(f"{name} {value:9.1f}" for name, value in times.items())
        share = "" if floor is None else f"  floor {floor:8.1f}  share {floor / times[ours]:.2f}"
        waits = times.get("whole", times[ours])
        ratios = "".join(
            f"  x {name} {times[name] / (waits if name in WAITING else times[ours]):.2f}"
            for name in PEERS
            if name in times
        )
        other = "" if call in CALLS[self.script] else "  (not in the table)"
        print(f"{call:40} 2^{log2}: {texts}{share}{ratios}{other}", flush=True)
        if not other:
            row = {"prism": times[ours], **{name: times[name] for name in ("whole", *PEERS) if name in times}}
            self.found.append({"call": call, "log2": log2, **row, **({} if floor is None else {"floor": floor})})

    def write(self, path: Path | None) -> None:
        """Write the rows, if they are asked for."""
        if path is not None:
            path.write_text(json.dumps({self.script: self.found}, indent=1) + "\n", encoding="utf-8")
