"""The site: its parts that need no Sphinx, and, where the extra `docs` is installed, a strict run over all pages."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import prism
from docs.site.contents import below, contents, with_contents, with_pages
from docs.site.fill import FILLERS, functions, measured, table
from docs.site.plots import plot
from docs.site.radix import FOLDER, pictures

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
    """Tables have a command, functions exist: FILLERS raise where not."""
    assert FILLERS[what](rest, page.parent).strip() or what == "rest"


def test_every_function_of_the_library_is_in_the_reference() -> None:
    listed = {name for page, what, rest in MARKS if what == "api" for name in rest.split()}
    listed |= {name for page, what, rest in MARKS if what == "algorithms" for name in functions(rest)}
    more = re.findall(r"^\.\. autofunction:: prism\.lib\.(\w+)$", FILLERS["rest"]("api.md", DOCS), re.MULTILINE)
    assert set(prism.lib.__all__) - {"block", "epilogues", "grid", "lazy", "thread", "warp"} == {
        name for name in listed if "." not in name
    } | set(more)


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


def test_a_table_needs_a_command() -> None:
    table = "| a | CUB |\n|---|---|\n| 2^10 | 1.25 |\n"
    page = f"# P\n\n## Measured\n\n`PYTHONPATH=. python asv_bench/x.py --n 1`, so:\n\n{table}\n## Next\n"
    (found,) = measured(page, "measured")
    assert (found.command, found.table) == ("PYTHONPATH=. python asv_bench/x.py --n 1", table)
    with pytest.raises(ValueError, match="command"):
        measured(page.replace("PYTHONPATH", "FOO"), "measured")
    with pytest.raises(ValueError, match="no table"):
        measured(page.replace("|", ""), "measured")


def test_a_tables_links_lead_to_the_page_that_it_is_from(tmp_path: Path) -> None:
    table = "| a | CUB |\n|---|---|\n| 2^10 | [1.25](#next) |\n"
    text = f"# P\n\n## Measured\n\n[Why](#next), by `PYTHONPATH=. python asv_bench/x.py`:\n\n{table}"
    (tmp_path / "p.md").write_text(text)
    shown = FILLERS["tables"]("p.md#measured", tmp_path)
    assert "](#" not in shown and "[1.25](p.md#next)" in shown


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
    (picture,) = plot(
        "| n | Prism | CUB | torch |\n|---|---|---|---|\n| 2^10 | 3 us | 0.50 | 2.00 |\n| 2^20 | 5 us | | 1.00 |\n"
    )
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="\d+" r="5" fill="#\w+"><title>', picture)]
    assert len(dots) == 3 and dots[0] < dots[2] < dots[1]
    one = float(re.findall(r'class="one" x1="([\d.]+)"', picture)[0])
    assert one == dots[2]
    assert plot("| a | b |\n|---|---|\n| c | 1 |\n") == []


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """All links between pages, all directives, the table of contents: Sphinx, with warnings as errors."""
    missing = [name for name in ("sphinx", "myst_parser", "furo") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the extra `docs` is not installed ({', '.join(missing)}): `make docs` installs it")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-b", "dummy", "-d", str(tmp_path / "d"),
               ".", str(tmp_path / "out")]  # fmt: skip
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
