"""Sums beside CUB's, CuPy's and torch's. Lower is better: a time, and a ratio of times."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

DTYPES = ["int32", "float32"]
SIZES = [1 << 16, 1 << 20, 1 << 24, 1 << 28]
SHAPES = [f"{1 << k}x{1 << (26 - k)}" for k in range(2, 24, 4)]


def _whole(kind: str, size: int) -> dict[str, Any]:
    return raw.row(raw.read("reduce")["reduce"], dtype=kind, size=size)


def _along(shape: str, axis: int) -> dict[str, Any]:
    sizes = [int(n) for n in shape.split("x")]
    return raw.row(raw.read("reduce")["reduce"], dtype="float32", shape=sizes, axis=axis)


class Whole:
    """Microseconds of the sum of a whole array, on the device."""

    params = (DTYPES, SIZES, ["prism", "cub", "cupy", "torch"])
    param_names = ("dtype", "size", "impl")

    def track_us(self, kind: str, size: int, impl: str) -> float:
        return raw.number(_whole(kind, size), impl, 1e6)

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]


class Ratio:
    """Prism's time by CUB's: 1 is parity, less is faster."""

    params = (DTYPES, SIZES)
    param_names = ("dtype", "size")

    def track_vs_cub(self, kind: str, size: int) -> float:
        found = _whole(kind, size)
        return raw.number(found, "prism") / raw.number(found, "cub")

    track_vs_cub.unit = "x (prism/cub)"  # type: ignore[attr-defined]
    track_vs_cub.version = "1"  # type: ignore[attr-defined]


class Axis:
    """Microseconds of the sums along an axis of an array of float32, on the device."""

    params = (SHAPES, [0, 1], ["prism", "cupy", "torch"])
    param_names = ("shape", "axis", "impl")

    def track_us(self, shape: str, axis: int, impl: str) -> float:
        return raw.number(_along(shape, axis), impl, 1e6)

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]


class Host:
    """Microseconds that the host takes for one warm call."""

    def track_host_us(self) -> float:
        return raw.number(raw.read("reduce")["host"], "sum(out=)", 1e6)

    track_host_us.unit = "us"  # type: ignore[attr-defined]
    track_host_us.version = "1"  # type: ignore[attr-defined]
