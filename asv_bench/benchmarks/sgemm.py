"""Products of float32 beside cuBLAS's. Lower is better: a time, and a ratio of times."""

from __future__ import annotations

from typing import Any

from benchmarks import raw

SQUARES = [256, 512, 1000, 1024, 2048, 4096, 8192]
OTHERS = ["4097x4095x4093", "8192x128x1024", "4096x64x4096", "64x4096x4096"]
VARIANTS = ["naive", "coalesced", "tiled", "vectorized", "warps"]
AUTO = "auto"


def _shape(shape: str) -> dict[str, Any]:
    return raw.row(raw.read("sgemm")["sgemm"], shape=shape, layout="NN")


def _us(impl: str, shape: str) -> float:
    found = raw.row(_shape(shape)["rows"], name=AUTO, fault="")
    return raw.number(found, "us") * (raw.number(found, "ratio") if impl == "cublas" else 1)


class Square:
    """Microseconds on the device of products of square matrices by what the library chooses; and cuBLAS's, measured in turns."""

    params = (["prism", "cublas"], SQUARES)
    param_names = ("impl", "n")

    @raw.tracked("us")
    def track_us(self, impl: str, n: int) -> float:
        return _us(impl, str(n))


class Other:
    """The same of other shapes, M x N x K."""

    params = (["prism", "cublas"], OTHERS)
    param_names = ("impl", "shape")

    @raw.tracked("us")
    def track_us(self, impl: str, shape: str) -> float:
        return _us(impl, shape)


class Ratio:
    """The time of what the library chooses by cuBLAS's: 1 is parity, less is faster."""

    params = ([*map(str, SQUARES), *OTHERS],)
    param_names = ("shape",)

    @raw.tracked("x (prism/cublas)")
    def track_vs_cublas(self, shape: str) -> float:
        return 1.0 / raw.number(raw.row(_shape(shape)["rows"], name=AUTO, fault=""), "ratio")


class Lesson:
    """Microseconds of the lesson's variants at 2048, on the device."""

    params = (VARIANTS,)
    param_names = ("variant",)

    @raw.tracked("us")
    def track_us(self, variant: str) -> float:
        for row in _shape("2048")["rows"]:
            if row["name"].split()[0] == variant and row.get("fault") == "":
                return float(row["us"])
        raise NotImplementedError(f"{variant} was not measured")
