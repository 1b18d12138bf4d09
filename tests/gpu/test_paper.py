"""The paper's programs on the GPU: sizes of one tile and of many, whole and in part."""

from __future__ import annotations

import numpy as np
import pytest

from examples.paper import scan, sgemm
from tests.examples import programs as p

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

SQUARE, WHOLE, PART = (1000, 1000, 1000), (512, 256, 384), (300, 136, 76)
LAUNCHES = {
    "add_m": lambda: p.add_m(1_000_003, 256),
    "copy": lambda: p.copy(300, 256, 7, "int32"),
    "copy-bytes": lambda: p.copy(30, 1024, 5, "uint8"),
    "reverse": lambda: p.reverse(300, 256, 7),
    "scan-1": lambda: p.scanned(1, 16),
    "scan-tiles": lambda: p.scanned(64 * 16384, 16),
    "scan-part": lambda: p.scanned(1000 * 16384 + 77, 16),
    "scan-small-tiles": lambda: p.scanned(3000 * 1024 - 1, 1),
    "tf32-tile": lambda: p.tf32(16, 8, 8),
    "tf32-part": lambda: p.tf32(117, 59, 83, threads=96),
    "tf32-many": lambda: p.tf32(512, 512, 512),
    **{
        f"sgemm-{number}-{'x'.join(map(str, sizes))}": lambda make=make, sizes=sizes: make(*sizes)
        for number, make, any_size in (
            (1, lambda *sizes: p.naive(*sizes, threads=256), True),
            (2, lambda *sizes: p.coalesced(*sizes, tile=16, threads=256), True),
            (3, lambda *sizes: p.tiles(sgemm.tiled, *sizes, p.FULL), True),
            (4, lambda *sizes: p.tiles(sgemm.vectorized, *sizes, p.FULL), False),
            (5, lambda *sizes: p.tiles(sgemm.warps, *sizes, p.FULL_WARPS), False),
        )
        for sizes in (SQUARE, WHOLE, PART, (129, 131, 17), (1, 1, 1))
        if any_size or sizes[1] % 4 == sizes[2] % 4 == 0
    },
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_gpu(name: str) -> None:
    LAUNCHES[name]().compare(cupy.asarray)


def test_scan_again_on_the_same_words() -> None:
    launch = p.scanned(200 * 16384 - 3, 16)
    counter, totals, prefixes = map(cupy.asarray, launch.arguments[2:5])
    for epoch in range(1, 51):
        x = cupy.asarray(launch.arguments[1])
        arguments = (launch.arguments[0], x, counter, totals, prefixes, np.uint32(epoch))
        scan.scan[launch.shape](*arguments, template={"WARPS": 16})
        assert np.array_equal(x.get(), launch.results[1])
