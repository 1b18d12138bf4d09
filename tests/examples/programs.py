"""The paper's programs with arguments and what NumPy makes of them: what the reference machine's tests and the GPU's share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from examples.paper import add, load_store, mma, scan, sgemm
from prism.lang import Kernel

SMALL = {"BM": 16, "BN": 32, "BK": 8, "TM": 4, "TN": 4, "THREADS": 32}
SMALL_WARPS = {
    "BM": 32, "BN": 32, "BK": 16, "WM": 16, "WN": 32, "WNITER": 2, "TM": 2, "TN": 4, "THREADS": 64,
}  # fmt: skip
FULL, FULL_WARPS = sgemm.EXAMPLES["tiled"], sgemm.EXAMPLES["warps"]


@dataclass(frozen=True)
class Launch:
    """A kernel's launch: arguments, of which arrays are memory; `results` is what is in some of them afterwards."""

    kernel: Kernel
    shape: tuple[int, int]
    arguments: tuple[Any, ...]
    results: Mapping[int, Any]
    template: Mapping[str, Any] = field(default_factory=dict)
    bound: float = 0.0  # the greatest error allowed
    values: Callable[[Any], Any] = np.asarray  # the numbers that a result's elements stand for

    def compare(self, to: Callable[[Any], Any] = np.copy, **options: Any) -> None:
        """Launch it on copies of the arrays made by `to`, and compare."""
        given = [to(a) if isinstance(a, np.ndarray) else a for a in self.arguments]
        self.kernel[self.shape](*given, template=self.template, **options)
        for place, expected in self.results.items():
            found = given[place] if isinstance(given[place], np.ndarray) else given[place].get()
            error = np.max(np.abs(self.values(found).astype(np.float64) - expected.astype(np.float64)), initial=0.0)
            assert error <= self.bound, f"{self.kernel.__name__}: off by {error}"


def ceil(a: int, b: int) -> int:
    return -(-a // b)


def aligned(values: Any) -> Any:
    """A copy that begins at a multiple of 16 bytes: NumPy's own may not."""
    room = np.zeros(values.nbytes + 16, np.uint8)
    start = -room.__array_interface__["data"][0] % 16
    found = room[start : start + values.nbytes].view(values.dtype)
    found[:] = values.ravel()
    return found


def add_m(n: int, threads: int = 64) -> Launch:
    x = np.random.default_rng(n).integers(-1000, 1000, n, dtype=np.int32)
    y = np.zeros(n + 5, np.int32)
    arguments = (x, y, np.int32(7), np.int32(n))
    return Launch(add.add_m, (max(1, ceil(n, threads)), threads), arguments, {1: np.append(x + 7, np.zeros(5))})


def copy(blocks: int, threads: int, items: int, kind: str) -> Launch:
    x = np.random.default_rng(0).integers(0, 100, blocks * threads * items).astype(kind)
    template = {"T": kind, "ITEMS": items, "THREADS": threads}
    return Launch(load_store.copy, (blocks, threads), (x, np.zeros_like(x)), {1: x}, template)


def reverse(blocks: int, threads: int, items: int) -> Launch:
    x = np.random.default_rng(0).integers(0, 100, (blocks, threads * items), dtype=np.int32)
    template = {"T": "int32", "ITEMS": items, "THREADS": threads}
    return Launch(load_store.reverse, (blocks, threads), (x.ravel(),), {0: x[:, ::-1].ravel()}, template)


def product(kernel: Kernel, shape: tuple[int, int], sizes: tuple[int, int, int], template: Mapping[str, int]) -> Launch:
    m, n, k = sizes
    random = np.random.default_rng(m * n * k)
    a, b, c = (random.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n), (m, n)))
    alpha, beta = np.float32(1.5), np.float32(-0.5)
    expected = alpha * (a.astype(np.float64) @ b.astype(np.float64)) + beta * c
    arguments = (*map(np.int32, sizes), alpha, aligned(a), aligned(b), beta, aligned(c))
    bound = 1e-6 * (4 + k) * 4
    return Launch(kernel, shape, arguments, {7: expected.ravel()}, template, bound)


def naive(m: int, n: int, k: int, threads: int = 64) -> Launch:
    return product(sgemm.naive, (ceil(m * n, threads), threads), (m, n, k), {})


def coalesced(m: int, n: int, k: int, tile: int = 8, threads: int = 64) -> Launch:
    blocks = ceil(ceil(m, tile) * ceil(n, tile) * tile * tile, threads)
    return product(sgemm.coalesced, (blocks, threads), (m, n, k), {"TILE": tile})


def tiles(kernel: Kernel, m: int, n: int, k: int, template: Mapping[str, int]) -> Launch:
    blocks = ceil(m, template["BM"]) * ceil(n, template["BN"])
    return product(kernel, (blocks, template["THREADS"]), (m, n, k), template)


def tf32(m: int, n: int, k: int, threads: int = 32) -> Launch:
    """The product of what tf32 keeps of the factors: 10 bits of fraction."""
    random = np.random.default_rng(m * n * k)
    a, b = (random.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n)))
    kept = [(x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64) for x in (a, b)]
    arguments = (a.ravel(), b.ravel(), np.full(m * n, 9, np.float32), *map(np.int32, (m, n, k)))
    shape = (ceil(m, 16) * ceil(n, 8), threads)
    return Launch(mma.tf32, shape, arguments, {2: (kept[0] @ kept[1]).ravel()}, {}, 1e-5 * (4 + k))


def scanned(n: int, warps: int, epoch: int = 1) -> Launch:
    x = np.random.default_rng(n).integers(0, 2**32, n, dtype=np.uint32)
    tiles = max(1, ceil(n, 1024 * warps))
    counter, totals, prefixes = np.zeros(1, np.uint32), np.zeros(tiles, np.uint64), np.zeros(ceil(tiles, 32), np.uint64)
    arguments = (np.int32(n), x, counter, totals, prefixes, np.uint32(epoch))
    results = {1: np.cumsum(x, dtype=np.uint32), 2: counter}
    return Launch(scan.scan, (tiles, 32 * warps), arguments, results, {"WARPS": warps})
