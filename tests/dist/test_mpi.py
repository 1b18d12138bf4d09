"""prism.dist over MPI, and over torch's gloo where torch is installed, by processes on this machine.

Tests of prism/dist/_engines.py.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prism.dist._engines import _reach

ROOT = Path(__file__).parents[2]


def mpiexec() -> str | None:
    """Return the starter of an MPI: of this environment, or of the machine."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or mpiexec() is None, reason="mpi4py, or an MPI, is not installed"
)


def ranks(count: int, *command: str) -> list[str]:
    """Return what a program of so many ranks prints, in the order of its lines."""
    start = mpiexec()
    assert start is not None
    return printed(start, "-n", str(count), sys.executable, *command)


def printed(*words: str) -> list[str]:
    """Return what a program prints, in the order of its lines."""
    # Open MPI asks to be told twice that who runs it, in a container, may be root.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    where = {**os.environ, "PYTHONPATH": str(ROOT), **root}
    done = subprocess.run(words, cwd=ROOT, env=where, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(done.stdout.splitlines())


@needs_mpi
def test_four_ranks() -> None:
    assert ranks(4, "-m", "tests.dist.over_engines") == [f"rank {rank} of 4: right" for rank in range(4)]


@needs_mpi
def test_the_example() -> None:
    assert ranks(2, "examples/distributed_scan.py") == [
        "rank 0 of 2: 1000 elements, from 1 to 1000",
        "rank 1 of 2: 1100 elements, from 1002 to 3200",
    ]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_four_ranks_over_gloo() -> None:
    starter = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4")
    assert printed(*starter, "-m", "tests.dist.over_engines", "gloo") == [
        f"rank {rank} of 4: right" for rank in range(4)
    ]


@pytest.mark.parametrize(
    ("backends", "reach"),
    [("cuda:nccl", False), ("cpu:gloo,cuda:gloo", True), ("cpu:gloo,cuda:nccl", None), ("nccl", False), ("mpi", True)],
)
def test_where_messages_of_a_group_lie(backends: str, reach: bool | None) -> None:
    """On the host, on a GPU, or where either will do: a mesh of torch's has a group of two backends."""
    assert _reach(backends) is reach
