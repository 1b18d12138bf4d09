"""tests/gpu is left out of a run of all tests where no GPU is there: its modules can be imported all the same."""

import importlib
from pathlib import Path

import pytest

GPU = Path(__file__).parent / "gpu"


def test_each_module_of_tests_for_a_gpu_can_be_imported() -> None:
    names = sorted(path.stem for path in GPU.glob("test_*.py"))
    assert len(names) > 50
    for name in names:
        try:
            module = importlib.import_module(f"tests.gpu.{name}")
        except pytest.skip.Exception:  # it asks for CuPy, before it has tests
            continue
        assert any(each.startswith("test_") for each in vars(module)), name
