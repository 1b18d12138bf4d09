"""Reductions beside CUB's and CuPy's: what asv tracks. Lower is better: a time, and a ratio of times."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1]
sys.path.insert(0, str(FOLDER))

DTYPES = ["int32", "float32"]
SIZES = [1 << 16, 1 << 20, 1 << 24, 1 << 28]
SHAPES = [f"{1 << k}x{1 << (26 - k)}" for k in (2, 10, 14, 22)]


@functools.cache
def _harness() -> Any:
    """The harness beside this folder, which has this file's name."""
    try:
        import measure  # noqa: F401  (needs CuPy)
    except (ImportError, OSError) as missing:
        raise NotImplementedError(f"needs a GPU, CuPy and nvcc: {missing}") from None
    description = importlib.util.spec_from_file_location("reduce_harness", FOLDER / "reduce.py")
    assert description is not None and description.loader is not None
    module = importlib.util.module_from_spec(description)
    description.loader.exec_module(module)
    return module


@functools.cache
def _whole(kind: str, size: int) -> dict[str, float]:
    import measure

    return _harness().whole(measure.peer(), kind, size, rounds=9)[0]


@functools.cache
def _along(shape: str, axis: int) -> dict[str, float]:
    rows, columns = map(int, shape.split("x"))
    return _harness().along((rows, columns), axis, rounds=9)[0]


class Whole:
    """Microseconds of the sum of a whole array, on the device."""

    params = (DTYPES, SIZES, ["prism", "cub", "cupy"])
    param_names = ("dtype", "size", "impl")
    timeout = 600

    def setup(self, kind: str, size: int, impl: str) -> None:
        _harness()

    def track_us(self, kind: str, size: int, impl: str) -> float:
        return _whole(kind, size)[impl] * 1e6

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]


class Ratio:
    """Prism's time by CUB's: 1 is parity, less is faster."""

    params = (DTYPES, SIZES)
    param_names = ("dtype", "size")
    timeout = 600

    def setup(self, kind: str, size: int) -> None:
        _harness()

    def track_vs_cub(self, kind: str, size: int) -> float:
        seconds = _whole(kind, size)
        return seconds["prism"] / seconds["cub"]

    track_vs_cub.unit = "x (prism/cub)"  # type: ignore[attr-defined]
    track_vs_cub.version = "1"  # type: ignore[attr-defined]


class Axis:
    """Microseconds of the sums along an axis of an array of float32, on the device."""

    params = (SHAPES, [0, 1], ["prism", "cupy"])
    param_names = ("shape", "axis", "impl")
    timeout = 600

    def setup(self, shape: str, axis: int, impl: str) -> None:
        _harness()

    def track_us(self, shape: str, axis: int, impl: str) -> float:
        return _along(shape, axis)[impl] * 1e6

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]


class Host:
    """Microseconds that the host takes for one warm call."""

    timeout = 120

    def setup(self) -> None:
        _harness()

    def track_host_us(self) -> float:
        return _harness().host_time()["sum(out=)"] * 1e6

    track_host_us.unit = "us"  # type: ignore[attr-defined]
    track_host_us.version = "1"  # type: ignore[attr-defined]
