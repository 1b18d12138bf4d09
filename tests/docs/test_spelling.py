"""One spelling of each thing in the pages and the examples; and `pl.` before every name of the language is as good."""

from __future__ import annotations

import ast
import linecache
import re
from pathlib import Path

import pytest

from prism import lang
from tests.docs.spelling import ROOT, files, respell
from tests.docs.test_examples import BLOCK

REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))


def test_kernels_are_marked_in_one_way(request: pytest.FixtureRequest) -> None:
    texts = {path: path.read_text("utf-8") for path in files(["docs", "examples", "README.md"])}
    others = {path: respell(text) for path, text in texts.items() if respell(text) != text}
    if request.config.getoption("--update-golden"):
        for path, text in others.items():
            path.write_text(text, "utf-8")
        return
    assert not others, "python -m tests.docs.spelling docs examples README.md"


def test_what_is_respelled() -> None:
    text = 'import prism\nfrom prism.lang import grid, kernel, requires\n\n@kernel\n@prism("device")\n'
    assert respell(text) == "import prism\nfrom prism.lang import grid, requires\n\n@prism.kernel\n@prism.device\n"
    assert respell("from prism.lang import kernel\n\n@kernel\n") == "from prism.lang import kernel\n\n@kernel\n"


class Qualified(ast.NodeTransformer):
    """Names that are imported from `prism.lang` become attributes of `pl`."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if node.module != "prism.lang":
            return node
        self.names |= {alias.asname or alias.name: alias.name for alias in node.names}
        return ast.parse("from prism import lang as pl").body[0]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        return ast.Attribute(ast.Name("pl", ast.Load()), self.names[node.id], node.ctx)


def qualified(page: Path) -> list[str]:
    """The programs of a page that run, with `pl.` before the language's names."""
    writer = Qualified()
    blocks = [
        m["text"] for m in BLOCK.finditer(page.read_text("utf-8")) if m["fence"] == "python" and not m["kind"].strip()
    ]
    return [ast.unparse(ast.fix_missing_locations(writer.visit(ast.parse(text)))) + "\n" for text in blocks]


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_each_construct_behind_pl(page: Path) -> None:
    """The example of each construct's page, which says by assertions what it must do, does the same."""
    names: dict[str, object] = {"__name__": page.stem}
    for number, code in enumerate(qualified(page)):
        file = f"<pl {page.stem} {number}>"
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        exec(compile(code, file, "exec", dont_inherit=True), names)


def test_the_pages_use_most_of_the_language() -> None:
    used = {name for page in REFERENCE for code in qualified(page) for name in lang.__all__ if f"pl.{name}" in code}
    constructs = {page.stem for page in REFERENCE if page.stem in lang.__all__}
    assert len(constructs) > 30 and constructs - used <= {"prism", "kernel", "device"}


def test_one_unit_alone_is_picked_by_one() -> None:
    """`match split(thread)` with one arm of one unit is spelled `with one(thread):`."""
    alone = re.compile(r"^( *)match split\(\w+\):\n\1    case 1:\n(?:\1 {8}.*\n|\n)+(?!\1    case)", re.MULTILINE)
    found = [path.name for path in files(["docs", "README.md"]) if alone.search(path.read_text("utf-8"))]
    assert found == ["split-body.md"], "of the rule of split's arms"
