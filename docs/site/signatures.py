"""The library's functions as Markdown, for docs/api.md as it stands in the repository: signatures and docstrings.

A part stands behind each mark of the page, between two comments; the site leaves it out, and has autodoc's in its place.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from docs.site import fill

BEGIN, END = "<!-- shown: begin; --update-golden writes it -->", "<!-- shown: end -->"
SHOWN = re.compile(rf"\n{BEGIN}\n.*?{END}\n", re.DOTALL)
LISTS = ("Parameters", "Returns", "Yields", "Raises", "Attributes", "Warns")


def without(page: str) -> str:
    """Return a page without what is shown of functions."""
    return SHOWN.sub("", page)


def with_functions(page: str) -> str:
    """Return a page with the functions behind each of its marks."""

    def behind(mark: re.Match[str]) -> str:
        names = fill.functions(mark[2]) if mark[1] == "algorithms" else mark[2].split()
        return f"{mark[0]}\n\n{BEGIN}\n\n" + "\n".join(function(name) for name in names) + f"\n{END}\n"

    made = fill.MARKS.sub(behind, without(page))
    return re.sub(rf"({END}\n)(?=\S)", r"\1\n", re.sub(rf"({END}\n)\n+", r"\1\n", made))


def function(name: str) -> str:
    """Return what the page has of a function or a class."""
    path = name if "." in name else f"prism.lib.{name}"
    module, _, last = path.rpartition(".")
    value: Any = getattr(importlib.import_module(module), last)
    try:
        signature = inspect.signature(value)
    except ValueError:
        signature = inspect.Signature()
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    plain = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    text = f"### `{path}`\n\n```python signature\n{folded(path, str(plain))}\n```\n\n{markdown(inspect.getdoc(value) or '')}\n"
    return text + "".join(members(value)) if isinstance(value, type) else text


def folded(path: str, signature: str) -> str:
    """Return a call in lines of at most 110 columns."""
    words, lines = f"{path}{signature}".split(", "), [""]
    for k, word in enumerate(words):
        piece = word + (", " if k + 1 < len(words) else "")
        if lines[-1] and len(lines[-1]) + len(piece) > 110:
            lines.append("    ")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def members(cls: type) -> list[str]:
    """Return a line for each public method and property of a class."""
    found = []
    for name, value in sorted(vars(cls).items()):
        doc = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
        if not name.startswith("_") and (callable(value) or isinstance(value, property)) and doc:
            call = name if isinstance(value, property) else f"{name}()"
            found.append(f"- **`{call}`**: {doc}\n")
    return found


def markdown(doc: str) -> str:
    """Return a docstring of NumPy's form as Markdown: sections as bold words, entries as lists, examples indented."""
    parts = re.split(r"^(\w[\w ]+)\n-{3,}\n", doc, flags=re.MULTILINE)
    out = [parts[0].strip()]
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        body = text.strip("\n")
        out.append(f"**{title}**")
        if title in LISTS:
            out.append(
                "\n".join(entry(*one) for one in re.findall(r"^(\S.*)\n((?:(?: +.*)?(?:\n|\Z))*)", body + "\n", re.M))
            )
        else:
            out.append("\n".join(f"    {line}".rstrip() for line in body.splitlines()) if title == "Examples" else body)
    return "\n\n".join(part for part in out if part).replace("``", "`")


def entry(head: str, text: str) -> str:
    """Return an item of a list: a name with its type, and what it is."""
    name, colon, kind = head.partition(" : ")
    told = inspect.cleandoc(text).replace("\n\n", " ").replace("\n", "\n  ")
    return f"- `{name}`{f' ({kind})' if colon else ''}: {told}".rstrip(": ").rstrip()
