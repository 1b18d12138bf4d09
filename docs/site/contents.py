"""The site's table of contents is docs/index.md itself: a caption a heading, a page a link in a list.

A page that has a folder of its name beside it, as docs/errors.md has docs/errors, is the index of the pages in that folder.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = re.compile(r"^- \[[^\]]+\]\(([^)#\s]+)\.md\)", re.MULTILINE)


def contents(text: str) -> dict[str, list[str]]:
    """Return the pages that each section of the index lists."""
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    return {section.partition("\n")[0]: PAGE.findall(section) for section in sections}


def below(page: Path) -> list[Path]:
    """Return the pages in the folder of a page's name."""
    return sorted(page.with_suffix("").glob("*.md"))


def with_pages(text: str, page: Path) -> str:
    """Return a page with a hidden table of what is in the folder of its name, if there is one."""
    names = [f"{inner.parent.name}/{inner.stem}" for inner in below(page)]
    return text + ("\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n" if names else "")


def with_contents(text: str) -> str:
    """Return the index with hidden tables of contents behind it."""
    trees = "".join(
        "\n```{toctree}\n:hidden:\n:caption: " + caption + "\n\n" + "\n".join(pages) + "\n```\n"
        for caption, pages in contents(text).items()
        if pages
    )
    return f"{text}\n{trees}"
