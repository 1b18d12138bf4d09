"""An account as a page: one HTML file that needs nothing else, for the screen and for print. It has no script."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import PurePath

from prism.explanation import ink
from prism.explanation.account import NOT_COMPILED, account
from prism.explanation.graph_map import graph
from prism.explanation.markup import Markup, tag, text
from prism.explanation.memory_map import memory
from prism.explanation.model import Account, Chapter, Entry, Line, Resources, Spot
from prism.explanation.text import describe_count
from prism.lang.tree.plan import Program
from prism.lang.types.perspective import Perspective

_MARKED = re.compile(r"\bline (?P<line>\d+)\b(?! of `)|`(?P<code>[^`]+)`")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What the browser may load for the page: nothing."""


def explain_page(program: Program, resources: Resources | str = NOT_COMPILED) -> str:
    """Return the explanation of a whole program as a page; `resources` is what compiling it said, or why it was not."""
    return render(account(program, resources))


def render(found: Account) -> str:
    """Return an account as a page."""
    title = f"{found.chapters[0].name}, explained"
    head = tag(
        "head", Markup('<meta charset="utf-8">'), Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'), tag("title", title),
        tag("style", Markup(_style() + _hover(found))),
    )  # fmt: skip
    chapters = [_chapter(chapter, f"f{number}") for number, chapter in enumerate(found.chapters)]
    body = tag("body", tag("main", _front(found), *chapters))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


@functools.cache
def _style() -> str:
    return resources.files("prism.explanation").joinpath("page.css").read_text(encoding="utf-8")


def _hover(found: Account) -> str:
    """Return the rules that light up, while the pointer is on what the compiler put in, the two lines that force it."""
    rules = []
    for number, chapter in enumerate(found.chapters):
        for entry in chapter.entries:
            lines = [f"#f{number}-L{s.line}" for s in (entry.first, entry.second) if s is not None and s.here]
            if lines:
                rules.append(f"section:has(#f{number}-{entry.key}:hover) :is({', '.join(dict.fromkeys(lines))})")
    return f"\n{', '.join(rules)} {{ background: var(--lit); }}\n" if rules else ""


# -- front ----------------------------------------------------------------------------------------------------------------


def _front(found: Account) -> Markup:
    entry = found.chapters[0]
    facts = [
        ("Speaks for", entry.bound), ("Functions", str(len(found.chapters))),
        ("Barriers", str(sum(chapter.barriers for chapter in found.chapters))),
        ("Waits", str(sum(chapter.waits for chapter in found.chapters) or "")),
        ("Shared memory", f"{entry.memory or '0 bytes'} a block"), ("Registers", str(found.resources)),
        ("Roles", "; ".join(map(str, entry.duties))),
        ("Template", ", ".join(f"{name}={value}" for name, value in entry.template)),
    ]  # fmt: skip
    listed = tag("dl", *(_fact(name, value) for name, value in facts if value), cls="facts")
    parts = [tag("h1", entry.name), tag("p", f"{_file(entry)}, line {entry.line}", cls="where"), listed]
    if len(found.chapters) > 1:
        parts.append(_contents(found))
    return tag("header", *parts, _legend(found))


def _fact(name: str, value: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value), cls="whole" if len(value) > 60 else None)


def _contents(found: Account) -> Markup:
    names = ("function", "where", "speaks for", "barriers", "a loop's trip", "shared memory")
    rows = [tag("tr", *(tag("th", name, scope="col") for name in names))]
    for order, chapter in enumerate(found.chapters):
        own = [c for c in chapter.counts if c.loop and not c.function]
        trips = "; ".join(f"{c.role}{': ' if c.role else ''}{', '.join(map(str, c.total))}" for c in own)
        place = f"{_file(chapter)}:{chapter.line}"
        number, size = str(chapter.barriers + chapter.waits or ""), f"{chapter.bytes} B" if chapter.bytes else ""
        cells = (place, chapter.bound, number, trips, size)
        linked = tag("td", tag("a", chapter.name, href=f"#f{order}"))
        rows.append(tag("tr", linked, *(tag("td", cell) for cell in cells)))
    return tag("nav", tag("table", rows), cls="contents")


def _file(chapter: Chapter) -> str:
    """Return a file's name with its folder's: not the path on this machine."""
    return "/".join(PurePath(chapter.file).parts[-2:])


def _legend(found: Account) -> Markup:
    used: dict[str, Perspective] = {}
    for chapter in found.chapters:
        for line in chapter.lines:
            for one in (line.perspective, *(name.perspective for name in line.names)):
                used.setdefault(str(one), one)
    order = sorted(used.values(), key=lambda p: (-p.level, -p.size))
    colours = [tag("span", tag("i"), str(one), cls=f"key {ink.shade(one)}") for one in order]
    words = (
        "The background of a line shows the perspective of its code. The colour of a name shows the perspective of what it "
        "stands for. Bars at the left are the scopes around a line: full bars are groups and arms of splits, hollow bars are "
        "partitions and claims."
    )
    return tag("div", tag("div", *colours, cls="keys"), tag("p", words), cls="legend")


# -- a function -----------------------------------------------------------------------------------------------------------


def _chapter(chapter: Chapter, prefix: str) -> Markup:
    where = f"{_file(chapter)}, line {chapter.line} · {chapter.bound}"
    template = "".join(f" · {name}={value}" for name, value in chapter.template)
    parts = [
        tag("h2", tag("a", chapter.name, href=f"#{prefix}"), tag("small", where + template)),
        _source(chapter, prefix),
        *_after(chapter, prefix),
    ]
    return tag("section", *parts, id=prefix)


def _source(chapter: Chapter, prefix: str) -> Markup:
    styles = ink.tokens(chapter.lines)
    deep = max((sum(r.first <= line.number <= r.last for r in chapter.regions) for line in chapter.lines), default=0)
    rows: list[Markup] = []
    force = ""
    for line in chapter.lines:
        rows += (_entry(entry, chapter, prefix) for entry in chapter.entries_at(line.number, "before"))
        shown = str(line.perspective) if line.text.strip() and str(line.perspective) != force else ""
        force = shown or force
        rows.append(_line(line, chapter, prefix, styles, shown))
        rows += (_entry(entry, chapter, prefix) for entry in chapter.entries_at(line.number, "after"))
    return tag("div", *rows, cls="source", style=f"--deep:{deep}")


def _line(line: Line, chapter: Chapter, prefix: str, styles: ink.Styles, shown: str) -> Markup:
    marks = tuple(
        (e, s) for e in chapter.entries for s in (e.first, e.second) if s and s.here and s.line == line.number
    )
    inside = [r for r in chapter.regions if r.first <= line.number <= r.last]
    bars = [
        tag("i", title=r.title, cls=f"{ink.shade(r.perspective)} {'full' if r.code else 'hollow'}"
            f"{' top' if r.first == line.number else ''}")
        for r in inside
    ]  # fmt: skip
    runs = (tag("span", run, cls=cls) if cls else text(run)
            for run, cls in ink.runs(line, styles, tuple(s for _, s in marks)))  # fmt: skip
    indent = len(line.text) - len(line.text.lstrip())
    begun = next((r.title for r in reversed(inside) if r.code and r.first == line.number), None)
    return tag(
        "div",
        tag("a", str(line.number), cls="number", href=f"#{prefix}-L{line.number}"),
        tag("b", shown, title=begun, cls="force"), tag("span", *bars, cls="bars"),
        tag("code", *runs, style=f"--in:{indent + 4}"), tag("span", *_marks(marks, prefix), cls="marks"),
        cls=f"line {ink.shade(line.perspective)}", id=f"{prefix}-L{line.number}",
    )  # fmt: skip


def _marks(marks: tuple[tuple[Entry, Spot], ...], prefix: str) -> Iterator[Markup]:
    """Yield for each kind of access in a line the entries that it forces."""
    for kind in dict.fromkeys(spot.kind for _, spot in marks):
        keys = dict.fromkeys(entry.key for entry, spot in marks if spot.kind == kind)
        yield tag("span", f"{kind} ", *(tag("a", key, href=f"#{prefix}-{key}") for key in keys))


def _entry(entry: Entry, chapter: Chapter, prefix: str) -> Markup:
    joins = f"joins {entry.joins}" if entry.barrier else entry.joins
    title = tag("p", tag("b", entry.key), tag("code", entry.title.replace("`", "")), tag("span", joins), cls="what")
    why: list[Markup] = []
    if entry.first is not None and entry.second is not None:
        then = f" then, {entry.later}, " if entry.later else " then "
        why = [tag("p", _spot(entry.first, prefix), then, _spot(entry.second, prefix), cls="why")]
    elif entry.why:
        why = [tag("p", _links(entry.why, chapter, prefix), cls="why")]
    kind = "wall" if entry.counted else "step"
    return tag("div", title, *why, cls=f"entry {kind}", id=f"{prefix}-{entry.key}", style=f"--in:{entry.column}")


def _spot(spot: Spot, prefix: str) -> Markup:
    words = [f"{spot.kind} of ", tag("code", spot.object)]
    if spot.text.removesuffix("[...]") != spot.object:
        words += [" as ", tag("code", spot.text)]
    place: list[Markup | str] = [
        tag("a", spot.place, href=f"#{prefix}-L{spot.line}") if spot.here else f"line {spot.line}"
    ]
    if spot.owner:
        place += [" of ", tag("code", spot.owner)]
    return tag("span", *words, " (", *place, ")")


def _after(chapter: Chapter, prefix: str) -> Iterator[Markup]:
    """Yield what stands below a function's source: counts, exempt pairs, what is not proved, the pictures."""
    if chapter.entries:
        yield tag("h3", "What a thread meets")
        yield tag("ul", *(tag("li", *_counted(count, chapter, prefix)) for count in chapter.counts), cls="counts")
    if drawn := bool(chapter.graph.edges):
        yield tag("h3", "What may follow what")
        yield tag("figure", graph(chapter.graph, prefix), tag("figcaption", _CAPTION))
    if chapter.unproved:
        yield tag("h3", "Not proved")
        yield tag("ul", *_list_unproved(chapter, prefix))
    if chapter.exempts:
        yield tag("h3", "Conflicts that need no barrier of their own")
        yield _exempts(chapter, prefix)
    if chapter.remarks:
        yield tag("h3", "Rings that threads fill and use")
        yield tag("ul", *(tag("li", _links(f"line {r.line}: {r.text}", chapter, prefix)) for r in chapter.remarks))
    if chapter.memory:
        yield tag("h3", f"Shared memory: {chapter.memory}")
        yield from (tag("p", f"Behind all others: {one}.") for one in chapter.sized)
    if chapter.bytes:
        title = f"{chapter.bytes} bytes of shared memory"
        yield tag("figure", memory(chapter.pieces, chapter.bytes, title), *_reuse(chapter))
    if not (chapter.entries or drawn or chapter.exempts):
        yield tag("p", "No barriers.", cls="quiet")


def _list_unproved(chapter: Chapter, prefix: str) -> Iterator[Markup]:
    """Yield each reason with what it holds for."""
    reasons: dict[str, list[str]] = {}
    for one in chapter.unproved:
        reasons.setdefault(one.reason, []).append(f"{one.what} (line {one.line})")
    for reason, what in reasons.items():
        yield tag("li", _links(f"{'; '.join(what)}: {reason}", chapter, prefix))


_CAPTION = (
    "Boxes are accesses, one column an object, in the order of the program; a strong edge writes. An arrow says that one may "
    "follow the other, and that they conflict: red where a barrier orders them, grey where none of its own is needed, dashed "
    "round a loop. Red lines across are the barriers and waits."
)


def _counted(count: object, chapter: Chapter, prefix: str) -> Iterator[str]:
    loop, function, shown = getattr(count, "loop"), getattr(count, "function"), getattr(count, "text")  # noqa: B009
    role, part = getattr(count, "role"), getattr(count, "part")  # noqa: B009
    if role:
        yield tag("b", role)
        yield ", "
    if loop is None:
        yield "once: "
    else:
        yield "in each trip of the loop on "
        yield f"line {loop} of {function}" if function else _links(f"line {loop}", chapter, prefix)
        yield " "
        yield tag("code", shown)
        yield f", {part}: " if part else ": "
    yield tag("b", describe_count(count))  # type: ignore[arg-type]


def _exempts(chapter: Chapter, prefix: str) -> Markup:
    rows = [tag("tr", *(tag("th", name, scope="col") for name in ("access", "then", "why none is needed")))]
    for one in chapter.exempts:
        pair = (tag("td", _spot(one.first, prefix)), tag("td", _spot(one.second, prefix)))
        rows.append(tag("tr", *pair, tag("td", _links(one.reason, chapter, prefix))))
    return tag("table", rows, cls="exempts")


def _links(words: str, chapter: Chapter, prefix: str) -> Markup:
    """Return words in which each `line 12` of the function leads there, and what stands in backquotes is code."""
    known = {line.number for line in chapter.lines}
    parts: list[str] = []
    end = 0
    for match in _MARKED.finditer(words):
        parts.append(words[end : match.start()])
        if match["code"]:
            parts.append(tag("code", match["code"]))
        else:
            target = f"#{prefix}-L{match['line']}"
            parts.append(tag("a", match[0], href=target) if int(match["line"]) in known else match[0])
        end = match.end()
    return text([*parts, words[end:]])


def _reuse(chapter: Chapter) -> Iterator[Markup]:
    shared = [piece for piece in chapter.pieces if piece.shares]
    if shared:
        words = "; ".join(f"{piece.name} lies in bytes of {', '.join(piece.shares)}" for piece in shared)
        yield tag(
            "figcaption", f"Bytes that are used again, with a barrier between their users where one is needed: {words}."
        )
    elif len(chapter.pieces) > 1:
        yield tag("figcaption", "No byte is used twice.")
    if any(piece.mbarriers for piece in chapter.pieces):
        yield tag("figcaption", _COPIES)


_COPIES = "A ring's copies stand one after the other. Each copy has an mbarrier in each of the arrays of mbarriers."
