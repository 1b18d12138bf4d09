"""examples/attention_autograd.py on the CPU, where torch is installed: gradients as near to float64's as torch's own.

tests/gpu/test_attention_autograd.py is the same on a GPU, with bfloat16.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
example = pytest.importorskip("examples.attention_autograd")
SCRIPT = Path(__file__).parents[2] / "examples/attention_autograd.py"


def check(arrays: Any, dout: Any, *, is_causal: bool = False, share: int = 1, **options: Any) -> None:
    """Compare with float64, and the errors with those of torch's own backward of the same arrays."""

    def theirs(q: Any, k: Any, v: Any) -> Any:
        wide = (x.repeat_interleave(share, 1) for x in (k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, *wide, is_causal=is_causal)

    exact = example.gradients(theirs, [x.double() for x in arrays], dout)
    found = example.gradients(lambda *x: example.attention(*x, **options), arrays, dout)
    own = example.gradients(theirs, arrays, dout)
    for name, want, one, other in zip("qkv", exact, found, own, strict=True):
        ours, its = (float((x.double() - want).pow(2).mean().sqrt()) for x in (one, other))
        assert one.dtype == arrays[0].dtype and one.shape == want.shape
        # 5 %: both round the same factors to 16 bits, and so differ by chance alone.
        assert ours <= 1.05 * its, (name, ours, its)


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_beside_torchs_own(causal: bool) -> None:
    torch.manual_seed(0)
    q, dout = (torch.randn(1, 4, 100, 64, dtype=torch.float16) for _ in range(2))
    k, v = (torch.randn(1, 2, 100, 64, dtype=torch.float16) for _ in range(2))
    check((q, k, v), dout, is_causal=causal, share=2, causal=causal)


def test_deterministic_algorithms_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    kept = example.prism.lib.attention_backward
    monkeypatch.setattr(
        "prism.lib.attention_backward", lambda *given, **how: asked.append(how["deterministic"]) or kept(*given, **how)
    )
    q = torch.randn(1, 1, 8, 8, dtype=torch.float16)
    for wanted in (False, True):
        torch.use_deterministic_algorithms(wanted)
        try:
            example.gradients(example.attention, (q, q, q), q)
        finally:
            torch.use_deterministic_algorithms(False)
    assert asked == [False, True]


def test_the_script_says_how_near_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) < 80
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert capsys.readouterr().out.count("off float64's by") == 2
