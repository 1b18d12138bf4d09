"""Sums of segments, scans and reductions by key, of 2^26 float32, beside CUB's or a device copy. Lower is better."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

LENGTHS = [51, 250, 1000, 4417]
PEERS = {
    "segmented_reduce": "cub segmented_reduce", "scan_by_key": "cub scan_by_key", "reduce_by_key": "cub reduce_by_key",
}  # fmt: skip


def _row(length: int) -> dict[str, Any]:
    return raw.row(raw.read("segments")["segments"], dtype="float32", length=length)


class Ratio:
    """Prism's time by CUB's, of segments of random lengths about an average: 1 is parity, less is faster."""

    params = (list(PEERS), LENGTHS)
    param_names = ("function", "length")

    @raw.tracked("x (prism/cub)")
    def track_vs_cub(self, function: str, length: int) -> float:
        found = _row(length)
        return raw.number(found, function) / raw.number(found, PEERS[function])


class Latency:
    """Microseconds of one call, on the device; CUB has no scan of segments by offsets."""

    params = (["segmented_reduce", "segmented_scan", "scan_by_key", "reduce_by_key", *PEERS.values(), "copy"], LENGTHS)
    param_names = ("function", "length")

    @raw.tracked("us")
    def track_us(self, function: str, length: int) -> float:
        return raw.number(_row(length), function, 1e6)
