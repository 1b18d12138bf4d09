"""Apply what messages propose: the code in a message's help, where its error is, and what the next verdict is.

A help says a change in words, and has its code in backquotes. Where the code is whole, it is put in the place of what the error
marks, of the statement there, of the annotation or the right side of it; an import is added, and a line that is to be removed is.
What makes the error go away, and no other come, is the mend. Words alone are not applied: `WORDS` of test_mends.py counts them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from prism.lang.diagnostics import Error

CODE = re.compile(r"`([^`]+)`")
HOLE = re.compile(r"\.\.\.|…")
"""What a message leaves open."""


@dataclass(frozen=True)
class Edit:
    """Lines `first` to `last` (from 1, both included) become `lines`."""

    first: int
    last: int
    lines: tuple[str, ...]

    def apply(self, lines: list[str]) -> list[str]:
        """Return the text with the edit."""
        return [*lines[: self.first - 1], *self.lines, *lines[self.last :]]


def edits(error: Error, lines: list[str]) -> Iterator[Edit]:
    """Yield the ways in which the code of a help can be put where the error is, the most literal first."""
    help_, span = error.help, error.span
    if not 1 <= span.line <= len(lines):
        return
    line = lines[span.line - 1]
    code, comment = split_comment(line)
    indent = code[: len(code) - len(code.lstrip())]
    if re.search(r"\bremove (the|this) line\b", help_):
        yield Edit(span.line, span.line, (f"{indent}pass",))
    if "remove the `as`" in help_:
        yield Edit(span.line, span.line, (re.sub(r" as \w+", "", code) + comment,))
    places = [span.line, *(label.span.line for label in error.labels if label.span.file == span.file)]
    for text in CODE.findall(help_):
        if HOLE.search(text):
            continue
        yield from by_its_kind(text, help_, span.line, lines)
        if text.startswith(("from ", "import ")):
            yield Edit(1, 1, (lines[0], text))
            continue
        if text.startswith("@"):
            yield from decorated(text, span.line, lines)
            continue
        for name in re.findall(rf"declare `(\w+)` (?:@ [\w\[\]]+ )?as `{re.escape(text)}`", help_):
            yield from redeclared(name, text, lines)
        if span.end_line == span.line:
            yield Edit(span.line, span.line, (code[: span.column] + text + code[span.end_column :] + comment,))
        if parses(text):
            body = code.strip().endswith(":") and not text.endswith(":")
            yield Edit(span.line, span.line, (indent + text + (":" if body else "") + comment,))
        for place in dict.fromkeys(p for p in places if 1 <= p <= len(lines)):
            yield from sides(text, *split_comment(lines[place - 1]), place)
        yield from dropped(text, help_, places, lines)
        if text.startswith("with ") and text.endswith(":"):
            yield wrapped(text, span.line, lines)
    for name, place in re.findall(r"declare `(\w+)` @ (\w+\[\d+\])", help_):
        yield from replaced_places(name, place, lines)
    for place in re.findall(r"or declare (?:it|the result|the parameter) @ (\w+\[\d+\])", help_):
        yield from replaced_place(span.line, place, lines)


def by_its_kind(text: str, help_: str, line: int, lines: list[str]) -> Iterator[Edit]:
    """Yield what some words say to do with a text: `smem=` and `cooperative=` into a decorator, a `-> T @ P` behind a `def`."""
    if re.fullmatch(r"(smem|cooperative)=\w+", text):
        for number, found in enumerate(lines, 1):
            if found.lstrip().startswith("@requires("):
                bare = re.sub(rf",? *{text.partition('=')[0]}=\w+", "", found)
                yield Edit(number, number, (bare.rstrip()[:-1] + f", {text})",))
    if text.startswith("-> "):
        for number, found in enumerate(lines, 1):
            head = re.fullmatch(r"(\s*def .*?\))(?: -> .*?)?:(.*)", found)
            if head:
                yield Edit(number, number, (f"{head[1]} {text}:{head[2]}",))
    if re.fullmatch(r"[A-Z]\w*=[\w.]+", text):
        code, comment = split_comment(lines[line - 1])
        yield Edit(line, line, (code.replace(f", {text.partition('=')[2]})", f", {text})") + comment,))
        yield Edit(line, line, (re.sub(r"\)$", f", {text})", code) + comment,))
        yield Edit(line, line, (re.sub(rf"{text.partition('=')[0]}=[\w.]+", text, code, flags=re.I) + comment,))


def redeclared(name: str, type_: str, lines: list[str]) -> Iterator[Edit]:
    """Yield a name's declaration with another type."""
    for number, line in enumerate(lines, 1):
        new = re.sub(rf"\b{name}: (.+?)(?= @ | =|$|, \w+:|\):)", f"{name}: {type_}", line, count=1)
        if new != line:
            yield Edit(number, number, (new,))


def replaced_places(name: str, place: str, lines: list[str]) -> Iterator[Edit]:
    """Yield a name's declaration at another perspective."""
    for number, line in enumerate(lines, 1):
        found = re.search(rf"\b{name}: [^@=]+", line)
        if found:
            new = line[: found.end()] + re.sub(
                r"^@ [\w\[\]* ]+?(?=,|\)| =|$|  #)", f"@ {place}", line[found.end() :], count=1
            )
            if new == line:
                new = line[: found.end()].rstrip() + f" @ {place} " + line[found.end() :]
            yield Edit(number, number, (new.rstrip(),))


def replaced_place(line: int, place: str, lines: list[str]) -> Iterator[Edit]:
    """Yield a line with another perspective behind its last `@`."""
    code, comment = split_comment(lines[line - 1])
    yield Edit(line, line, (re.sub(r"@ \w+\[[^]]*\](?!.*@ )", f"@ {place}", code) + comment,))


def dropped(text: str, help_: str, places: list[int], lines: list[str]) -> Iterator[Edit]:
    """Yield lines without a text that is to be dropped, or left out; of `const`, without the word around what it holds."""
    around = re.escape(f"`{text}`")
    if not re.search(rf"(drop|remove|leave|without|leave out) {around}|{around} out", help_):
        return
    for number in dict.fromkeys(p for p in places if 1 <= p <= len(lines)):
        code, comment = split_comment(lines[number - 1])
        if text == "const":
            yield Edit(number, number, (re.sub(r"const\(((?:[^()]|\([^()]*\))*)\)", r"\1", code, count=1) + comment,))
            continue
        key = re.escape(text.rstrip("="))
        for pattern in (rf",? *{key}=[^,)]+", rf" *{key}\b", re.escape(text)):
            yield Edit(number, number, (re.sub(pattern, "", code, count=1) + comment,))


def wrapped(head: str, line: int, lines: list[str]) -> Edit:
    """Put a statement, with its body, into a `with`."""
    first = lines[line - 1]
    indent = first[: len(first) - len(first.lstrip())]
    last = line
    while last < len(lines) and (lines[last].startswith(indent + " ") or not lines[last].strip()):
        last += 1
    return Edit(
        line, last, (indent + head, *(("    " + one) if one.strip() else one for one in lines[line - 1 : last]))
    )


def split_comment(line: str) -> tuple[str, str]:
    """Return a line's code, and its comment."""
    at = line.find("  # ")
    return (line, "") if at < 0 else (line[:at], line[at:])


def parses(text: str) -> bool:
    """Whether a text is a statement, or begins one."""
    for one in (text, f"{text}\n    pass", f"{text}:\n    pass"):
        try:
            ast.parse(one)
        except SyntaxError:
            continue
        return True
    return False


def sides(text: str, code: str, comment: str, line: int) -> Iterator[Edit]:
    """Yield the right side of an assignment, and the annotation of a declaration, replaced."""
    found = re.fullmatch(r"(\s*[\w.\[\], ]+?\s*(?::\s*[^=]+?)?\s*(?:[-+*/]?=)\s*)(.+)", code)
    if found:
        yield Edit(line, line, (found[1] + text + comment,))
    declared = re.fullmatch(r"(\s*\w+:\s*)([^=]+?)(\s*=.*)?", code)
    if declared:
        yield Edit(line, line, (f"{declared[1]}{text}{declared[3] or ''}{comment}",))


def decorated(text: str, line: int, lines: list[str]) -> Iterator[Edit]:
    """Yield a decorator put on the function around a line, instead of one of its name or besides."""
    name = text.split("(")[0]
    for start in range(line, 0, -1):
        if re.match(r"\s*(async )?def ", lines[start - 1]):
            first = start
            while first > 1 and lines[first - 2].lstrip().startswith("@"):
                first -= 1
                if lines[first - 1].lstrip().split("(")[0] == name:
                    yield Edit(first, first, (text,))
            yield Edit(first, first, (text, lines[first - 1]))
            return
