"""The benchmarks are where asv finds them: a package, whose classes have parameters and a `track_` function."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "asv_bench"


@pytest.mark.parametrize("name", ["scan", "reduce", "sgemm"])
def test_asv_finds_the_benchmarks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (FOLDER / "benchmarks" / "__init__.py").is_file()
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module(f"benchmarks.{name}")
    classes = [value for value in vars(module).values() if isinstance(value, type) and hasattr(value, "params")]
    assert classes
    for found in classes:
        assert len(found.params) == len(found.param_names)
        assert any(name.startswith("track_") for name in vars(found))
