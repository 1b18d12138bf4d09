"""Functions of lazy arrays of float32 beside the same functions of arrays. Lower is better."""

from __future__ import annotations

from benchmarks import raw

SIZES = [20, 24, 28]
PAIRS = {
    "sum map": "sum", "sum flip": "sum", "max map": "max", "argmax map": "argmax", "scan map": "scan", "evaluate map": "copy",
}  # fmt: skip


class Ratio:
    """The time of a function of a lazy array by its time of an array: 1 is parity, less is faster."""

    params = (list(PAIRS), SIZES)
    param_names = ("function", "log2(size)")

    @raw.tracked("x (lazy/array)")
    def track_vs_array(self, function: str, log: int) -> float:
        found = raw.row(raw.read("lazy")["lazy"], log=log)
        return raw.number(found, function) / raw.number(found, PAIRS[function])
