"""examples/transformer_block.py on the GPU: gradients through torch beside float64's, and its own."""

from __future__ import annotations

import pytest

try:
    from tests.examples import test_transformer_block as on_cpu
except pytest.skip.Exception:  # without a GPU these tests are skipped; with one they need torch, and fail
    on_cpu = None


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_gradients_beside_torchs_own(kind: str) -> None:
    import torch

    on_cpu.check(getattr(torch, kind), "cuda", 2, 200, 256, 4, 640, 1000)
