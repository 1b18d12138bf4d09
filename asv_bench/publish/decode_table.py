"""The table of docs/measurements/attention.md of what is recorded of decoding: microseconds, GB/s, ratios to cuDNN's time."""

from __future__ import annotations

from benchmarks.attention_decode import HELD_OUT, PEERS, SHAPES
from publish.attention_table import PAGE, Recorded, by_shape

BEGIN, END = (
    "<!-- decoding: begin; asv_bench/publish/pictures.py writes it -->\n",
    "<!-- decoding: end -->",
)
NAME = "attention_decode.Time.track_us"


def line(text: str, times: dict[str, float], alone: dict[str, float], speeds: dict[str, float]) -> str:
    """Return a shape's row; the ratio is that to cuDNN's time, and to flash's where torch has no other of these sequences."""
    sequences, heads, keys = text.split("x")
    keys = f"up to {int(keys[:-1]):,}" if keys.endswith("r") else f"{int(keys):,}"
    cells = [sequences, heads, keys, *(f"{times[name]:.1f}" if name in times else "" for name in (*PEERS, "prism"))]
    ratios = []
    for one in (times, alone):
        peer = next((one[name] for name in PEERS if name in one), None)
        ratios.append(f"{peer / one['prism']:.2f}" if peer and "prism" in one else "")
    speed = f"{speeds['prism']:.0f}" if "prism" in speeds else ""
    return f"| {' | '.join([*cells, speed, *ratios])} |"


def table(recorded: Recorded) -> str:
    """Return the table; shapes that nothing was chosen by stand below the others."""
    times, alone, speeds = (
        by_shape(recorded, f"attention_decode.{name}")
        for name in ("Time.track_us", "Alone.track_us", "Speed.track_gbs")
    )
    head = [
        "| sequences | heads of `k` | keys | cuDNN | flash | Prism | GB/s | cuDNN / Prism | after another's kernel |",
        "|---" * 9 + "|",
    ]
    parts = []
    for shapes, about in (
        (SHAPES, ""),
        (HELD_OUT, "Shapes that nothing was chosen by; of ragged ones the ratio is to flash:\n\n"),
    ):
        rows = [line(s, times[s], alone.get(s, {}), speeds.get(s, {})) for s in shapes if "prism" in times.get(s, {})]
        if rows:
            parts.append(about + "\n".join([*head, *rows]))
    return "\n\n".join(parts)


__all__ = ["BEGIN", "END", "NAME", "PAGE", "table"]
