"""What the site puts where a page has `<!-- site: WHAT ARGUMENTS -->`: signatures and docstrings.

- `api NAME ...`: functions and classes, of `prism.lib` where the name has no dot
- `algorithms NAME ...`: the functions of algorithms, by their rows in the manifest
- `rest PAGE`: a section of what `prism.lib` has and no `api` of that page names, if there is something
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import prism
from prism.lib import algorithms as manifest

MARKS = re.compile(r"^<!-- site: (api|algorithms) (.+) -->$", re.MULTILINE)


def api(names: str, folder: Path) -> str:
    """Return directives that show functions and classes."""
    shown = []
    for name in names.split():
        path = name if "." in name else f"prism.lib.{name}"
        module, _, last = path.rpartition(".")
        value = getattr(importlib.import_module(module), last)
        kind = "autoclass" if isinstance(value, type) else "autofunction"
        shown.append(f".. {kind}:: {path}\n" + ("   :members:\n" if kind == "autoclass" else ""))
    return "```{eval-rst}\n" + "\n".join(shown) + "```"


def algorithms(names: str, folder: Path) -> str:
    """Return directives that show the functions of algorithms."""
    return api(" ".join(functions(names)), folder)


def functions(names: str) -> list[str]:
    """Return the functions of algorithms, by the manifest. Raises KeyError where one has no row."""
    rows = {one.name: one for one in manifest.MANIFEST}
    return [function for name in names.split() for function in rows[name].functions]


def rest(page: str, folder: Path) -> str:
    """Return a section of the functions that a page does not name, or nothing."""
    text = (folder / page).read_text(encoding="utf-8")
    marked = [functions(names) if what == "algorithms" else names.split() for what, names in MARKS.findall(text)]
    known = {name for names in marked for name in names}
    more = [name for name in prism.lib.__all__ if name not in known and callable(getattr(prism.lib, name))]
    return f"## More\n\n{api(' '.join(more), folder)}" if more else ""


def table() -> str:
    """Return the table of all algorithms, with links from docs/library.md."""
    lines = ["| | functions of `prism.lib` | what they do |", "|---|---|---|"]
    for one in manifest.MANIFEST:
        doc = inspect.getdoc(importlib.import_module(f"prism.lib.algorithms.{one.name}")) or ""
        place = one.page.removeprefix("library.md")
        lines.append(f"| [{one.name}]({place}) | {', '.join(f'`{name}`' for name in one.functions)} | {doc} |")
    return "\n".join(lines) + "\n"


FILLERS: Mapping[str, Callable[[str, Path], str]] = {
    "api": api,
    "algorithms": algorithms,
    "rest": rest,
}
