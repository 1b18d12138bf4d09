"""The pages on how it works follow one program, docs/how/program.py, show it as it is, and name files that are there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "how"
COMPILER = ROOT / "prism" / "lang"
MODULES = FOLDER / "modules.md"
HEAD = """# The modules of the compiler

Each room of `prism/lang`, in alphabetical order, with the first line of each module. `--update-golden` writes this page.
[How it works](index.md) says what the rooms are for, and in which order they stand.
"""


def test_the_page_shows_the_program() -> None:
    program = (FOLDER / "program.py").read_text(encoding="utf-8")
    assert f"<!-- numbered -->\n```python\n{program}```\n" in (FOLDER / "index.md").read_text(encoding="utf-8")


def test_every_stage_leads_to_the_program() -> None:
    pages = [page for page in sorted(FOLDER.glob("*.md")) if page.stem not in ("index", "modules")]
    assert len(pages) == 7
    assert all("docs.how.program" in page.read_text(encoding="utf-8") for page in pages)


def first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]


def modules() -> str:
    """The page of all modules, as their docstrings make it."""
    rooms: dict[str, list[Path]] = {}
    for path in sorted(COMPILER.rglob("*.py")):
        rooms.setdefault(path.parent.relative_to(COMPILER).as_posix(), []).append(path)
    text = HEAD
    for room, paths in sorted(rooms.items()):
        lines = "".join(f"| `{path.name}` | {first_line(path).replace('|', chr(92) + '|')} |\n" for path in paths)
        text += f"\n## `{'prism/lang' if room == '.' else room}/`\n\n| module | what it has |\n|---|---|\n{lines}"
    return text


def test_every_module_is_in_its_place(request: pytest.FixtureRequest) -> None:
    text = modules()
    if request.config.getoption("--update-golden"):
        MODULES.write_text(text, encoding="utf-8")
    assert MODULES.read_text(encoding="utf-8") == text, "run pytest tests/docs/test_how.py --update-golden"
    assert all(first_line(path) for path in COMPILER.rglob("*.py"))


def named(text: str) -> Iterator[str]:
    """The files and folders that a page names: `sync.py`, `check/`, `prism/interpret/schedules.py`."""
    return (name for name in re.findall(r"`([\w./]+)`", text) if name.endswith(("/", ".py", ".pyi", ".md")))


def is_there(name: str) -> bool:
    """Whether a name is of the repository, of the compiler, or, with no folder, of one of its rooms."""
    return (
        any((root / name).exists() for root in (ROOT, COMPILER)) or "/" not in name and any(COMPILER.glob(f"*/{name}"))
    )


@pytest.mark.parametrize("page", sorted(path.name for path in FOLDER.glob("*.md")))
def test_what_a_page_names_is_there(page: str) -> None:
    names = list(named((FOLDER / page).read_text(encoding="utf-8")))
    assert [name for name in names if not is_there(name)] == []
    assert names or page == "runtime.md"


def test_a_name_of_nothing_is_seen() -> None:
    names = list(named("`walk.py`, `facts/digits.py`, `claims.py` and `facts/nothing.py`, `nowhere.py`, `room/`, `x`"))
    assert [name for name in names if not is_there(name)] == ["facts/nothing.py", "nowhere.py", "room/"]
    assert len(names) == 6


def test_where_things_are_changed_is_one_file_or_two() -> None:
    rows = re.findall(r"^\| [^|`]*(?:`prism explain`)?[^|`]*\| (.*`.*) \|$", section("Where would I change ..."), re.M)
    assert len(rows) >= 10
    for row in rows:
        assert 1 <= len(list(named(row))) <= 3, row


def section(title: str) -> str:
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    return text.split(f"## {title}\n")[1].split("\n## ")[0]
