"""`all_gather` on the GPU: warps of clusters that gather what all of them have, in many rounds, against NumPy."""

from __future__ import annotations

import pytest

from tests.examples import gathered as g

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


@pytest.mark.parametrize("kind,n,blocks", [("int32", 1, 2), ("uint64", 3, 4), ("float32", 2, 8), ("float64", 5, 3)])
def test_many_rounds_of_many_clusters(kind: str, n: int, blocks: int) -> None:
    for rounds in (0, 1, 2, 3, 8) if kind.startswith("float") else (0, 1, 300):
        g.gathered(kind, rounds, n, blocks, clusters=64).compare(cupy.asarray)


@pytest.mark.parametrize("met", [False, True])
def test_rounds_that_are_left_out(met: bool) -> None:
    for skip in (1, 2, 3):
        g.gathered("int32", 40, 2, 8, clusters=40, skip=skip, met=met).compare(cupy.asarray)


def test_many_launches() -> None:
    for rounds in range(200):
        g.gathered("int32", rounds % 5, 1, 8, clusters=60).compare(cupy.asarray)
