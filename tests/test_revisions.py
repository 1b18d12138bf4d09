"""Two trees of Prism in one process: asv_bench/revision_trees.py."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import prism

FOLDER = Path(__file__).parents[1] / "asv_bench"


@pytest.fixture
def tree_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class, imported as the scripts import it."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    import revision_trees

    yield revision_trees.Tree
    sys.modules.pop("revision_trees", None)


def tree(root: Path, value: int) -> Path:
    """A tree with a package of that name, a module that is imported late, and a script."""
    for name, text in {
        "prism/__init__.py": f"VALUE = {value}\ndef late():\n    from prism.part import PART\n    return PART\n",
        "prism/part.py": f"PART = {10 * value}\n",
        "asv_bench/measure.py": f"import prism\nSCRIPT = {100 * value} + prism.VALUE\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_names_stand_for_one_tree_at_a_time(tree_of: Any, tmp_path: Path) -> None:
    one, two = (tree_of(tree(tmp_path / str(value), value)) for value in (1, 2))
    ours = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "prism"}
    for _ in range(2):  # the second time nothing is loaded
        for each, value in ((one, 1), (two, 2)):
            with each:
                import measure

                import prism as inside

                assert (inside.VALUE, inside.late(), measure.SCRIPT) == (value, 10 * value, 101 * value)  # type: ignore[attr-defined]
                with each:
                    assert sys.modules["prism"] is inside
    found = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "prism"}
    assert found == ours and sys.modules["prism"] is prism and "measure" not in sys.modules
    assert isinstance(two.modules["prism.part"], ModuleType) and one.modules["prism"] is not two.modules["prism"]


def test_a_tree_is_left_where_something_fails_in_it(tree_of: Any, tmp_path: Path) -> None:
    path, other = list(sys.path), tree_of(tree(tmp_path, 3))
    with pytest.raises(KeyError), other:
        raise KeyError
    assert sys.path == path and sys.modules["prism"] is prism
