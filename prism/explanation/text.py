"""An account as text, for the terminal.

One block a function, the entry first. The perspective stands beside the line where it comes into force; what the compiler put
before a line stands above it: what it is, who joins, and the two accesses that force it. Then what each loop's trip meets, the
conflicts that needed none and why, what is not proved of partitions, and the layout.
"""

from __future__ import annotations

from collections.abc import Iterator

from prism.explanation.account import account
from prism.explanation.model import Account, Chapter, Count, Entry, Resources, pair
from prism.lang.lower.pieces import Piece
from prism.lang.tree.plan import Program


def explain(program: Program, resources: Resources | None = None) -> str:
    """Return the explanation of a whole program; with `resources`, also what compiling it said."""
    return render(account(program) if resources is None else account(program, resources))


def render(found: Account) -> str:
    """Return an account as text."""
    parts = ["\n".join(_chapter(chapter)) for chapter in found.chapters]
    if isinstance(found.resources, Resources):
        parts.insert(0, f"{found.chapters[0].name}: {found.resources}")
    return "\n\n".join(parts) + "\n"


def describe_counts(found: Account) -> str:
    """Return what each function that makes a thread wait makes it meet, once and in each trip of its loops."""
    parts = ["\n".join((_title(chapter), *_counts(chapter, True))) for chapter in found.chapters if _meets(chapter)]
    return "\n\n".join(parts or [f"{found.chapters[0].name}: no barriers"]) + "\n"


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield _title(chapter)
    yield from _source(chapter)
    yield ""
    yield f"  {_number(chapter.barriers, chapter.waits)}"
    yield from _counts(chapter, False)
    if chapter.unproved:
        yield "  not proved:"
        yield from (f"    {one}" for one in chapter.unproved)
    if chapter.exempts:
        yield "  no further barrier for:" if chapter.barriers else "  no barrier for:"
        yield from dict.fromkeys(f"    {pair(e.first, e.second)}: {e.reason}" for e in chapter.exempts)
    if chapter.remarks:
        yield "  rings:"
        yield from (f"    line {r.line}: {r.text}" for r in chapter.remarks)
    if chapter.duties:
        yield "  roles:"
        yield from (f"    {duty}" for duty in chapter.duties)
    if chapter.memory:
        yield f"  shared memory: {chapter.memory}"
        for piece in chapter.pieces:
            shares = f", in the bytes of {', '.join(piece.shares)}" if piece.shares else ""
            yield f"    {piece.start:>7}  {'  ' * piece.depth}{piece.name}, {extent(piece)}{shares}"
        yield from (f"     behind  {one}" for one in chapter.sized)


def extent(piece: Piece) -> str:
    """Return how many bytes a piece has, and what they are the copies of."""
    if piece.copies < 2 and not piece.mbarriers:
        return f"{piece.size} bytes"
    what = f"mbarrier{'s' if piece.copies > 1 else ''}" if piece.mbarriers else "copies"
    return f"{piece.copies} {what} of {piece.stride} bytes, {piece.size} bytes"


def _title(chapter: Chapter) -> str:
    return f"{chapter.name}  ({chapter.file}:{chapter.line}, {chapter.bound})"


def _source(chapter: Chapter) -> Iterator[str]:
    width = len(str(chapter.lines[-1].number))
    wide = max(len(str(line.perspective)) for line in chapter.lines)
    blank = " " * (width + 1 + wide)
    force = ""
    for line in chapter.lines:
        for entry in chapter.entries_at(line.number, "before"):
            yield from _entry(entry, blank)
        now = str(line.perspective)
        shown = now if line.text.strip() and now != force else ""
        force = now if line.text.strip() else force
        yield f"{line.number:>{width}} {shown:<{wide}} | {line.text}".rstrip()
        for entry in chapter.entries_at(line.number, "after"):
            yield from _entry(entry, blank)


def _entry(entry: Entry, blank: str) -> Iterator[str]:
    indent = " " * entry.column
    joins = f"joins {entry.joins}" if entry.barrier else f"by {entry.joins}"
    yield f"{blank} + {indent}{entry.title}  {joins}"
    if entry.reason:
        yield f"{blank} |   {indent}{entry.reason}"


def _number(barriers: int, waits: int) -> str:
    number = "no barriers" if not barriers else f"{barriers} barrier{'s' if barriers > 1 else ''}"
    return number + (f", {waits} wait{'s' if waits > 1 else ''}" if waits else "")


def _meets(chapter: Chapter) -> bool:
    return any(count.total for count in chapter.counts)


def _counts(chapter: Chapter, once: bool) -> Iterator[str]:
    """Yield a line for each loop that meets any; `once`: first what is met outside of loops."""
    for count in chapter.counts:
        if count.loop is None and once:
            yield f"  {_role(count)}once: {describe_count(count)}"
        elif count.loop is not None:
            owner = f" of {count.function}" if count.function else ""
            text = f"`{count.text}`{', ' * bool(count.part)}{count.part}"
            yield f"  {_role(count)}a trip of the loop on line {count.loop}{owner} ({text}): {describe_count(count)}"


def _role(count: Count) -> str:
    return f"{count.role}, " if count.role else ""


def describe_count(count: Count) -> str:
    """Return what a count says, and how much of it is in called functions."""
    total = ", ".join(map(str, count.total)) or "none"
    if count.total == count.own or not count.total:
        return total
    own = ", ".join(map(str, count.own)) or "none"
    return f"{total} ({own} here, the others in what is called)"
