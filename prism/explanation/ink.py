"""A line of source as runs of characters that look alike: Python's tokens, names by perspective, accesses that are explained."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterator, Mapping

from prism.explanation.model import Line, Spot
from prism.lang.types.perspective import Level, Perspective

Styles = Mapping[int, tuple[tuple[int, int, str], ...]]
"""For each line the runs of its tokens: first column, the one after the last, style."""

_SOFT = {"match", "case"}
_DENTS = (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, tokenize.NL)


def tokens(lines: tuple[Line, ...]) -> Styles:
    """Return what Python's tokens of a function look like; what cannot be read as Python is plain."""
    found: dict[int, tuple[tuple[int, int, str], ...]] = {}
    first = lines[0].number
    try:
        for token in _read([line.text for line in lines]):
            style = _style(token)
            for row in range(token.start[0], token.end[0] + 1) if style else ():
                start = token.start[1] if row == token.start[0] else 0
                end = token.end[1] if row == token.end[0] else len(lines[row - 1].text)
                found[row + first - 1] = (*found.get(row + first - 1, ()), (start, end, style))
    except (tokenize.TokenError, SyntaxError):
        pass  # the lines from there on stay plain
    return found


def _read(texts: list[str]) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of lines that may stand indented, as those of a function inside another do."""
    for token in tokenize.generate_tokens(io.StringIO("\n".join(texts) + "\n").readline):
        if token.type not in _DENTS:
            yield token


def _style(token: tokenize.TokenInfo) -> str:
    match token.type:
        case tokenize.COMMENT:
            return "comment"
        case tokenize.STRING:
            return "string"
        case tokenize.NUMBER:
            return "figure"
        case tokenize.NAME if keyword.iskeyword(token.string) or token.string in _SOFT:
            return "keyword"
        case _:
            return ""


def runs(line: Line, styles: Styles, accesses: tuple[Spot, ...]) -> Iterator[tuple[str, str]]:
    """Yield a line's runs: their text, and the classes that they have."""
    classes: list[dict[str, None]] = [{} for _ in line.text]

    def paint(start: int, end: int, name: str) -> None:
        for at in range(max(0, start), min(end, len(classes))):
            classes[at][name] = None

    for start, end, style in styles.get(line.number, ()):
        paint(start, end, style)
    for name in line.names:
        paint(name.start, name.end, f"name {shade(name.perspective)}")
    for one in accesses:
        paint(one.start, one.end, "access")
    start = 0
    for at in range(1, len(classes) + 1):
        if at == len(classes) or classes[at] != classes[start]:
            yield line.text[start:at], " ".join(classes[start])
            start = at


def shade(perspective: Perspective) -> str:
    """Return the class of a perspective's colour: one for each level, and for the kinds of groups of threads."""
    if perspective.level == Level.GRID:
        return "p-grid"
    if perspective.level == Level.BLOCK:
        return "p-block" if perspective.size == 1 else "p-cluster"
    if perspective.size == 1:
        return "p-thread"
    return "p-warp" if perspective.size == 32 else "p-lanes" if perspective.size < 32 else "p-group"
