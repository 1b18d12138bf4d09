"""The site: its parts that need no Sphinx, and, where the extra `docs` is installed, a strict run over all pages."""

from __future__ import annotations

import importlib.util
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import prism
from docs.site.contents import below, contents, with_contents, with_pages
from docs.site.fill import FILLERS, functions, table
from docs.site.plots import svg
from docs.site.radix import FOLDER, pictures
from docs.site.signatures import markdown, with_functions, without

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MARK = re.compile(r"^<!-- site: (\w+) (.+) -->$", re.MULTILINE)
MARKS = [
    (page, *mark) for page in sorted(DOCS.rglob("*.md")) for mark in MARK.findall(page.read_text(encoding="utf-8"))
]


def test_the_index_is_the_table_of_contents() -> None:
    found = contents((DOCS / "index.md").read_text(encoding="utf-8"))
    pages = {(DOCS / f"{page}.md").resolve() for listed in found.values() for page in listed}
    inside = {page for index in pages for page in below(index)}
    assert set(DOCS.rglob("*.md")) - pages - inside == {DOCS / "index.md"}
    assert with_contents("## A\n- [B](b.md): c\n").endswith("```{toctree}\n:hidden:\n:caption: A\n\nb\n```\n")


def test_a_folder_s_index_is_the_table_of_its_pages() -> None:
    listed = with_pages("# A\n", DOCS / "errors.md")
    assert listed.startswith("# A\n\n```{toctree}\n:hidden:\n\nerrors/arch\n") and "\nerrors/write-down\n" in listed
    assert with_pages("# A\n", DOCS / "limits.md") == "# A\n"


@pytest.mark.parametrize("page, what, rest", MARKS, ids=lambda value: value.stem if isinstance(value, Path) else value)
def test_marked_places_are_filled(page: Path, what: str, rest: str) -> None:
    """Functions exist: FILLERS raise where not."""
    assert FILLERS[what](rest, page.parent).strip() or what == "rest"


def test_every_function_of_the_library_is_in_the_reference() -> None:
    listed = {name for page, what, rest in MARKS if what == "api" for name in rest.split()}
    listed |= {name for page, what, rest in MARKS if what == "algorithms" for name in functions(rest)}
    more = re.findall(r"^\.\. autofunction:: prism\.lib\.(\w+)$", FILLERS["rest"]("api.md", DOCS), re.MULTILINE)
    assert set(prism.lib.__all__) - {"block", "epilogues", "grid", "lazy", "thread", "warp"} == {
        name for name in listed if "." not in name
    } | set(more)


def test_the_reference_is_whole_in_the_repository(request: pytest.FixtureRequest) -> None:
    page = DOCS / "api.md"
    made = with_functions(page.read_text(encoding="utf-8"))
    if request.config.getoption("--update-golden"):
        page.write_text(made, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == made, "run this test with --update-golden"
    assert "### `prism.lib.scan`\n\n```python signature\nprism.lib.scan(x, op='add', *, axis=None, " in made
    assert "- `axis` (int, optional): The axis to scan along" in made
    assert with_functions(without(made)) == made and "shown: begin" not in without(made)
    missing = {
        name
        for name in prism.lib.__all__
        if callable(getattr(prism.lib, name)) and f"### `prism.lib.{name}`" not in made
    }
    assert missing == set(), "docs/api.md has no mark for these"


def test_a_docstring_becomes_markdown() -> None:
    sections = "Parameters\n----------\nx : array\n    What\n    it is.\n\nRaises\n------\nTypeError\n    It is ``no``."
    doc = f"Do it.\n\n{sections}\n\nExamples\n--------\n>>> f()\n1"
    assert markdown(doc) == (
        "Do it.\n\n**Parameters**\n\n- `x` (array): What\n  it is.\n\n**Raises**\n\n- `TypeError`: It is `no`.\n\n"
        "**Examples**\n\n    >>> f()\n    1"
    )


INDENTED = re.compile(r"^(?![ >.])(?!.*::$).*\n(?:\n)+ {4,}\S", re.MULTILINE)


def test_no_docstring_has_a_block_that_the_site_can_t_read() -> None:
    """An indented block stands behind a line that ends in two colons, or in a section. Otherwise Sphinx makes no site."""
    shown = [name for page, what, rest in MARKS if what == "api" for name in rest.split()]
    shown += [name for page, what, rest in MARKS if what == "algorithms" for name in functions(rest)]
    values = {name: pydoc.locate(name if "." in name else f"prism.lib.{name}") for name in shown}
    docs = {name: inspect.getdoc(value) or "" for name, value in values.items()}
    assert len(docs) > 100
    assert [name for name, doc in docs.items() if INDENTED.search(re.split(r"\n\w+\n---", doc)[0])] == []
    assert INDENTED.search("Do it.\n\n    f()\n") and not INDENTED.search("Do it::\n\n    f()\n")


def test_the_table_of_algorithms_is_that_of_the_manifest(request: pytest.FixtureRequest) -> None:
    """On the page of the library, between two marks."""
    page = DOCS / "library.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split("<!-- algorithms: made by tests/docs/test_site.py --update-golden -->\n")
    _, after = rest.split("<!-- end -->\n")
    wanted = (
        f"{before}<!-- algorithms: made by tests/docs/test_site.py --update-golden -->\n{table()}<!-- end -->\n{after}"
    )
    if request.config.getoption("--update-golden"):
        page.write_text(wanted, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == wanted, "run this test with --update-golden"


RECORDED = re.compile(
    r"^\*Recorded (\d{4}-\d\d-\d\d), revision ([0-9a-f]{8})\. (Command: `[^`]+`|By a probe that is not kept)\.\*$", re.M
)


def without_its_source(page: str) -> list[str]:
    """Return the tables of a page of measurements that no line says the date, the revision and the command of."""
    parts = re.split(r"(?=^## )", page, flags=re.MULTILINE)
    last = [max([0, *(found.end() for found in RECORDED.finditer(part))]) for part in parts]
    return [
        table[0]
        for part, end in zip(parts, last, strict=True)
        for table in re.finditer(r"(?:^\|.*\n)+", part, re.MULTILINE)
        if table.end() > end
    ]


@pytest.mark.parametrize("page", sorted((DOCS / "measurements").glob("*.md")), ids=lambda page: page.stem)
def test_each_table_of_a_measurement_has_its_source(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert without_its_source(text) == [] and RECORDED.search(text)
    assert text.count("*Recorded ") == len(RECORDED.findall(text)), (
        "a line that begins with Recorded is not of that form"
    )
    for _, _, how in RECORDED.findall(text):
        script = re.search(r"asv_bench/\w+\.py", how)
        assert script is None or (ROOT / script[0]).is_file(), how


def test_a_table_without_a_source_is_seen() -> None:
    table = "| a | b |\n|---|---|\n| c | 1 |\n"
    line = "*Recorded 2026-11-22, revision 0123abcd. Command: `asv_bench/x.py`.*\n"
    assert without_its_source(f"## A\n\n{table}\n{line}\n## B\n\n{table}") == [table]
    assert without_its_source(f"## A\n\n{line}\n{table}") == [table]
    assert without_its_source(f"## A\n\n{table}\n{line.replace('0123abcd', 'now')}") == [table]


def test_the_pictures_of_the_radix_sort_are_drawn(request: pytest.FixtureRequest) -> None:
    """Each is as docs/site/radix.py draws it, and in the tutorial."""
    made = pictures()
    if request.config.getoption("--update-golden"):
        for name, text in made.items():
            (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")
    assert {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")} == made
    page = (DOCS / "tutorial" / "sort.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(\.\./pictures/radix/(\w+)\.svg\)", page)) == set(made)
    assert all(ElementTree.fromstring(text).tag.endswith("svg") for text in made.values())


def test_a_picture_has_a_dot_for_each_ratio() -> None:
    picture = svg("n", ["CUB", "torch"], [("2^10", [("CUB", 0.5), ("torch", 2.0)]), ("2^20", [("torch", 1.0)])])
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="\d+" r="5" fill="#\w+"><title>', picture)]
    assert len(dots) == 3 and dots[0] < dots[2] < dots[1]
    one = float(re.findall(r'class="one" x1="([\d.]+)"', picture)[0])
    assert one == dots[2]


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """All links between pages, all directives, the table of contents: Sphinx, with warnings as errors."""
    missing = [name for name in ("sphinx", "myst_parser", "furo") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the extra `docs` is not installed ({', '.join(missing)}): `make docs` installs it")
    folders = ["-c", "docs/site", "-d", str(tmp_path / "d"), ".", str(tmp_path / "out")]
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dummy", *folders]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
