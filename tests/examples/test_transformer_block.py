"""examples/transformer_block.py on the CPU, where torch is installed: gradients of a block as near to float64's as torch's own.

tests/gpu/test_transformer_block.py is the same on a GPU, with bfloat16.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
example = pytest.importorskip("examples.transformer_block")
SCRIPT = Path(__file__).parents[2] / "examples/transformer_block.py"


def check(dtype: Any, on: str, batches: int, length: int, dim: int, heads: int, hidden: int, words: int) -> None:
    """Compare all gradients with float64's, and their errors with those of torch's own functions."""
    torch.manual_seed(0)
    block = example.Block(dim, heads, hidden, words).to(on, dtype)
    x = torch.randn(batches, length, dim, device=on, dtype=dtype)
    given = (
        *example.angles_of(length, dim // heads, on),
        torch.randint(0, words, (batches, length), device=on),
    )
    off = example.errors(block, x, given)
    assert off["prism"].keys() == off["torch"].keys() == {"x", *(name for name, _ in block.named_parameters())}
    # both round what is between to 16 bits, and so differ by chance: a single one by a fifth, together by less
    assert all(ours <= 1.2 * off["torch"][name] for name, ours in off["prism"].items()), off
    assert sum(off["prism"].values()) <= 1.05 * sum(off["torch"].values()), off


def test_gradients_beside_torchs_own() -> None:
    check(torch.float16, "cpu", 2, 24, 64, 2, 96, 50)


def test_the_script_says_how_near_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert capsys.readouterr().out.count("off float64's by") == 2
