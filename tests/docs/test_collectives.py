"""docs/collectives.md has each collective as its text has it: its signature, and its docstring."""

import importlib
import inspect
import re

import pytest

from prism.lang import Kernel
from tests.docs.regions import DOCS, compare
from tests.lib.stub import shown

FIELD = re.compile(r"^([A-Z][a-z]+):\s+(.*)$")


def collectives(level: str) -> str:
    """A section for each family of a level, with a part for each collective; in the grid's each is a family."""
    package = importlib.import_module(f"prism.lib.{level}")
    families: dict[str, list[str]] = {}
    for name in package.__all__:
        if isinstance(value := getattr(package, name), Kernel):
            families.setdefault(value.__module__, []).append(name)
    text = ""
    for module, names in sorted(families.items()):
        path = f"prism/lib/{level}/{module.rpartition('.')[2]}.py"
        said = inspect.getdoc(importlib.import_module(module)) or ""
        text += f"### {said.splitlines()[0].rstrip('.')}\n\n[`{path}`](../{path})\n\n"
        text += "".join(
            f"#### `{level}.{name}`\n\n{collective(level, name, getattr(package, name))}\n\n" for name in names
        )
    return text


def collective(level: str, name: str, kernel: Kernel) -> str:
    """What the page says of one."""
    used = shown(f"{level}.{name}", inspect.signature(kernel))
    bound = ", ".join(f"`{unit}`" for unit in kernel.requires or ())
    called = f"Called by {bound}." if bound else ""
    return f"```python signature\n{used}\n```\n\n{described(inspect.cleandoc(kernel.__doc__ or ''), called)}"


def described(doc: str, called: str = "") -> str:
    """A docstring as Markdown: what comes first, then a list of its fields, without where it is tested."""
    said: list[str] = []
    fields: list[tuple[str, str]] = []
    for line in doc.splitlines():
        if found := FIELD.match(line):
            fields.append((found[1], found[2]))
        elif fields and line.startswith(" "):
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}")
        else:
            said.append(line)
    listed = [f"- **{name}**: {text}" for name, text in fields if name != "Test"]
    return "\n\n".join(part for part in ("\n".join(said).strip(), called, "\n".join(listed)) if part)


@pytest.mark.parametrize("level", ["grid", "block", "warp", "thread"])
def test_the_page_is_that_of_the_collectives(level: str, request: pytest.FixtureRequest) -> None:
    compare(request, "collectives.md", level, collectives(level))


def test_no_place_is_left_to_be_filled() -> None:
    text = (DOCS / "collectives.md").read_text(encoding="utf-8")
    assert (
        "<!-- site" not in text and "#### `block.scan_valid`\n\n```python signature\nblock.scan_valid(items: T[" in text
    )


def test_a_collective_s_docstring() -> None:
    text = described("Do it.\n\nPerspective: warp.\nCost:        one\n             barrier.\nTest:        tests/x.py")
    assert text == "Do it.\n\n- **Perspective**: warp.\n- **Cost**: one barrier."
