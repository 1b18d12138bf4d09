"""Elements of a page: text is escaped where it comes in, so that no source can break the page or add to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content: TypeAlias = str | Iterable["Content"]


def text(content: Content) -> Markup:
    """Return content as markup: strings are escaped, what is markup stays, sequences are joined."""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return Markup(escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", content)))
    return Markup("".join(map(text, content)))


def tag(name: str, *content: Content, **attributes: object) -> Markup:
    """Return an element. `cls` is `class`, other underscores are hyphens; an attribute that is None is left out."""
    written = (
        f' {"class" if key == "cls" else key.replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{''.join(written)}>{text(content)}</{name}>")
