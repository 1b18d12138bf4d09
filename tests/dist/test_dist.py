"""What `prism.dist` has, as its editors see it; each function is documented.

Tests of prism/dist/__init__.py.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import prism

SOURCE = Path(prism.dist.__file__).read_text(encoding="utf-8")


def test_names_are_those_that_type_checkers_see() -> None:
    block = next(node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    seen = {alias.name: line.module for line in block.body if isinstance(line, ast.ImportFrom) for alias in line.names}
    assert sorted(seen) == prism.dist.__all__
    assert all(getattr(prism.dist, name).__module__ == module for name, module in seen.items())
    assert set(prism.dist.__all__) <= set(dir(prism.dist))


@pytest.mark.parametrize("name", prism.dist.__all__)
def test_documented(name: str) -> None:
    function = getattr(prism.dist, name)
    assert function.__name__ == name and len(inspect.getdoc(function) or "") > 100
    assert name == "cuda_aware" or inspect.signature(function).parameters["comm"].kind is inspect.Parameter.KEYWORD_ONLY


def test_what_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = prism.dist.nothing
