"""`all_gather` on the GPU: warps of clusters that gather what all of them have, in many rounds, against NumPy."""

from __future__ import annotations

import pytest

import prism
from prism.kernels.rows import norm_rows
from prism.kernels.rows.norms import EXAMPLES
from prism.runtime.device import device
from prism.runtime.launch import prepare
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


@pytest.mark.parametrize("together", [2, 4, 8])
def test_clusters_that_run_at_once_are_counted(together: int) -> None:
    """Whole ones, and no more than there is room for: blocks of one are on neighbours."""
    kernel = prism.compile(norm_rows, {**EXAMPLES["norm_rows"], "BLOCKS": together}, arch=device(0).arch)
    launcher = prepare(kernel.entry, 0)
    found = launcher.resident_blocks(512)
    room = launcher.loaded.occupancy(512, kernel.entry.shared_bytes) * device(0).sm_count
    assert found % together == 0 and room // 2 < found <= room
