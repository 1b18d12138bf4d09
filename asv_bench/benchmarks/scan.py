"""Scans beside CUB's and a device copy. Lower is better: a time, and a ratio of times."""

from __future__ import annotations

from typing import Any

import numpy

from benchmarks import raw

DTYPES = ["int32", "int64", "float32", "float64", "int16", "int8"]
LOGS = [16, 20, 22, 24, 26, 28]
KINDS = [
    "uint8", "int16", "int32", "int64", "uint64", "float16", "bfloat16", "float64", "max_uint8", "max_int32", "max_float32",
    "product_int32", "product_float32", "product_float64",
]  # fmt: skip
STRUCTS = ["affine_float32", "affine_float64", "sum_complex64", "sum_complex128"]
ROWS = list(range(0, 26, 4))


def _row(kind: str, log2: int) -> dict[str, Any]:
    return raw.row(raw.read("measure")["scan"], dtype=kind, size=1 << log2)


def _along(log2: int, axis: int) -> dict[str, Any]:
    return raw.row(raw.read("scan_axis")["axis"], dtype="float32", shape=[1 << log2, 1 << (26 - log2)], axis=axis)


class Latency:
    """Microseconds of one call, on the device."""

    params = (["prism", "cub", "copy"], DTYPES, LOGS)
    param_names = ("impl", "dtype", "log2 size")

    @raw.tracked("us")
    def track_us(self, impl: str, kind: str, log2: int) -> float:
        return raw.number(_row(kind, log2), impl, 1e6)


class Ratio:
    """Prism's time by CUB's: 1 is parity, less is faster."""

    params = (DTYPES, LOGS)
    param_names = ("dtype", "log2 size")

    @raw.tracked("x (prism/cub)")
    def track_vs_cub(self, kind: str, log2: int) -> float:
        found = _row(kind, log2)
        return raw.number(found, "prism") / raw.number(found, "cub")

    @raw.tracked("x (prism/copy)")
    def track_vs_copy(self, kind: str, log2: int) -> float:
        found = _row(kind, log2)
        return raw.number(found, "prism") / raw.number(found, "copy")


class Bandwidth:
    """Bytes read and written a second; shown, not watched: here more is better."""

    params = (DTYPES, LOGS)
    param_names = ("dtype", "log2 size")

    @raw.tracked("GB/s")
    def track_gbs(self, kind: str, log2: int) -> float:
        return 2e-9 * 2**log2 * numpy.dtype(kind).itemsize / raw.number(_row(kind, log2), "prism")


class Axis:
    """Prism's time along an axis of 2^26 float32 by that of a device copy of as many bytes: 1 is the copy's speed."""

    params = (ROWS, [0, 1])
    param_names = ("log2 rows", "axis")

    @raw.tracked("x (prism/copy)")
    def track_vs_copy(self, log2: int, axis: int) -> float:
        found = _along(log2, axis)
        return raw.number(found, "prism") / raw.number(found, "copy")


class Kinds:
    """Prism's time by CUB's, of long scans of a type with an operator; of bytes, by the faster of CUB's ways."""

    params = (KINDS, [28, 30])
    param_names = ("kind", "log2 size")

    @raw.tracked("x (prism/cub)")
    def track_vs_cub(self, kind: str, log2: int) -> float:
        found = raw.row(raw.read("scan_kinds")["scan"], kind=kind, size=1 << log2)
        peers = [float(found[name]) for name in (kind, f"own_{kind}") if name in found]
        if not peers:
            raise NotImplementedError(f"not measured: CUB's {kind}")
        return raw.number(found, "prism") / min(peers)


class Structs:
    """Prism's time by CUB's, of scans of maps x -> a * x + b, and of complex numbers."""

    params = (STRUCTS, [16, 20, 24, 27, 28])
    param_names = ("kind", "log2 size")

    @raw.tracked("x (prism/cub)")
    def track_vs_cub(self, kind: str, log2: int) -> float:
        found = raw.row(raw.read("scan_structs")["scan"], kind=kind, size=1 << log2)
        return raw.number(found, "prism") / raw.number(found, "cub")


class Host:
    """Microseconds that the host takes for one warm call."""

    @raw.tracked("us", "2")  # before: the mean of one batch of 2000
    def track_host_us(self) -> float:
        return raw.number(raw.read("measure"), "host", 1e6)
