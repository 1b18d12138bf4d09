"""Products of float32 beside cuBLAS's. Lower is better: a time, and a ratio of times."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

SHAPES = [
    "256", "512", "1000", "1024", "2048", "4096", "8192", "4097x4095x4093", "8192x128x1024", "4096x64x4096", "64x4096x4096",
]  # fmt: skip
VARIANTS = ["naive", "coalesced", "tiled", "vectorized", "warps"]
AUTO = "auto"


def _shape(shape: str) -> dict[str, Any]:
    return raw.row(raw.read("sgemm")["sgemm"], shape=shape, layout="NN")


class Chosen:
    """What the library chooses: microseconds on the device, and Prism's time by cuBLAS's: 1 is parity, less is faster."""

    params = (SHAPES,)
    param_names = ("shape",)

    def track_us(self, shape: str) -> float:
        return raw.number(raw.row(_shape(shape)["rows"], name=AUTO, fault=""), "us")

    def track_vs_cublas(self, shape: str) -> float:
        return 1.0 / raw.number(raw.row(_shape(shape)["rows"], name=AUTO, fault=""), "ratio")

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]
    track_vs_cublas.unit = "x (prism/cublas)"  # type: ignore[attr-defined]
    track_vs_cublas.version = "1"  # type: ignore[attr-defined]


class Lesson:
    """Microseconds of the lesson's variants at 2048, on the device."""

    params = (VARIANTS,)
    param_names = ("variant",)

    def track_us(self, variant: str) -> float:
        for row in _shape("2048")["rows"]:
            if row["name"].split()[0] == variant and row.get("fault") == "":
                return float(row["us"])
        raise NotImplementedError(f"{variant} was not measured")

    track_us.unit = "us"  # type: ignore[attr-defined]
    track_us.version = "1"  # type: ignore[attr-defined]
