"""docs/gallery.md shows the examples as they are, with their lengths and their pictures; and the pictures that scripts draw."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from docs.site import gallery, language, lessons
from docs.site.drawing import FOLDER
from tests.docs.regions import compare

DOCS = FOLDER.parent
DRAWN = {"language": language.pictures, "tutorial": lessons.pictures, "gallery": gallery.pictures}


def test_the_page_shows_the_examples(request: pytest.FixtureRequest) -> None:
    compare(request, "gallery.md", "gallery", gallery.shown())
    assert len(gallery.EXHIBITS) == 12
    assert all(gallery.device_lines(one) <= 60 for one in gallery.EXHIBITS), "a screen"


def test_lines_of_code_are_counted() -> None:
    text = '@f\ndef g(\n    a, b,\n):\n    """A docstring\n    of two lines."""\n\n    # a comment\n    x = """two\nlines"""\n'
    assert gallery.code_lines(text) == 6


@pytest.mark.parametrize("folder", DRAWN)
def test_pictures_are_as_they_are_drawn(folder: str, request: pytest.FixtureRequest) -> None:
    """Each is as its script draws it, stands on a page, and follows a dark desktop."""
    made = DRAWN[folder]()
    if request.config.getoption("--update-golden"):
        language.write(folder, made)
    there = {path.stem: path.read_text(encoding="utf-8") for path in (FOLDER / folder).glob("*.svg")}
    assert there == made, "run this test with --update-golden"
    pages = "".join(path.read_text(encoding="utf-8") for path in [DOCS.parent / "README.md", *DOCS.rglob("*.md")])
    assert set(made) <= set(re.findall(rf"pictures/{folder}/(\w+)\.svg\)", pages))
    for text in made.values():
        assert ElementTree.fromstring(text).tag.endswith("svg") and "prefers-color-scheme" in text
