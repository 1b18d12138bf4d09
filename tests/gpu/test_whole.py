"""Kernels in which part of a block meets at barriers of its own end on the GPU, with the right results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.lang.barriers import test_whole_units as w
from tests.lang.rings import test_ring_grid as g
from tests.lang.rings import test_sections as s

cupy = pytest.importorskip("cupy")
ROOT = Path(__file__).parents[2]


def test_consumers_meet_while_the_loader_goes_on() -> None:
    x, y, n = w.inputs()
    there, out = cupy.asarray(x), cupy.asarray(y)
    w.ringed[1, 384](there, out, n)
    assert np.allclose(cupy.asnumpy(out), w.expected())


def test_some_of_a_block_meet_without_a_ring() -> None:
    here, there = np.zeros(192, np.int32), cupy.zeros(192, np.int32)
    w.plain[2, 96](here, 3, check=True)
    w.plain[2, 96](there, 3)
    assert np.array_equal(cupy.asnumpy(there), here)


def test_pairs_of_blocks_meet() -> None:
    y, z = cupy.zeros(128, np.int32), cupy.zeros(128, np.int32)
    w.pairs[4, 32](y, z)
    assert np.array_equal(cupy.asnumpy(z), np.tile(np.arange(64)[::-1], 2))


@pytest.mark.parametrize("kind", sorted(path.stem[5:] for path in (ROOT / "tests/generated").glob("edge_*.py")))
def test_a_sample_of_programs_at_the_edges(kind: str, tmp_path: Path) -> None:
    """In processes of their own, for what hangs stops no more than its own."""
    told = tmp_path / "told.json"
    count = ["--count", "24", "--jobs", "2", "--device", "--json", str(told)]
    command = [sys.executable, "-m", "tests.generated.edges", "--kind", kind, *count]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    (report,) = json.loads(told.read_text())
    assert report["count"] == 24 and report["outcomes"]["right"] > 0 and not report["failures"]


@pytest.mark.parametrize("trips", [(5, 3), (4, 4), (3, 0), (6, 1)])
@pytest.mark.parametrize("name", s.KERNELS)
def test_a_ring_that_several_places_visit(name: str, trips: tuple[int, int]) -> None:
    kernel, wanted = s.KERNELS[name]
    y = cupy.zeros(512 if name in s.STORES else 64, np.float32)
    kernel[1, s.threads_of(name)](cupy.asarray(s.X.ravel()), y, *trips)
    assert np.array_equal(cupy.asnumpy(y), wanted(*trips))


@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 1, 4), (1, 3, 1)])
def test_a_ring_in_a_loop_of_the_grid(shape: tuple[int, int, int]) -> None:
    blocks, n, steps = shape
    x, y = cupy.asarray(g.ROWS), cupy.zeros(64 * blocks, np.float32)
    g.rounds[blocks, 96](x, y, n, steps)
    assert all(map(np.array_equal, (cupy.asnumpy(x), cupy.asnumpy(y)), g.of_rounds(*shape)))
    y = cupy.zeros(64 * blocks * steps, np.float32)
    g.ahead[blocks, 64](cupy.asarray(g.ROWS), y, n, steps)
    assert np.array_equal(cupy.asnumpy(y), g.of_ahead(*shape))
