"""`prism/lib/levels.pyi` says of each collective what an editor shows: its parameters, types, perspectives and documentation."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import prism
from prism.lib import block
from tests.lib.stub import stub

STUB = Path(prism.__file__).parent / "lib" / "levels.pyi"
USE = """\
from prism import lib
from prism.lang import block, thread

reveal_type(block.scan)
reveal_type(lib.block.reduce_into)
reveal_type(thread[1])
block.scan(1, 2, WIDTH=4, OP=3)
block.scan(1, 2, WIDTH="4", OP=3, EXCLUSIVE=True)
"""


def test_the_stub_is_that_of_the_collectives(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        STUB.write_text(stub(), encoding="utf-8")
    assert STUB.read_text(encoding="utf-8") == stub(), "run pytest tests/lib/test_stub.py --update-golden"


def test_every_collective_is_in_it_with_its_signature() -> None:
    levels = {node.name: node for node in ast.parse(stub()).body if isinstance(node, ast.ClassDef)}
    assert set(levels) == {"Block", "Grid", "Thread", "Warp"}
    functions = {f.name: ast.get_docstring(f) or "" for f in levels["Block"].body if isinstance(f, ast.FunctionDef)}
    assert sorted(functions) == block.__all__
    assert functions["all"].startswith("block.all(predicate: bool @ thread[1]) -> bool @ block[1]\n\nWhether")
    assert all("Perspective:" in text for text in functions.values())


@pytest.mark.slow
def test_a_type_checker_sees_signatures(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        "--cache-dir=.cache",
        "--follow-imports=silent",
        "use.py",
    ]
    said = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(STUB.parents[2])}, capture_output=True, text=True
    ).stdout
    assert 'use.py:4: note: Revealed type is "def (items: Any, identity: Any, *, WIDTH: ' in said, said
    assert 'use.py:5: note: Revealed type is "def (y: Any, value: Any, *, OP: Any, T: Any =)"' in said
    assert "Perspective" in said
    assert 'use.py:7: error: Missing named argument "EXCLUSIVE"' in said
    assert 'use.py:8: error: Argument "WIDTH"' in said
