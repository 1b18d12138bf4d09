"""The table of docs/measurements/attention.md, of what is recorded of attention's backward: as attention_table.py has it."""

from __future__ import annotations

from benchmarks.attention_backward import HELD_OUT, SHAPES
from publish import attention_table
from publish.attention_table import COLUMNS, PAGE, Recorded

NAME = "attention_backward.Time.track_us"
BEGIN, END = (
    "<!-- attention_backward: begin; asv_bench/publish/pictures.py writes it -->\n",
    "<!-- attention_backward: end -->",
)


def table(recorded: Recorded) -> str:
    """Return the table; operations are those of five products."""
    columns = {**COLUMNS, "again": "same bits"}
    return attention_table.table(recorded, "attention_backward", (SHAPES, HELD_OUT), columns, 2.5)


__all__ = ["BEGIN", "END", "NAME", "PAGE", "table"]
