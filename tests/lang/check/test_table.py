"""The rules of check/: one table from the kind of node to its rule, and modules that do not go round in a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_args

import prism.lang.check
from prism.lang.check import table
from prism.lang.parse import syntax

FOLDER = Path(prism.lang.check.__file__).parent
PACKAGE = "prism.lang.check"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py"))


def parsed(module: str) -> ast.Module:
    return ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> set[str]:
    """The modules of the package that a module imports, `__init__` for the package itself."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, names=names) if module == PACKAGE:
                found |= {name.name if name.name in MODULES else "__init__" for name in names}
            case ast.ImportFrom(module=str() as module) if module.startswith(f"{PACKAGE}."):
                found.add(module.removeprefix(f"{PACKAGE}."))
            case ast.ImportFrom(level=level) if level:
                raise AssertionError("a relative import, which this test does not follow")
            case ast.Import(names=names):
                found |= {name.name.removeprefix(f"{PACKAGE}.") for name in names if name.name.startswith(PACKAGE)}
    return found


def within_functions(tree: ast.AST) -> list[int]:
    """The lines of imports that stand in a function."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = [node for function in functions for node in ast.walk(function)]
    return [node.lineno for node in inner if isinstance(node, ast.Import | ast.ImportFrom)]


def test_every_kind_of_node_has_its_rule() -> None:
    assert set(table.EXPRESSIONS) == set(get_args(syntax.Expr))
    assert set(table.STATEMENTS) == set(get_args(syntax.Stmt))


def test_every_module_with_rules_is_listed() -> None:
    rules = {rule.__module__ for rule in table.EXPRESSIONS.values()}
    rules |= {judged.rule.__module__ for judged in table.STATEMENTS.values()}
    assert {module.__name__ for module in prism.lang.check.RULES} == rules


def test_no_function_imports() -> None:
    assert len(MODULES) > 20, "the test looks in the wrong place"
    assert within_functions(ast.parse("def f():\n    if True:\n        import os")) == [3]
    assert {module: lines for module in MODULES if (lines := within_functions(parsed(module)))} == {}


def test_no_circle_of_imports() -> None:
    graph = {module: imported(parsed(module)) for module in MODULES}
    assert "table" in graph["statements"] and "statements" in graph["__init__"]
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle
    assert order[-1] == "__init__", "the package imports its modules, and none of them the package"


def test_the_session_is_typed() -> None:
    ignored = [path.name for path in FOLDER.glob("*.py") if "ignore[attr-defined]" in path.read_text(encoding="utf-8")]
    assert ignored == []
