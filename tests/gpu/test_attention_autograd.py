"""examples/attention_autograd.py on the GPU: gradients through torch beside float64's, and its own."""

from __future__ import annotations

import pytest

from tests.gpu.test_attention import normal

try:
    from tests.examples import test_attention_autograd as on_cpu
except pytest.skip.Exception:  # without a GPU these tests are skipped; with one they need torch, and fail
    on_cpu = None


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("dim", "share"), [(64, 1), (128, 4), (256, 1)])
def test_gradients_beside_torchs_own(dim: int, share: int, causal: bool, kind: str) -> None:
    q, dout = (normal(1, 4, 1000, dim, kind=kind) for _ in range(2))
    k, v = (normal(1, 4 // share, 1000, dim, kind=kind) for _ in range(2))
    on_cpu.check((q, k, v), dout, is_causal=causal, share=share, causal=causal)


def test_the_script() -> None:
    import runpy

    runpy.run_path(str(on_cpu.SCRIPT), run_name="__main__")
