"""The examples on CuPy arrays: small ones, as on the CPU, and large ones."""

from __future__ import annotations

import pytest

from tests.examples.library import CASES, HOPPER, LARGE, checked_attention

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


@pytest.mark.parametrize("name", [*CASES, *HOPPER, *LARGE])
def test_against_numpy(name: str) -> None:
    compare = {**CASES, **HOPPER, **LARGE}[name]
    compare(cupy.asarray)


@pytest.mark.parametrize(
    ("heads", "n", "d"), [(1, 128, 64), (3, 256, 64), (16, 1024, 64), (4, 2048, 128), (2, 1024, 256)]
)
def test_attention(heads: int, n: int, d: int) -> None:
    checked_attention(heads, n, d)(cupy.asarray)
