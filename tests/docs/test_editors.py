"""Pyright and mypy take each kernel of the documentation and of the examples as it is written, without an ignore.

Tests of prism/mypy.py and of the stub of `prism.lang`. docs/editors.md says how a project is set up; it is set up so here.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_examples import BLOCK, PAGES, ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
IGNORES = re.compile(r"#\s*(type:\s*ignore|pyright:)")
KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.AnnAssign)


def kernels_of(page: Path) -> str:
    """What a page defines: imports, kernels, functions, structs, constants; of a name that is defined twice, the last."""
    blocks = [
        m["text"] for m in BLOCK.finditer(page.read_text("utf-8")) if m["fence"] == "python" and m["kind"].strip() == ""
    ]
    kept: dict[str, ast.stmt] = {}
    for number, node in enumerate(node for text in blocks for node in ast.parse(text).body):
        constant = isinstance(node, ast.Assign) and re.fullmatch(r"[A-Z_, ()]+", ast.unparse(node.targets[0]))
        if isinstance(node, KEPT) or constant:
            name = getattr(node, "name", str(number))
            kept.pop(name, None)
            kept[name] = node
    return "\n\n\n".join(ast.unparse(node) for node in kept.values()) + "\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with all kernels of the pages and the examples, set up as docs/editors.md says."""
    folder = tmp_path_factory.mktemp("project")
    for page in PAGES:
        text = kernels_of(page)
        if "@prism." in text:
            (folder / f"page_{re.sub('[^a-z0-9]+', '_', str(page.relative_to(ROOT)).lower())}.py").write_text(
                text, "utf-8"
            )
    for example in EXAMPLES:
        (folder / f"example_{'_'.join(example.relative_to(ROOT / 'examples').with_suffix('').parts)}.py").write_text(
            example.read_text("utf-8"), "utf-8"
        )
    files = sorted(folder.glob("*.py"))
    assert len([one for one in files if one.name.startswith("page_")]) > 100 and len(files) > 120
    assert not [one.name for one in files if IGNORES.search(one.read_text("utf-8"))]
    return folder


@pytest.mark.slow
def test_pyright_takes_every_kernel(project: Path) -> None:
    pytest.importorskip("pyright")
    there = {"extraPaths": [str(ROOT)], "reportMissingImports": False, "reportMissingModuleSource": False}
    (project / "pyrightconfig.json").write_text(json.dumps(there), "utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    said = json.loads(subprocess.run(command, cwd=project, capture_output=True, text=True).stdout)
    found = [
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']} ({one.get('rule')})"
        for one in said["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert said["summary"]["filesAnalyzed"] > 120 and not found, "\n".join(found)


@pytest.mark.slow
def test_mypy_takes_every_kernel(project: Path) -> None:
    pytest.importorskip("mypy")
    (project / "mypy.ini").write_text(
        "[mypy]\nplugins = prism.mypy\nfollow_imports = silent\nignore_missing_imports = True\n", "utf-8"
    )
    files = sorted(one.name for one in project.glob("*.py"))
    said = subprocess.run(
        [sys.executable, "-m", "mypy", *files],
        cwd=project, env={**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr
