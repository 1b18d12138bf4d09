"""`prism/lang/__init__.pyi` says of each name of the language what an editor shows.

Tests of prism/lang/__init__.py.
"""

import ast
from pathlib import Path

import pytest

from prism import lang
from tests.lang.stub import stub

STUB = Path(lang.__file__).with_suffix(".pyi")


def test_the_stub_is_that_of_the_declarations(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        STUB.write_text(stub(), encoding="utf-8")
    assert STUB.read_text(encoding="utf-8") == stub(), "run pytest tests/lang/test_stub.py --update-golden"


def test_every_name_has_a_type_and_a_docstring() -> None:
    body = ast.parse(stub()).body
    (apart,) = (node for node in body if isinstance(node, ast.If))
    body += apart.orelse
    told: dict[str, str] = {}
    for node, after in zip(body, [*body[1:], body[0]], strict=True):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                told[node.name] = ast.get_docstring(node) or ""
            case ast.AnnAssign(target=ast.Name(id=name)) if name != "MYPY":
                assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), f"{name} has no docstring"
                told[name] = after.value.value
            case ast.ImportFrom():
                told |= {alias.asname: "imported" for alias in node.names if alias.asname}
    told |= {"prism": "imported"}
    told = {name: text for name, text in told.items() if not name.startswith("_") or name.startswith("__")}
    mypy = {node.name for node in apart.body if isinstance(node, ast.FunctionDef)}
    mypy |= {
        node.target.id for node in apart.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    mypy |= {alias.asname or "" for node in apart.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert mypy == {node.name for node in apart.orelse if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert set(told) == set(lang.__all__)
    assert not [name for name, text in told.items() if not text]
    assert told["warp_sum"].startswith("warp_sum(") and "thread[32]" in told["warp_sum"]
    assert told["group"].startswith("with group(")
