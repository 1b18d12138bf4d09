"""prism.dist over MPI, and over torch's gloo where torch is installed, by processes on this machine.

Tests of prism/dist/_engines.py.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def mpiexec() -> str | None:
    """Return the starter of an MPI: of this environment, or of the machine."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or mpiexec() is None, reason="mpi4py, or an MPI, is not installed"
)
def test_four_ranks() -> None:
    start = mpiexec()
    assert start is not None
    done = subprocess.run(
        [start, "-n", "4", sys.executable, "-m", "tests.dist.over_mpi"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of 4: right" for rank in range(4)]
