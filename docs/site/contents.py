"""The site's table of contents is docs/index.md itself: a caption a heading, a page a link in a list."""

from __future__ import annotations

import re

PAGE = re.compile(r"^- \[[^\]]+\]\(([^)#\s]+)\.md\)", re.MULTILINE)


def contents(text: str) -> dict[str, list[str]]:
    """Return the pages that each section of the index lists."""
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    return {section.partition("\n")[0]: PAGE.findall(section) for section in sections}


def with_contents(text: str) -> str:
    """Return the index with hidden tables of contents behind it."""
    trees = "".join(
        "\n```{toctree}\n:hidden:\n:caption: " + caption + "\n\n" + "\n".join(pages) + "\n```\n"
        for caption, pages in contents(text).items()
        if pages
    )
    return f"{text}\n{trees}"
