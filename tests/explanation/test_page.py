"""The page as a text: well-formed, whole, with nothing to fetch, and proof against what is in the source.

Tests of prism/explanation: graph_map, ink, markup, memory_map.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from prism.explanation import Resources, account, explain_page
from prism.explanation.page import _links
from tests.explanation.programs import NAMES, program

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.css = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raise AssertionError(f"<{tag}/>")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.css += data
        else:
            self.text.append(data)


def read(name: str) -> Reader:
    reader = Reader()
    reader.feed(explain_page(program(name)))
    reader.close()
    assert not reader.open
    return reader


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_well_formed_and_its_links_lead_somewhere(name: str):
    reader = read(name)
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [attributes["href"] for _, attributes in reader.elements if "href" in attributes]
    assert links and all(link and link.startswith("#") and link[1:] in ids for link in links)
    for _, attributes in reader.elements:
        for value in filter(None, attributes.values()):
            assert all(target in ids for target in re.findall(r"url\(#([^)]+)\)", value))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_asks_for_nothing_and_runs_nothing(name: str):
    reader = read(name)
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & {tag for tag, _ in reader.elements}
    for _, attributes in reader.elements:
        assert not any(key.startswith("on") or key in ("src", "srcset", "xlink:href") for key in attributes)
    assert not re.search(r"url\(|@import|https?:", reader.css)
    policy = next(a["content"] for t, a in reader.elements if t == "meta" and "http-equiv" in a)
    assert policy is not None and policy.startswith("default-src 'none'")


@pytest.mark.parametrize("name", NAMES)
def test_every_barrier_leads_to_its_lines_and_back(name: str):
    reader = read(name)
    ids = {attributes["id"] for _, attributes in reader.elements if "id" in attributes}
    links = {attributes["href"] for _, attributes in reader.elements if "href" in attributes}
    entries = {one for one in ids if one and re.fullmatch(r"f\d+-[BWS]\d+", one)}
    assert len(entries) == sum(len(plan.barriers) for plan in program(name).plans.values())
    assert all(f"#{one}" in links for one in entries)


def test_a_line_of_another_function_is_no_link_to_one_of_these():
    chapter = account(program("nasty")).chapters[0]
    number = chapter.lines[2].number
    assert str(_links(f"before line {number}", chapter, "f0")) == f'before <a href="#f0-L{number}">line {number}</a>'
    assert str(_links(f"before line {number} of `g`", chapter, "f0")) == f"before line {number} of <code>g</code>"


def test_what_is_in_the_source_stays_text():
    reader = read("nasty")
    text = "".join(reader.text)
    written = """</style><script>alert("no & never")</script> <b id="f0"> &amp; 'quoted' \\N{SNOWMAN} ]]> <!--"""
    assert written in text
    assert "# <img src=x onerror=alert(1)>" in text


def test_every_line_of_the_source_is_there_as_it_is():
    text = "".join(read("scan").text)
    function = program("scan").entry
    with open(function.span.file, encoding="utf-8") as file:
        lines = file.read().splitlines()[function.span.line - 1 : function.span.line + 70]
    assert all(line in text for line in lines)


def test_no_path_of_this_machine_is_on_the_page():
    page = explain_page(program("scan"))
    assert program("scan").entry.span.file not in page and "scan/single_pass.py" in page


def test_what_compiling_said_is_on_the_page():
    page = explain_page(program("nasty"), Resources("sm_90a", 18, 0, 24))
    assert "18 registers a thread on sm_90a, 24 bytes spilled" in page
    assert "not known: it was not compiled" in explain_page(program("nasty"))
