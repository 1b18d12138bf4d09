"""What the site puts where a page has `<!-- site: WHAT ARGUMENTS -->`: signatures, docstrings, tables of other pages, pictures.

- `api NAME ...`: functions and classes, of `prism.lib` where the name has no dot
- `algorithms NAME ...`: the functions of algorithms, by their rows in the manifest
- `rest PAGE`: a section of what `prism.lib` has and no `api` of that page names, if there is something
- `tables PAGE#HEADING`: the tables under a heading of another page, each with the command before it, and a picture
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import prism
from docs.site.plots import plot
from prism.lib import algorithms as manifest

MARKS = re.compile(r"^<!-- site: (api|algorithms) (.+) -->$", re.MULTILINE)
COMMAND = re.compile(r"PYTHONPATH=\. python \S+\.py[^`\n]*")


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


# -- tables ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """A table of a page, as it stands there, with the text before it and the command that it is said to come from."""

    before: str
    command: str
    table: str


def tables(where: str, folder: Path) -> str:
    """Return the tables under a heading of another page, each with its command and with pictures of its ratios."""
    name, _, anchor = where.partition("#")
    found = measured((folder / name).read_text(encoding="utf-8"), anchor)
    shown = []
    for part in found:
        shown += [part.before, f"```sh\n{part.command}\n```", part.table, *plot(part.table)]
    return "\n\n".join(shown).replace("](#", f"]({name}#")  # a place on that page


def measured(page: str, anchor: str) -> list[Measured]:
    """Return the tables under a heading. Raises ValueError where there is none, or one without a command before it."""
    sections = re.split(r"^##+ ", page, flags=re.MULTILINE)[1:]
    slugs = {re.sub(r"[^\w -]", "", s.partition("\n")[0]).strip().lower().replace(" ", "-"): s for s in sections}
    section = slugs[anchor].partition("\n")[2]
    found: list[Measured] = []
    command, before, end = "", "", 0
    for table in re.finditer(r"(?:^\|.*\n)+", section, re.MULTILINE):
        text = section[end : table.start()]
        before = "\n\n".join(
            p for p in text.strip().split("\n\n") if not COMMAND.search(p) and not p.startswith("    ")
        )
        commands = COMMAND.findall(text)
        command = commands[-1].strip() if commands else command
        if not command:
            raise ValueError(f"{anchor}: a table without a command before it")
        found.append(Measured(before, command, table[0]))
        end = table.end()
    if not found:
        raise ValueError(f"{anchor}: no table")
    return found


FILLERS: Mapping[str, Callable[[str, Path], str]] = {
    "api": api,
    "algorithms": algorithms,
    "rest": rest,
    "tables": tables,
}
