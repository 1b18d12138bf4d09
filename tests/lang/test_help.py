"""`help`, `inspect.signature` and `dir` of what a kernel file imports: each name tells who, what and how.

Tests of prism/lang/keep/help_text.py; prism/lang/surface/pages.py.
"""

from __future__ import annotations

import inspect
import json
import pydoc
import re
from pathlib import Path

import pytest

import prism
from prism import lang
from prism.lang import surface
from prism.lang.intrinsics import TABLE
from prism.lang.surface import pages

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
CONSTRUCTS = {name: value for name in lang.__all__ if isinstance(value := getattr(lang, name), surface.Construct)}
FUNCTIONS = ("attr", "device", "extern", "kernel", "may_alias", "requires", "struct", "template")


def shown(value: object) -> str:
    """What `help(value)` prints."""
    return pydoc.render_doc(value, renderer=pydoc.plaintext)


def parts(name: str) -> dict[str, str]:
    """The parts of a construct's page that `help` has."""
    text = re.sub(r"<!--.*?-->\n", "", (FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    sections = dict(re.findall(r"^## (.+?)\n\n(.*?)(?=\n## |\Z)", text, re.MULTILINE | re.DOTALL))
    form = "\n".join(re.findall(r"^    (?! *-{5}).*$", sections["Form"], re.MULTILINE)).strip("\n")
    example = re.search(r"^```python\n(.*?)^```$", sections["Example"], re.MULTILINE | re.DOTALL)
    assert example, name
    perspective = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", sections["Perspective"].strip())
    return {"Form": form, "Perspective": perspective, "Example": example[1].rstrip()}


def test_pages_json_is_made_of_the_pages(request: pytest.FixtureRequest) -> None:
    names = [*sorted(CONSTRUCTS), "breakpoint", *surface.LEVELS]
    made = json.dumps({name: parts(name) for name in names}, indent=1, ensure_ascii=False) + "\n"
    if request.config.getoption("--update-golden"):
        pages.FILE.write_text(made, encoding="utf-8")
    assert pages.FILE.read_text(encoding="utf-8") == made, "run this test with --update-golden"


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_help_of_a_construct(name: str) -> None:
    text = shown(CONSTRUCTS[name])
    assert f"{name}(" in text and "Form:" in text and "Perspective:" in text and "Example:" in text
    assert f"prism help {name}" in text
    inspect.signature(CONSTRUCTS[name])


@pytest.mark.parametrize("name", TABLE)
def test_help_of_an_intrinsic(name: str) -> None:
    intrinsic = TABLE[name]
    text = shown(intrinsic)
    for word in ("Called by:", "Memory:", "From:", "Example:", intrinsic.min_arch, str(intrinsic.requires)):
        assert word in text, word
    assert [p.name for p in intrinsic.parameters] != [] or "()" in text
    assert set(inspect.signature(intrinsic).parameters) == {p.name for p in intrinsic.parameters}


def test_help_of_one() -> None:
    text = shown(lang.atomic_add)
    assert "atomic_add(element: T, in memory @ thread[1], value: T @ thread[1]" in text
    assert "-> T @ thread[1]" in text and "Memory:     atomic update of `element`" in text
    assert "Example:    v: T @ thread[1] = atomic_add(p[i], value)" in text
    assert "Called by:  thread[32] together" in shown(lang.shuffle_xor)
    assert str(inspect.signature(lang.partition)).startswith("(x, unit, offset=0, *, races=")


@pytest.mark.parametrize("level", ["grid", "block", "warp", "thread"])
def test_dir_and_help_of_a_level(level: str) -> None:
    value = getattr(lang, level)
    names = [name for name in dir(value) if name in value.collectives]
    assert len(names) > 10 and set(names) == set(value.collectives)
    assert all(f"{level}.{name}" in shown(value) for name in names)
    for name in names:
        one = getattr(value, name)
        if isinstance(one, lang.Kernel):
            assert "Perspective:" in shown(one) and f"{name}(" in shown(one), name
            assert inspect.signature(one)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_of_a_function(name: str) -> None:
    assert f"{name}(" in shown(getattr(lang, name)) and inspect.getdoc(getattr(lang, name))


def test_help_of_classes_is_their_own() -> None:
    assert (surface.Construct.__doc__ or "").startswith("A construct of the language")
    assert "One intrinsic." in (type(lang.atomic_add).__doc__ or "")
    assert inspect.signature(surface.Construct) and type(lang.atomic_add).__name__ == "Intrinsic"


def test_a_class_below_is_told_in_the_same_way() -> None:
    class Other(surface.Construct):
        """Another kind."""

    assert Other.__doc__ == "Another kind."
    assert "one(unit)" in shown(Other("one", "one(unit): a thread"))
    assert pages.takes("new", "new(a, b): something") == "a, b" and pages.takes("new", "new(T, 2): x") == "*arguments"
    assert set(CONSTRUCTS) <= set(pages.TAKES), "say in TAKES what they take"


def test_help_of_the_library() -> None:
    functions = [name for name in prism.lib.__all__ if inspect.isfunction(getattr(prism.lib, name))]
    assert len(functions) > 100
    assert all(
        inspect.getdoc(getattr(prism.lib, name)) and inspect.signature(getattr(prism.lib, name)) for name in functions
    )
