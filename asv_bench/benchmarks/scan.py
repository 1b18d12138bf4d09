"""The scan beside CUB's: what asv tracks. Lower is better: a time, and a ratio of times."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

DTYPES = ["int32", "int64", "float32", "float64"]
SIZES = [1 << 16, 1 << 20, 1 << 24, 1 << 28]


@functools.cache
def _peer() -> Any:
    try:
        import measure

        return measure.peer()
    except (ImportError, OSError) as missing:
        raise NotImplementedError(f"needs a GPU, CuPy and nvcc: {missing}") from None


@functools.cache
def _seconds(kind: str, size: int) -> dict[str, float]:
    import measure

    return measure.measure(_peer(), kind, size, rounds=9)


class Latency:
    """Microseconds of one call, on the device."""

    params = (DTYPES, SIZES, ["prism", "cub", "copy"])
    param_names = ("dtype", "size", "impl")
    timeout = 600

    def setup(self, kind: str, size: int, impl: str) -> None:
        _peer()

    def track_us(self, kind: str, size: int, impl: str) -> float:
        return _seconds(kind, size)[impl] * 1e6

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]


class Ratio:
    """Prism's time by CUB's: 1 is parity, less is faster."""

    params = (DTYPES, SIZES)
    param_names = ("dtype", "size")
    timeout = 600

    def setup(self, kind: str, size: int) -> None:
        _peer()

    def track_vs_cub(self, kind: str, size: int) -> float:
        seconds = _seconds(kind, size)
        return seconds["prism"] / seconds["cub"]

    track_vs_cub.unit = "x (prism/cub)"  # type: ignore[attr-defined]
    track_vs_cub.version = "1"  # type: ignore[attr-defined]


class Bandwidth:
    """Bytes read and written a second; shown, not watched: here more is better."""

    params = (DTYPES, SIZES)
    param_names = ("dtype", "size")
    timeout = 600

    def setup(self, kind: str, size: int) -> None:
        _peer()

    def track_gbs(self, kind: str, size: int) -> float:
        import numpy

        return 2 * size * numpy.dtype(kind).itemsize / _seconds(kind, size)["prism"] / 1e9

    track_gbs.unit = "GB/s"  # type: ignore[attr-defined]
    track_gbs.version = "1"  # type: ignore[attr-defined]


class Host:
    """Microseconds that the host takes for one warm call."""

    timeout = 120

    def setup(self) -> None:
        _peer()

    def track_host_us(self) -> float:
        import measure

        return measure.host_time() * 1e6

    track_host_us.unit = "us"  # type: ignore[attr-defined]
    track_host_us.version = "1"  # type: ignore[attr-defined]
