"""`st_async` on the GPU: blocks of a cluster that store into each other's rings, against NumPy."""

from __future__ import annotations

import pytest

from tests.examples import sent as s

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


@pytest.mark.parametrize("kind", ["int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("copies", [1, 2, 7])
def test_any_number_of_copies_and_tiles(kind: str, copies: int) -> None:
    for tiles in sorted({0, 1, copies, copies + 1, 8 if kind.startswith("float") else 300}):
        s.sent(kind, tiles, copies).compare(cupy.asarray)


@pytest.mark.parametrize("blocks,shift", [(2, 1), (3, 1), (3, 2), (4, 3), (8, 1), (8, 5)])
def test_clusters_and_shifts(blocks: int, shift: int) -> None:
    s.sent("int32", 100, 3, blocks, shift, clusters=16).compare(cupy.asarray)


@pytest.mark.parametrize("blocks,base", [(2, 1), (3, -2), (4, 3), (8, 0)])
def test_a_shift_that_is_computed(blocks: int, base: int) -> None:
    s.shuffled("int32", 100, 3, blocks, base, clusters=16).compare(cupy.asarray)


def test_many_launches() -> None:
    for tiles in range(200):
        s.sent("int32", tiles, 1 + tiles % 4, clusters=60).compare(cupy.asarray)
