"""`prism help`: a page of the documentation in the terminal, by a name, an error's code, or words that stand in it.

The wheel has the pages in prism/docs; a clone has them in docs. Neither a browser nor a network is needed.
"""

from __future__ import annotations

import argparse
import importlib
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import prism
from prism.command.output import DONE, CommandError, write

FOLDERS = ("reference", "errors", "", "tutorial", "how")
"""Where a name is looked for, first to last."""
SHOWN = 12
"""How many places a search lists."""


def folder() -> Path:
    """Return the folder of the pages."""
    package = Path(prism.__file__).parent
    return next(path for path in (package / "docs", package.parent / "docs") if (path / "tour.md").is_file())


def pages() -> dict[str, Path]:
    """Return all pages by their names: `call-bound`, `partition`, `tour`; of equal ones the first folder's."""
    found: dict[str, Path] = {}
    for name in FOLDERS:
        for path in sorted((folder() / name).glob("*.md")):
            found.setdefault(path.stem, path)
            found.setdefault(f"{name}/{path.stem}".lstrip("/"), path)
    return found


def run_help(options: argparse.Namespace) -> int:
    """Print a page, what `help` says of a name, or the places that have some words."""
    if not options.topic:
        text = read(folder() / "index.md")
        return say(options, text.rstrip(), {"topic": "index", "text": text})
    topic = " ".join(options.topic)
    if (told := page(topic) or name(topic)) is not None:
        return say(options, told.rstrip(), {"topic": topic, "text": told})
    places = search(topic)
    if not places:
        raise CommandError(f"no page is named `{topic}`, and none has these words; `prism help` lists all pages")
    lines = [f"{one['page']}: {one['heading']}\n    {one['line']}" for one in places]
    return say(options, "\n".join([*lines, "", "`prism help PAGE` prints one."]), {"topic": topic, "places": places})


def say(options: argparse.Namespace, text: str, facts: dict[str, Any]) -> int:
    """Print a text, or with --json what is known."""
    write(options, text, facts)
    return DONE


def page(topic: str) -> str | None:
    """Return the text of the page of this name, or None; of a construct and an error of one name both."""
    known, wanted = pages(), topic.removesuffix(".md").removeprefix("docs/")
    found = dict.fromkeys(known[key] for key in (wanted, f"errors/{wanted}") if key in known)
    return "\n".join(read(path) for path in found) or None


def read(path: Path) -> str:
    """Return the text of a page without the comments that mark what is generated."""
    return re.sub(r"^<!--.*?-->\n\n?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def name(topic: str) -> str | None:
    """Return what `help` shows of a name: `atomic_add`, `block.scan`, `lib.sum`."""
    first, *rest = topic.removeprefix("prism.").split(".")
    lang, library = (importlib.import_module(f"prism.{each}") for each in ("lang", "lib"))
    value: Any = getattr(lang, first, None) if first in lang.__all__ else getattr(prism, first, None)
    for each in rest:
        value = getattr(value, each, None)
    if value is None and not rest:
        value = getattr(library, first, None) if first in library.__all__ else None
    if value is None:
        return None
    text = pydoc.plain(pydoc.render_doc(value))
    return text.partition("\n")[2].lstrip("\n")


def search(words: str) -> list[dict[str, str]]:
    """Return the sections that have all the words, those first whose heading has them, or that have them often."""
    wanted = [re.escape(word.lower()) for word in words.split()]
    found = []
    for path in dict.fromkeys(pages().values()):
        for heading, text in sections(path.read_text(encoding="utf-8")):
            low, high = text.lower(), heading.lower()
            counts = [min(len(re.findall(word, low)), 3) + 5 * bool(re.search(word, high)) for word in wanted]
            if all(counts):
                place = path.relative_to(folder()).with_suffix("").as_posix()
                found.append((-sum(counts), place, heading, line(text, wanted)))
    return [{"page": page, "heading": heading, "line": text} for _, page, heading, text in sorted(found)[:SHOWN]]


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the headings of a page with the text below each."""
    parts = re.split(r"^#+ (.+)\n", re.sub(r"<!--.*?-->", "", text), flags=re.MULTILINE)
    yield from zip(parts[1::2], parts[2::2], strict=True)


def line(text: str, wanted: list[str]) -> str:
    """Return the line that has the most of the words."""
    lines = [one.strip() for one in text.splitlines() if one.strip() and not one.startswith("```")]
    best = max(lines, key=lambda one: sum(bool(re.search(word, one.lower())) for word in wanted), default="")
    return best if len(best) <= 110 else f"{best[:107]}..."
