"""The manifest: what `prism.lib` has follows from its rows, and so does what editors read.

Tests of prism/lib/algorithms/__init__.py.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import prism
from prism.lib import algorithms

STUB = Path(prism.lib.__file__).with_suffix(".pyi")
ROOT = Path(__file__).parents[3]


def stub() -> str:
    """What an editor is to know of `prism.lib`: where each name is defined."""
    found = {name: f"prism.lib.levels:{name}" for name in ("block", "grid", "thread", "warp")}
    found |= {name: f"prism.lib:{name}" for name in ("epilogues", "lazy")}  # modules
    for name in set(prism.lib.__all__) - set(found):
        value = getattr(prism.lib, name)
        found[name] = f"{inspect.unwrap(value).__module__}:{name}"  # behind its front
    lines = [f"from {at.partition(':')[0]} import {name} as {name}\n" for name, at in found.items()]
    doc = "The library. Made by `pytest tests/lib/algorithms/test_manifest.py --update-golden`: not to be edited."
    return f'"""{doc}"""\n\n{"".join(sorted(lines))}'


def test_the_stub_is_that_of_the_manifest(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        STUB.write_text(stub(), encoding="utf-8")
    assert STUB.read_text(encoding="utf-8") == stub(), "run this test with --update-golden"
    names = [
        alias.asname for node in ast.parse(stub()).body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    assert sorted(map(str, names)) == prism.lib.__all__


def test_every_row_is_a_folder_with_a_module_of_its_functions() -> None:
    folders = {path.parent.name for path in Path(algorithms.__file__).parent.glob("*/__init__.py")}
    assert {one.name for one in algorithms.MANIFEST} == folders
    for one in algorithms.MANIFEST:
        module = importlib.import_module(one.module)
        assert all(getattr(module, name).__doc__ and name in dir(prism.lib) for name in one.functions), one.name
        page, _, heading = one.page.partition("#")
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        headings = [line.lstrip("# ").lower().replace(",", "").replace(" ", "-") for line in text.splitlines()]
        assert not heading or heading in headings, one.page


def test_a_name_stands_in_one_row() -> None:
    names = [name for one in algorithms.MANIFEST for name in one.functions]
    assert len(set(names)) == len(names)
    with pytest.raises(AttributeError, match="has no attribute 'shuffle'"):
        prism.lib.shuffle


def test_a_module_that_is_not_there_and_one_that_does_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder need not have it; what it imports must be there."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").touch()
    (tmp_path / "broken" / "ships.py").write_text("import a_module_of_nobody\n")
    monkeypatch.setattr(algorithms, "__path__", [*algorithms.__path__, str(tmp_path)])
    row = algorithms.Algorithm("broken", (), "")
    assert row.part("plan") is None and row.module == "prism.lib.algorithms.broken.api"
    with pytest.raises(ModuleNotFoundError, match="a_module_of_nobody"):
        row.part("ships")
    sys.modules.pop("prism.lib.algorithms.broken", None)


def test_importing_prism_loads_rows_and_no_algorithm() -> None:
    code = "import sys, prism; prism.lib; print(*sorted(m for m in sys.modules if m.startswith('prism.lib')))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.split() == ["prism.lib", "prism.lib.algorithms"]
    code = "from prism.lib import *; print(scan.__name__, Operator.__name__, block.__name__)"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.split() == ["scan", "Operator", "prism.lib.block"]
