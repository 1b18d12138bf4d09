"""An algorithm that is added from outside, tests/toy, is in all that the manifest is read for."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import prism
from docs.site.fill import FILLERS, table
from prism.cli import main
from prism.command import tune as command
from prism.command.machine import dashboard
from prism.interpret.schedules import SCHEDULES
from prism.lib import algorithms, shipped_kernels
from prism.lib.cases import cases
from prism.lib.tune import tables
from prism.runtime.build import entry_of
from tests import ran
from tests.lib.algorithms.test_manifest import stub
from tests.lib.calls import LAYOUTS
from tests.toy.row import FOLDERS, ROW

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy in the manifest, and nothing of it afterwards."""
    monkeypatch.setattr(algorithms, "MANIFEST", (*algorithms.MANIFEST, ROW))
    for package, folder in FOLDERS:
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    yield
    vars(prism.lib).pop("negate", None)
    for name in [name for name in sys.modules if ".negate" in name]:
        del sys.modules[name]
    for package, _ in FOLDERS:
        vars(package).pop("negate", None)


def test_its_function_is_one_of_the_library() -> None:
    x = np.array([3, -1, 4], np.int32)
    assert prism.lib.negate(x).tolist() == [-3, 1, -4]  # type: ignore[attr-defined]
    assert "negate" in prism.lib.__all__ and "negate" in dir(prism.lib)
    out = np.empty(3, np.int32)
    plan = prism.lib.plan(prism.lib.negate, x, out=out)  # type: ignore[attr-defined]
    x[:] = 5
    assert plan() is out and out.tolist() == [-5, -5, -5]
    assert "from prism.lib.algorithms.negate.api import negate as negate\n" in stub()


def test_its_kernels_ship() -> None:
    for arch in ("sm_80", "sm_90a"):
        mine = [one for one in shipped_kernels.instances(arch) if one.kernel.__name__ == "negate"]
        assert [dict(one.template)["T"] for one in mine] == ["int32", "float32"]
        assert "prism_negate" in entry_of(mine[0].program, arch).source


def test_it_can_be_tuned(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    gpu = SimpleNamespace(
        device=SimpleNamespace(name="a GPU"), measure=lambda name, key: lambda choice: {"": 1 / choice.threads}
    )
    monkeypatch.setattr(command, "timer_of", lambda ordinal: contextlib.nullcontext(gpu))
    assert list(tables())[-1] == "negate"
    assert main(["tune", "negate", "--keys", "4", "--rounds", "1"]) == 0
    assert "4: Configuration(threads=1024),  # 4.00x as fast as" in capsys.readouterr().out
    assert main(["tune", "sort"]) == 2
    assert "there are: scan, reduce, hgemm, negate" in capsys.readouterr().err


def test_its_safety_run_is_asked_for() -> None:
    assert "prism.kernels.negate:negate" in ran.without({})
    assert "prism.kernels.negate:negate" not in ran.without({"prism.kernels.negate:negate": {}})


def test_it_is_in_the_docs() -> None:
    assert "| [negate](#scans) | `negate` | Negation, the toy of" in table()
    assert ".. autofunction:: prism.lib.negate\n" in FILLERS["rest"]("api.md", ROOT / "docs")


def test_it_is_measured_beside_its_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own script runs with the others; and asv_bench/algorithms.py takes it."""
    assert "negate" in dashboard()
    monkeypatch.setattr(sys, "path", [str(ROOT / "asv_bench"), *sys.path])
    module = importlib.import_module("algorithms")
    (case,) = module.chosen(["negate"])
    calls = module.calls_of(case, 10, {"cupy": np}, np.asarray)
    assert list(calls) == ["prism", "cupy"] and np.array_equal(calls["prism"](), calls["cupy"]())


def pytest_with_toy(*arguments: str, **environment: str) -> str:
    """Run pytest in a process of its own, with the toy in the manifest; return what it says."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.toy.row", "-p", "no:cacheprovider", "-q", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_in_the_parametrised_tests_and_in_safety_runs(tmp_path: Path) -> None:
    """Every dtype, size, layout and schedule; tests/ran.py keeps what ran with all checks."""
    arguments = ("-p", "tests.ran", "tests/lib/test_algorithms.py", "-k", "negate", "-m", "fuzz or not fuzz")
    said = pytest_with_toy(*arguments, PRISM_RAN=str(tmp_path))
    (case,) = (case for case in cases() if case.function == "negate")
    docstrings, sizes, outs, given, refused, plans = 1, 1, 2, 1, 1, 1
    parametrised = len(case.dtypes) + len(LAYOUTS) + len(SCHEDULES)
    assert f"{parametrised + docstrings + sizes + outs + given + refused + plans} passed" in said, said
    rows: list[Any] = [row for path in tmp_path.glob("*.json") for row in json.loads(path.read_text())]
    mine = {schedule for kernel, _, schedule, _ in rows if kernel == "prism.kernels.negate:negate"}
    assert mine == set(SCHEDULES)


def test_it_is_in_the_tests_of_a_gpu() -> None:
    said = pytest_with_toy("--collect-only", "tests/gpu/test_algorithms.py", "-k", "negate")
    for name in ("test_dtypes[negate-int32]", "test_sizes[negate]", "test_out[negate-3]", "test_plans[negate]"):
        assert f"tests/gpu/test_algorithms.py::{name}\n" in said
    assert "negate" in {
        case.function for case in cases()
    }  # which sanitized.py and the tests of streams and graphs take
