"""No plan, verdict or text depends on the order of a set (orders.py): programs of each kind, in processes with other hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.generated.edges import KINDS
from tests.rarely import rarely

ROOT = Path(__file__).parents[2]
COUNT = {"loops": 40}
"""Programs of a kind, where they are not 8."""


def digests(kind: str, salt: int, first: int, count: int) -> str:
    command = [sys.executable, "-m", "tests.generated.orders", str(salt), kind, str(first), str(count)]
    environment = {**os.environ, "PYTHONHASHSEED": str(salt), "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("kind", rarely(KINDS, but=["loops", "distinct"]))
def test_one_outcome_whatever_the_order(kind: str) -> None:
    count = COUNT.get(kind, 8)
    one = digests(kind, 1, 0, count)
    assert len(one.splitlines()) == count and digests(kind, 2, 0, count) == one


def test_a_fence_behind_one_of_two_barriers_is_put_before_the_same() -> None:
    """Two accesses that differ only in the barrier that they met: which of them is looked at first decides where it stands."""
    assert len({digests("async", salt, 3_000_091, 1) for salt in range(1, 7)}) == 1


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
def test_many(kind: str) -> None:
    one = digests(kind, 3, 1_000_000, 200)
    assert all(digests(kind, salt, 1_000_000, 200) == one for salt in (4, 5))
