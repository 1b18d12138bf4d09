"""Every module of the package has a test that is named as it is, in the same place, or one whose docstring says that it tests it.

A docstring names a module as `prism/lang/facts/digits.py`, and several of a folder as `prism/lang/facts: digits, wraps`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
BESIDE = {
    "test_oracles.py",  # of the whole language: where each of the worked results in its description is tested
    "test_stub.py",  # of prism/lang/__init__.pyi, which is no module
    "test_help.py",  # of all that a kernel file imports
}


def all_tests() -> list[Path]:
    return sorted(TESTS.rglob("test_*.py"))


def named(text: str) -> Iterator[str]:
    """The modules that a docstring names: their paths."""
    yield from re.findall(r"\bprism/[\w/]+\.py\b", text)
    for folder, names in re.findall(r"\b(prism[\w/]*): (\w+(?:,\s+\w+)*)", text):
        yield from (f"{folder}/{name}.py" for name in re.split(r",\s+", names))


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def namesake(module: Path) -> Path:
    """`tests/lang/facts/test_digits.py` of `prism/lang/facts/digits.py`; a package's is named as the package is."""
    folder = TESTS / module.relative_to(ROOT / "prism").parent
    return folder / f"test_{module.parent.name if module.stem == '__init__' else module.stem}.py"


def has_code(module: Path) -> bool:
    """Whether there is anything to test: a package's file may be a docstring, or only hand on names."""
    body = ast.parse(module.read_text(encoding="utf-8")).body
    return module.stem != "__init__" or any(isinstance(s, ast.FunctionDef | ast.ClassDef) for s in body)


def test_every_module_is_tested() -> None:
    said = {name for path in all_tests() for name in named(docstring(path))}
    modules = [path for path in sorted((ROOT / "prism").rglob("*.py")) if has_code(path)]
    without = [str(m.relative_to(ROOT)) for m in modules if not namesake(m).exists()]
    assert [name for name in without if name not in said] == []


def test_the_compilers_tests_stand_in_its_rooms() -> None:
    """Beside the rooms is what tests a module beside them, `test_<module>.py` or `test_<module>_<part>.py`, and BESIDE."""
    here, there = TESTS / "lang", ROOT / "prism" / "lang"
    rooms = {path.name for path in here.iterdir() if path.is_dir()} - {"golden", "__pycache__"}
    assert rooms <= {path.name for path in there.iterdir() if path.is_dir()}
    modules = "|".join(path.stem for path in there.glob("*.py"))
    flat = {path.name for path in here.glob("test_*.py") if not re.match(rf"test_({modules})(_\w+)?\.py$", path.name)}
    assert flat == BESIDE


def test_what_docstrings_name_is_there() -> None:
    for path in all_tests():
        assert [name for name in named(docstring(path)) if not (ROOT / name).exists()] == [], path


def test_names_are_read_out_of_docstrings() -> None:
    text = "Of prism/cli.py, prism/lang/facts: digits,\n    wraps and prism/lang: sync."
    assert sorted(named(text)) == [
        "prism/cli.py",
        "prism/lang/facts/digits.py",
        "prism/lang/facts/wraps.py",
        "prism/lang/sync.py",
    ]
    assert list(named("Of prism.lang: all. See tests/lang/test_sync.py: it tests more.")) == []
