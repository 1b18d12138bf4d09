"""The algorithms of cuBLASLt for a product of bfloat16, each by its number, and what kernel each of them launches.

cuBLASLt's own choice on a Hopper GPU multiplies by `wgmma`. It still has kernels that multiply by `mma`, as GPUs without `wgmma`
do: an algorithm's number, tile and stages ask for one of them. `by_mma` runs all that take a product, and returns the fastest.
"""

from __future__ import annotations

import ctypes
import functools
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

BF16, F32, COMPUTE_F32 = 14, 0, 68
TRANSPOSED_A, TRANSPOSED_B = 3, 4  # attributes of a product
TILES, STAGES = 6, 13  # what an algorithm says of itself
TILE, SPLITS, SWIZZLE, STAGE = 1, 2, 4, 6  # what is asked of one
ROOM = 32 << 20
BY_WGMMA = re.compile("nvjet|gmma|sm90|sm_90")
Algorithm = ctypes.c_uint64 * 8


class Checked(ctypes.Structure):
    """What cuBLASLt says of an algorithm for a product."""

    _fields_ = (
        ("algorithm", Algorithm),
        ("room", c_size_t),
        ("status", c_int),
        ("waves", c_float),
        ("rest", c_int * 4),
    )


@dataclass(frozen=True)
class Way:
    """An algorithm with its tile and stages, the kernel that it launches, and the microseconds of one launch."""

    data: bytes
    kernel: str
    us: float


def library() -> Any:
    """Return cuBLASLt, as torch has loaded it."""
    torch.mm(torch.ones(8, 8, device="cuda"), torch.ones(8, 8, device="cuda"))
    found = re.search(r"\S*libcublasLt\.so[.\d]*", Path("/proc/self/maps").read_text())
    if found is None:
        raise RuntimeError("torch has not loaded cuBLASLt")
    return ctypes.CDLL(found[0])


class Product:
    """A product `a @ b` of row-major `a`, with `b` row-major ("N") or column-major ("T"), by any of cuBLASLt's algorithms."""

    def __init__(self, m: int, n: int, k: int, layout: str) -> None:
        if layout not in ("NN", "NT"):
            raise ValueError(f"layout is {layout!r}, and not NN or NT")
        self.lt, self.handle, self.desc = library(), c_void_p(), c_void_p()
        self.lt.cublasLtCreate(byref(self.handle))
        self.lt.cublasLtMatmulDescCreate(byref(self.desc), COMPUTE_F32, F32)
        turned = c_int(int(layout[1] == "T"))  # to cuBLASLt all is column-major: it makes the transpose of the result
        self.lt.cublasLtMatmulDescSetAttribute(self.desc, TRANSPOSED_A, byref(turned), c_size_t(4))
        b = (k, n) if turned.value else (n, k)
        self.layouts = [self._matrix(*shape) for shape in (b, (k, m), (n, m))]
        self.room = torch.empty(ROOM, dtype=torch.uint8, device="cuda")
        self.one, self.zero = c_float(1.0), c_float(0.0)

    def _matrix(self, rows: int, columns: int) -> c_void_p:
        found = c_void_p()
        self.lt.cublasLtMatrixLayoutCreate(byref(found), BF16, c_uint64(rows), c_uint64(columns), c_int64(rows))
        return found

    def run(self, data: bytes, a: Any, b: Any, out: Any) -> int:
        """Launch an algorithm on the current stream; return its status, 0 if it took the product."""
        algorithm = Algorithm.from_buffer_copy(data)
        first, second, third = self.layouts
        arrays = [c_void_p(x.data_ptr()) for x in (b, a, out)]
        stream = c_void_p(torch.cuda.current_stream().cuda_stream)
        return int(
            self.lt.cublasLtMatmul(
                self.handle, self.desc, byref(self.one), arrays[0], first, arrays[1], second, byref(self.zero),
                arrays[2], third, arrays[2], third, byref(algorithm), c_void_p(self.room.data_ptr()), c_size_t(ROOM), stream,
            )
        )  # fmt: skip

    def algorithms(self) -> Iterator[bytes]:
        """Yield each algorithm, with each of its tiles and stages, that cuBLASLt says takes the product."""
        numbers, many = (c_int * 256)(), c_int()
        kinds = COMPUTE_F32, F32, BF16, BF16, BF16, BF16
        self.lt.cublasLtMatmulAlgoGetIds(self.handle, *kinds, 256, numbers, byref(many))
        first, second, third = self.layouts
        for number in numbers[: many.value]:
            base = Algorithm()
            if self.lt.cublasLtMatmulAlgoInit(self.handle, *kinds, number, byref(base)):
                continue
            for tile in self._values(base, TILES):
                for stage in self._values(base, STAGES):
                    for swizzle in (0, 1):
                        one, checked = Algorithm.from_buffer_copy(bytes(base)), Checked()
                        for what, value in ((TILE, tile), (STAGE, stage), (SPLITS, 1), (SWIZZLE, swizzle)):
                            self.lt.cublasLtMatmulAlgoConfigSetAttribute(
                                byref(one), what, byref(c_uint32(value)), c_size_t(4)
                            )
                        status = self.lt.cublasLtMatmulAlgoCheck(
                            self.handle, self.desc, first, second, third, third, byref(one), byref(checked)
                        )
                        if status == 0 and checked.status == 0 and checked.room <= ROOM:
                            yield bytes(one)

    def swizzle(self, data: bytes) -> int:
        """Return whether an algorithm's tiles are swizzled."""
        found, size = c_uint32(), c_size_t()
        one = Algorithm.from_buffer_copy(data)
        self.lt.cublasLtMatmulAlgoConfigGetAttribute(byref(one), SWIZZLE, byref(found), c_size_t(4), byref(size))
        return found.value

    def _values(self, algorithm: Any, what: int) -> list[int]:
        found, size = (c_uint32 * 1024)(), c_size_t()
        self.lt.cublasLtMatmulAlgoCapGetAttribute(byref(algorithm), what, byref(found), c_size_t(4096), byref(size))
        return list(found[: size.value // 4]) or [0]


def kernels(calls: list[Callable[[], Any]]) -> list[tuple[str, float]]:
    """Return the kernel of each call and its microseconds, by torch's profiler; each call launches one."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for one in calls:
            one()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        seen.export_chrome_trace(f"{folder}/trace.json")
        events = json.loads(Path(f"{folder}/trace.json").read_text())["traceEvents"]
    found = sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"])
    return [(event["name"], event["dur"]) for event in found]


def measured(product: Product, some: Iterable[bytes], a: Any, b: Any, out: Any) -> list[Way]:
    """Run each algorithm that takes the product once, and return its kernel and time, the fastest first."""
    taken = [data for data in some if product.run(data, a, b, out) == 0]
    torch.cuda.synchronize()
    seen = kernels([functools.partial(product.run, data, a, b, out) for data in taken])
    if len(seen) != len(taken):
        raise RuntimeError(f"{len(taken)} algorithms launched {len(seen)} kernels")
    ways = [Way(data, name, us) for data, (name, us) in zip(taken, seen, strict=True)]
    return sorted(ways, key=lambda way: way.us)


@functools.cache
def of_mma(layout: str, size: int = 1024) -> list[bytes]:
    """Return an algorithm for each kernel that does not multiply by `wgmma`, plainly and swizzled: what a small product shows."""
    product = Product(size, size, size, layout)
    a, b, out = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(3))
    found: dict[tuple[str, int], bytes] = {}
    for way in measured(product, product.algorithms(), a, b, out):
        if not BY_WGMMA.search(way.kernel):
            found.setdefault((way.kernel, product.swizzle(way.data)), way.data)
    return list(found.values())


def by_mma(product: Product, layout: str, a: Any, b: Any, out: Any, most: int = 4) -> list[Way]:
    """Return the fastest algorithms whose kernels don't multiply by `wgmma`."""
    return measured(product, of_mma(layout), a, b, out)[:most]
