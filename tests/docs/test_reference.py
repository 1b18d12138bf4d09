"""docs/reference.md and docs/reference/: a page for every construct, as the language declares them, and an index of the rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import prism.lang
from prism.lang import surface
from prism.lang.errors import catalogue
from prism.lang.intrinsics import NAMES
from prism.lang.parse import syntax
from prism.lang.types import Scalar, Vector
from tests.docs.intrinsics_table import markdown
from tests.docs.regions import DOCS, compare
from tests.docs.test_error_pages import CODES
from tests.lang.stub import stub

PYTHON = {"CompileError", "InternalError", "Kernel"}  # classes for Python code, not for kernels
WORDS = {
    "grid": "`grid[1]`: all blocks of a launch; `grid.look_back` and others are its collectives",
    "block": "`block[n]`: n blocks of a cluster, or `block[1]`; `block.scan` and others are its collectives",
    "warp": "`warp[n]`: `thread[32 * n]`; `warp.scan` and others are its collectives",
    "warpgroup": "`warpgroup[n]`: `thread[128 * n]`",
    "thread": "`thread[n]`: n threads that start at a multiple of n; `thread.sort` and others are its functions",
    "prism": '`@prism("global")`: a kernel; `@prism("device")`: a function that kernels call',
    "intrinsic": "`@intrinsic(text, meaning=...)`: one instruction, or a few, behind a signature with perspectives",
}
SYNTAX = {  # the page of each node of the syntax tree: what Python itself gives the language, and its scopes
    "Declare": "declaration", "Assign": "assignment", "Together": "assignment", "Unpack": "assignment", "Augment": "assignment",
    "Evaluate": "call", "If": "if", "While": "while",
    "For": "for", "Break": "break", "Continue": "break", "Return": "return", "Pass": "extern", "Group": "group", "Split": "split",
    "Partition": "partition", "Claim": "claim", "Roles": "roles", "Enter": "roles", "One": "one", "Async": "async_",
    "Batch": "wgmma_async", "Turns": "turns", "Unsafe": "unsafe", "Nested": "device",
    "Name": "declaration", "Literal": "types", "Resolved": "call", "Unary": "operators", "Binary": "operators",
    "Conditional": "conditional", "Call": "call", "Subscript": "subscript", "Attribute": "struct", "Lambda": "partition",
    "Braces": "local_array", "Listed": "local_array", "Tuple": "return",
}  # fmt: skip
OF_PYTHON = ("declaration", "assignment", "subscript", "operators", "conditional", "call", "return", "if", "for", "while",
             "break", "types", "local_array", "float4_cast")  # fmt: skip
HEADINGS = ["Form", "Perspective", "Rules", "Example", "In CUDA", "Refused", "Source"]
FOLDER = DOCS / "reference"
PAGES = sorted(FOLDER.glob("*.md"))


def meaning(name: str, value: object) -> str:
    """Return what a construct is, in a line."""
    if name in WORDS:
        return WORDS[name]
    if isinstance(value, surface.Construct):
        use, _, rest = value.doc.partition(": ")
        return f"`{use}`: {rest}" if rest else value.doc
    text = (value.__doc__ or "").partition("\n")[0]
    return f"`@{name}`: {text[0].lower()}{text[1:].rstrip('.')}"


def cell(text: str) -> str:
    """Return text that may stand in a table."""
    return text.replace("|", r"\|")


def constructs() -> dict[str, object]:
    """Return what kernels are written with, but for types and intrinsics; and `breakpoint`, which is Python's own name."""
    found = {name: getattr(prism.lang, name) for name in prism.lang.__all__ if name not in NAMES and name not in PYTHON}
    types = (Scalar, Vector, surface.VectorCast)
    kept = {name: value for name, value in found.items() if not isinstance(value, types)}
    return dict(sorted({**kept, "breakpoint": surface.BREAKPOINT}.items()))


def page_text(name: str) -> str:
    """Return the page of a construct."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def title(name: str) -> str:
    """Return the heading of a page."""
    return page_text(name).partition("\n")[0].removeprefix("# ")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text's first paragraph."""
    words = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", words)[0].rstrip(".")


def refused(name: str) -> set[str]:
    """Return the codes that a construct's page names."""
    return set(re.findall(r"\.\./errors/([a-z-]+)\.md", page_text(name)))


def test_every_construct_has_a_page_and_every_page_a_construct() -> None:
    assert {page.stem for page in PAGES} == set(constructs()) | set(OF_PYTHON)


def test_an_editor_s_hover_leads_to_the_page() -> None:
    pages = set(re.findall(r"`prism help (\w+)` prints the whole page\.", stub()))
    assert pages | {"intrinsic", "breakpoint", "prism"} == set(constructs()), (
        "two are imported, and one is Python's own"
    )


def test_every_kind_of_syntax_has_a_page() -> None:
    nodes = {node.__name__ for node in (*get_args(syntax.Stmt), *get_args(syntax.Expr))}
    assert nodes == set(SYNTAX)
    assert set(SYNTAX.values()) <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_all_its_parts(page: Path) -> None:
    """A grammar and rules as text, an example that runs, the CUDA C++ of it, what is refused, as a program too; the source."""
    text = page_text(page.stem)
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    sections = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}
    assert list(sections) == HEADINGS and all(sections.values())
    assert first_sentence(re.sub(r"<!--.*?-->", "", head.partition("\n")[2]))
    assert "::=" in sections["Form"] and "```python\n" in sections["Example"]
    assert re.search(r"^```(cuda of|python error)", sections["In CUDA"], re.MULTILINE)
    assert re.search(r"\]\((\.\./errors/[a-z-]+\.md|\w+\.md)\)", sections["Refused"] + sections["Rules"])
    assert "```python" in sections["Refused"] or page.stem == "breakpoint"
    faulty = re.findall(r"^```python error: ([a-z-]+)$", sections["Refused"], re.MULTILINE)
    assert set(faulty) <= refused(page.stem)
    rules = {error.rule for error in catalogue()} - {""}
    assert set(re.findall(r"\bR\d+\b", text)) <= rules


@pytest.mark.parametrize("name", constructs())
def test_a_page_begins_with_what_is_declared(name: str, request: pytest.FixtureRequest) -> None:
    compare(request, f"reference/{name}.md", "declared", meaning(name, constructs()[name]))


@pytest.mark.parametrize("code", CODES)
def test_an_error_names_the_constructs_it_is_about(code: str, request: pytest.FixtureRequest) -> None:
    """The other way round than the constructs' pages: a code that none of them names is one that a reader would not find."""
    found = [page.stem for page in PAGES if code in refused(page.stem)]
    assert found, f"no page of a construct links ../errors/{code}.md"
    links = [f"[{title(name)}](../reference/{name}.md)" for name in found]
    compare(request, f"errors/{code}.md", "constructs", f"Constructs: {', '.join(links)}.")


def test_the_index_of_constructs(request: pytest.FixtureRequest) -> None:
    lines = ["| name | what it is |", "|---|---|"]
    lines += [
        f"| [`{name}`](reference/{name}.md) | {cell(meaning(name, value))} |" for name, value in constructs().items()
    ]
    compare(request, "reference.md", "constructs", "\n".join(lines))


def test_the_index_of_what_is_python_s(request: pytest.FixtureRequest) -> None:
    lines = ["| | |", "|---|---|"]
    for name in OF_PYTHON:
        said = re.sub(r"\]\((\w+\.md)", r"](reference/\1", first_sentence(page_text(name).partition("\n")[2]))
        said = said.replace("](../", "](")
        lines.append(f"| [{title(name)}](reference/{name}.md) | {cell(said)} |")
    compare(request, "reference.md", "python", "\n".join(lines))


def test_every_rule_is_in_the_index(request: pytest.FixtureRequest) -> None:
    rules = {error.code: error.rule for error in catalogue()}
    lines = ["| rule | code | |", "|---|---|---|"]
    for code, rule in sorted(rules.items(), key=lambda pair: (int(pair[1][1:] or 99) if pair[1] else 99, pair[0])):
        text = (DOCS / "errors" / f"{code}.md").read_text(encoding="utf-8").partition("\n")[2]
        sentence = first_sentence(re.sub(r"^R\d+\. ", "", text.strip()))
        lines.append(f"| {rule or '-'} | [{code}](errors/{code}.md) | {cell(sentence)} |")
    compare(request, "reference.md", "rules", "\n".join(lines))


def test_intrinsics_have_their_own_table() -> None:
    """The index leaves intrinsics out: docs/intrinsics.md has each of them."""
    assert all(f"| `{name}`" in markdown() for name in ("shuffle_down", "wgmma", "atomic_add"))
