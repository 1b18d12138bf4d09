"""compute-sanitizer's four tools over the library's kernels: no bad access, no race, nothing unwritten read, no bad barrier."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prism.lib import algorithms

ROOT = Path(__file__).parents[2]
SANITIZER = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")

OPTIONS = {"memcheck": ["--report-api-errors", "no"]}
"""Bindings of the driver ask it for functions that it may not have: no error of a kernel."""
CALLS = {"racecheck": ["aligned"], "synccheck": ["apart"]}
"""An hgemm to rows at odd addresses has warps write a tile, arrive by one lane after the warp's barrier, and other warps read
it: racecheck takes the lane that arrives for the only one whose writes are ordered, and reports those of the other 31. Decoding
with lengths, and large products of groups, have barriers of the block in the text of each role, which whole warps meet: synccheck
wants a barrier of the block to be one instruction for all, and reports each text's as divergent, also where each says how many
threads it waits for, or the barrier has a number of its own."""


ATTENTION = ("attention", "attention_backward", "attention_decode")
OTHERS = [x for x, _ in algorithms.parts("cases") if x not in ATTENTION]
SHARES = 4
PARTS = {"attention": ["20000", *ATTENTION]} | {f"others {k}": [f"{k}/{SHARES}", *OTHERS] for k in range(SHARES)}
"""What is watched in a process of its own; of attention arrays of at most so many elements: that takes less than a minute. Of the
others a process has its share: all of them in one took longer than a run may."""


@pytest.mark.slow
@pytest.mark.skipif(SANITIZER is None, reason="needs compute-sanitizer")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
@pytest.mark.parametrize("part", PARTS)
def test_nothing_to_report(part: str, tool: str) -> None:
    command = [SANITIZER, "--tool", tool, "--error-exitcode", "9", *OPTIONS.get(tool, ())]
    done = subprocess.run(
        [*command, sys.executable, "-m", "tests.gpu.sanitized", *CALLS.get(tool, ()), *PARTS[part]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if "Device not supported" in done.stdout:
        pytest.skip("compute-sanitizer does not work on this machine: Device not supported")
    assert done.returncode == 0 and "SUMMARY: 0 " in done.stdout, (done.stdout + done.stderr)[-5000:]
    assert "all of them" in done.stdout
