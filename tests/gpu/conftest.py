"""Tests of one GPU by many processes: what one of them keeps of its memory, others can't have."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

MOST = 1 << 30
"""Bytes that a process may keep between two tests: small tests reuse them, and a dozen processes leave room for a large one."""


@pytest.fixture(autouse=True)
def room_for_others() -> Iterator[None]:
    """Give back what CuPy's and torch's pools keep behind a test of large arrays."""
    yield
    if (cupy := sys.modules.get("cupy")) is not None:
        pool = cupy.get_default_memory_pool()
        if pool.total_bytes() > MOST:
            pool.free_all_blocks()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and torch.cuda.memory_reserved() > MOST:
        torch.cuda.empty_cache()
