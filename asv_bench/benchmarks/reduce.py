"""Sums beside CUB's, CuPy's and torch's. Lower is better: a time, and a ratio of times."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

DTYPES = ["int32", "float32"]
LOGS = [16, 20, 24, 28]
ROWS = list(range(2, 24, 4))


def _whole(kind: str, log2: int) -> dict[str, Any]:
    return raw.row(raw.read("reduce")["reduce"], dtype=kind, size=1 << log2)


def _along(log2: int, axis: int) -> dict[str, Any]:
    return raw.row(raw.read("reduce")["reduce"], dtype="float32", shape=[1 << log2, 1 << (26 - log2)], axis=axis)


class Whole:
    """Microseconds of the sum of a whole array, on the device."""

    params = (["prism", "cub", "cupy", "torch"], DTYPES, LOGS)
    param_names = ("impl", "dtype", "log2 size")

    @raw.tracked("us")
    def track_us(self, impl: str, kind: str, log2: int) -> float:
        return raw.number(_whole(kind, log2), impl, 1e6)


class Ratio:
    """Prism's time by CUB's: 1 is parity, less is faster."""

    params = (DTYPES, LOGS)
    param_names = ("dtype", "log2 size")

    @raw.tracked("x (prism/cub)")
    def track_vs_cub(self, kind: str, log2: int) -> float:
        found = _whole(kind, log2)
        return raw.number(found, "prism") / raw.number(found, "cub")


class Axis:
    """Microseconds of the sums along an axis of 2^26 float32, on the device."""

    params = (["prism", "cupy", "torch"], [0, 1], ROWS)
    param_names = ("impl", "axis", "log2 rows")

    @raw.tracked("us")
    def track_us(self, impl: str, axis: int, log2: int) -> float:
        return raw.number(_along(log2, axis), impl, 1e6)


class Host:
    """Microseconds that the host takes for one warm call."""

    @raw.tracked("us", "2")  # before: the mean of one batch of 2000
    def track_host_us(self) -> float:
        return raw.number(raw.read("reduce")["host"], "sum(out=)", 1e6)
