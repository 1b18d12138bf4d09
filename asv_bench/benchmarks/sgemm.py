"""Products of float32 beside cuBLAS's: what asv tracks. Lower is better: a time, and a ratio of times."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1]
sys.path.insert(0, str(FOLDER))

SHAPES = ["256", "512", "1000", "1024", "2048", "4096", "4097x4095x4093", "8192x128x1024", "4096x64x4096"]
VARIANTS = ["coalesced", "tiled", "vectorized", "warps"]


@functools.cache
def _harness() -> Any:
    """The harness beside this folder, which has this file's name."""
    try:
        import measure  # noqa: F401  (needs CuPy)
    except (ImportError, OSError) as missing:
        raise NotImplementedError(f"needs a GPU and CuPy: {missing}") from None
    description = importlib.util.spec_from_file_location("sgemm_harness", FOLDER / "sgemm.py")
    assert description is not None and description.loader is not None
    module = importlib.util.module_from_spec(description)
    description.loader.exec_module(module)
    return module


@functools.cache
def _chosen(shape: str) -> dict[str, Any]:
    """What the library chooses for a shape, and cuBLAS."""
    harness = _harness()
    (cut,) = harness.planned([shape], lesson=False)[shape]
    return harness.measure(shape, [cut], 9)


@functools.cache
def _lesson(variant: str) -> dict[str, Any]:
    harness = _harness()
    return harness.measure("2048", [harness.LESSON[variant]], 9)


class Chosen:
    """What the library chooses: microseconds on the device, and Prism's time by cuBLAS's: 1 is parity, less is faster."""

    params = (SHAPES,)
    param_names = ("shape",)
    timeout = 600

    def setup(self, shape: str) -> None:
        _harness()

    def track_us(self, shape: str) -> float:
        return float(_chosen(shape)["rows"][0]["us"])

    def track_vs_cublas(self, shape: str) -> float:
        return 1.0 / float(_chosen(shape)["rows"][0]["ratio"])

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]
    track_vs_cublas.unit = "x (prism/cublas)"  # type: ignore[attr-defined]
    track_vs_cublas.version = "1"  # type: ignore[attr-defined]


class Lesson:
    """Microseconds of the lesson's variants at 2048, on the device."""

    params = (VARIANTS,)
    param_names = ("variant",)
    timeout = 600

    def setup(self, variant: str) -> None:
        _harness()

    def track_us(self, variant: str) -> float:
        return float(_lesson(variant)["rows"][0]["us"])

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]
