"""Faults: each operator makes one change that breaks one rule at a site, and says which code must be reported, and where.

An operator is a generator over a site's possible faults. `insert` puts lines before a statement; `swap` changes a part of a
line. `zz` is a name that no program uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prism.lang import tree
from prism.lang.diagnostics import Span
from prism.lang.types import INT32, Array, Pointer, Scalar
from prism.lang.types.perspective import BLOCK, GRID, THREAD, Level, Perspective
from tests.generated.sites import Site

Lines = list[str]


@dataclass(frozen=True)
class Fault:
    """One change: lines `first .. last - 1` (from 1) become `lines`; then `code` is reported on line `at`."""

    first: int
    last: int
    lines: tuple[str, ...]
    code: str
    at: int


Operator = Callable[[Site, Lines], Iterator[Fault]]
OPERATORS: dict[str, Operator] = {}


def operator(function: Operator) -> Operator:
    """Enter an operator into the table."""
    OPERATORS[function.__name__] = function
    return function


def insert(site: Site, code: str, at: int, *lines: str) -> Iterator[Fault]:
    """Put lines before the site's statement; the fault is on the `at`-th of them."""
    margin = " " * site.statement.span.column
    yield Fault(site.line, site.line, tuple(margin + line for line in lines), code, site.line + at)


def around(site: Site, text: Lines) -> Iterator[str]:
    """Yield the lines that begin what a statement stands in, from the inside, up to its function's."""
    margin = site.statement.span.column
    for line in reversed(text[: site.line - 1]):
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth < margin and not line.lstrip().startswith(")"):  # the end of what a line above begins
            margin = depth
            yield line
            if line.lstrip().startswith("def "):
                return


def is_nested(site: Site, text: Lines) -> bool:
    """Whether a statement is one of a function inside another."""
    return any(line.startswith(" ") for line in around(site, text) if line.lstrip().startswith("def "))


def is_in_loop(site: Site, text: Lines) -> bool:
    """Whether a statement is in a loop of its own function: one that is inside another may be called in a loop of that."""
    return any(line.lstrip().startswith(("for ", "while ")) for line in around(site, text))


def swap(text: Lines, span: Span, new: str, code: str) -> Iterator[Fault]:
    """Replace a span that lies on one line."""
    if span.line == span.end_line:
        line = text[span.line - 1]
        yield Fault(span.line, span.line + 1, (line[: span.column] + new + line[span.end_column :],), code, span.line)


def edit(text: Lines, line: int, pattern: str, new: str, code: str, at: int | None = None) -> Iterator[Fault]:
    """Replace a pattern that stands once on a line."""
    if len(re.findall(pattern, text[line - 1])) == 1:
        changed = re.sub(pattern, new, text[line - 1])
        if changed != text[line - 1]:
            yield Fault(line, line + 1, (changed,), code, at or line)


def numbers(site: Site) -> list[tree.Symbol]:
    """Return the integers in scope that are no loop's variable, parameters included."""
    loops = {way.symbol for way in site.ways if isinstance(way, tree.For)}
    return [s for s in site.visible() if s.type == INT32 and s not in loops]


def pointers(site: Site, *, const: bool) -> list[tree.Symbol]:
    """Return the memory in scope, of numbers."""
    found = [s for s in site.visible() if isinstance(s.type, Pointer) and isinstance(s.type.element, Scalar)]
    return [s for s in found if isinstance(s.type, Pointer) and s.type.const == const]


def broader(unit: Perspective) -> Perspective:
    """Return a perspective above."""
    return BLOCK if unit.level == Level.THREAD else GRID


def misfit(have: int) -> int:
    """Return a size that does not divide `have`."""
    return next(n for n in (have * 2, 7) if have % n)


# -- declarations and assignments (R6, R7, R8, R17, R19) --------------------------------------------------------------


@operator
def declare_broader(site: Site, text: Lines) -> Iterator[Fault]:
    """R6: a local broader than the code."""
    if site.code != GRID:
        yield from insert(site, "decl", 0, f"zz: int @ {broader(site.code)} = 0")


@operator
def widen_declaration(site: Site, text: Lines) -> Iterator[Fault]:
    """R6: a declaration that is there gets a perspective broader than the code."""
    if isinstance(site.statement, tree.Declare) and site.code.level < Level.BLOCK:
        yield from edit(text, site.line, r"@ \w+\[[^\]]*\]", "@ block[1]", "decl")


@operator
def declare_from_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R8: a value that varies within the local's unit."""
    if site.code != THREAD:
        yield from insert(site, "write-down", 0, f"zz: int @ {site.code} = id(thread[1])")


@operator
def assign_from_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R8: the same by assignment."""
    for s in numbers(site):
        if THREAD < s.perspective <= site.code and not s.const:
            yield from insert(site, "write-down", 0, f"{s.name} = id(thread[1])")


@operator
def widen_and_assign(site: Site, text: Lines) -> Iterator[Fault]:
    """R8: an existing declaration's value becomes one that varies."""
    s = site.statement
    if (
        isinstance(s, tree.Declare)
        and s.value is not None
        and s.symbol.type == INT32
        and s.symbol.perspective != THREAD
    ):
        yield from swap(text, s.value.span, "id(thread[1])", "write-down")


@operator
def assign_up(site: Site, text: Lines) -> Iterator[Fault]:
    """R8: a variable broader than the code, assigned inside a group or arm."""
    for s in numbers(site):
        if not s.perspective <= site.code and not s.const:
            yield from insert(site, "write-down", 0, f"{s.name} = 0")


@operator
def assign_const(site: Site, text: Lines) -> Iterator[Fault]:
    """R17: a const local assigned."""
    for s in numbers(site):
        if s.const:
            yield from insert(site, "const", 0, f"{s.name} = 0")


@operator
def index_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R7: a broad array's element chosen by a narrow index."""
    for s in site.visible():
        if (
            isinstance(s.type, Array)
            and len(s.type.shape) == 1
            and s.perspective != THREAD
            and s.perspective <= site.code
        ):
            yield from insert(site, "read-up", 0, f"{s.name}[id(thread[1])] = 0")


@operator
def load_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R19: an index that varies within the local's unit."""
    for s in site.visible():
        kind = s.type
        if isinstance(kind, Pointer) and type(kind.element) is Scalar and site.code <= s.perspective != THREAD:
            flat = s.view is not None or len(kind.shape or (0,)) == 1
            if site.code != THREAD and flat and len(s.view.params if s.view else "i") == 1:
                yield from insert(site, "ptr-read", 0, f"zz: {kind.element} @ {site.code} = {s.name}[id(thread[1])]")


# -- control flow (R9, R10, R11) --------------------------------------------------------------------------------------


@operator
def condition_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R9: a new `if` or `while` whose threads may disagree."""
    if site.code != THREAD:
        for word in ("if", "while"):
            yield from insert(site, "cond", 0, f"{word} id(thread[1]) > 3:", "    pass")
        for s in numbers(site):
            if not site.code <= s.perspective:
                yield from insert(site, "cond", 0, f"if {s.name} > 3:", "    pass")


@operator
def narrow_condition(site: Site, text: Lines) -> Iterator[Fault]:
    """R9: an existing condition becomes one that varies."""
    if isinstance(site.statement, tree.If | tree.While) and site.code != THREAD:
        yield from swap(text, site.statement.condition.span, "id(thread[1]) > 3", "cond")


@operator
def collective_on_condition(site: Site, text: Lines) -> Iterator[Fault]:
    """R9: a collective that only some lanes would reach."""
    if site.bound.thread is not None and site.bound.thread % 32 == 0:
        yield from insert(site, "cond", 0, "zz: int @ thread[1] = warp_sum(1) if id(thread[1]) > 3 else 0")


@operator
def loop_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R10: a new loop whose threads would make different numbers of trips."""
    if site.code != THREAD:
        yield from insert(site, "loop", 0, "for zz in range(id(thread[1])):", "    pass")


@operator
def narrow_loop(site: Site, text: Lines) -> Iterator[Fault]:
    """R10: an existing loop's bound becomes one that varies."""
    if isinstance(site.statement, tree.For) and site.code != THREAD:
        yield from swap(text, site.statement.stop.span, "id(thread[1])", "loop")


@operator
def assign_loop_variable(site: Site, text: Lines) -> Iterator[Fault]:
    """R10: a loop's variable assigned."""
    for way in site.ways:
        if isinstance(way, tree.For) and site.names.get(way.symbol.name) is way.symbol:
            yield from insert(site, "loop", 0, f"{way.symbol.name} = 0")


@operator
def jump_from_group(site: Site, text: Lines) -> Iterator[Fault]:
    """R11: a jump that leaves a group."""
    if is_in_loop(site, text):
        for word in ("break", "continue"):
            yield from insert(site, "jump", 1, "with group(thread[1]):", f"    {word}", "pass")
            yield from insert(site, "jump", 2, "match split(thread):", "    case 1:", f"        {word}", "pass")


@operator
def enclose_jump(site: Site, text: Lines) -> Iterator[Fault]:
    """R11: an existing jump put into a group; a `continue` may leave one behind which nothing follows."""
    if isinstance(site.statement, tree.Break) and text[site.line - 1].strip() == "break":
        yield from edit(text, site.line, r"\bbreak\b", "with group(thread[1]): break", "jump")


@operator
def return_from_group(site: Site, text: Lines) -> Iterator[Fault]:
    """R11: a return that leaves a group, which has no place in a batch."""
    if not any(isinstance(way, tree.Batch) for way in site.ways):
        yield from insert(site, "jump", 1, "with group(thread[1]):", "    return", "pass")


@operator
def return_narrower(site: Site, text: Lines) -> Iterator[Fault]:
    """R8: a result that varies within its unit."""
    s, place = site.statement, site.function.result_perspective
    if isinstance(s, tree.Return) and s.value is not None and place not in (None, THREAD):
        if isinstance(site.function.result, Scalar) and site.function.result.kind != "bool":
            yield from swap(text, s.value.span, "id(thread[1])", "write-down")


# -- perspectives (R2, R3, R4, R12) -----------------------------------------------------------------------------------


@operator
def group_misfit(site: Site, text: Lines) -> Iterator[Fault]:
    """R2: a group whose size does not divide what is guaranteed."""
    if site.bound.thread is not None:
        yield from insert(site, "group", 0, f"with group(thread[{misfit(site.bound.thread)}]):", "    pass")


@operator
def group_broader(site: Site, text: Lines) -> Iterator[Fault]:
    """R2: a group broader than the code."""
    if site.code.level < Level.BLOCK:
        yield from insert(site, "group", 0, "with group(block[1]):", "    pass")


@operator
def change_group(site: Site, text: Lines) -> Iterator[Fault]:
    """R2: an existing group gets another size."""
    s = site.statement
    if isinstance(s, tree.Group) and s.unit.level == Level.THREAD and site.bound.thread is not None:
        size = misfit(site.bound.thread)
        yield from edit(text, site.line, r"group\(\w+\[[^\]]*\]\)", f"group(thread[{size}])", "group")


@operator
def split_too_much(site: Site, text: Lines) -> Iterator[Fault]:
    """R3: cases that need more threads than there are."""
    have = site.bound.thread
    if have is not None:
        lines = ("match split(thread):", f"    case {have}:", "        pass", "    case 1:", "        pass")
        yield from insert(site, "split-sum", 3, *lines)


@operator
def split_level(site: Site, text: Lines) -> Iterator[Fault]:
    """R3: a level that the code does not have."""
    if site.code.level < Level.BLOCK:
        yield from insert(site, "split-sum", 0, "match split(block):", "    case 1:", "        pass")


@operator
def split_misaligned(site: Site, text: Lines) -> Iterator[Fault]:
    """R4: a case that starts at no multiple of its size."""
    if (site.bound.thread or 0) >= 4:
        lines = ("match split(thread):", "    case 1:", "        pass", "    case 2:", "        pass")
        yield from insert(site, "split-align", 3, *lines)


@operator
def shift_split(site: Site, text: Lines) -> Iterator[Fault]:
    """R4: a new first case moves the others off their multiples."""
    s = site.statement
    if isinstance(s, tree.Split) and s.arms and s.arms[0].size > 1:
        line = s.arms[0].span.line
        if text[line - 1].lstrip().startswith("case") and "split(thread)" in text[site.line - 1]:
            margin = " " * (len(text[line - 1]) - len(text[line - 1].lstrip()))
            yield Fault(line, line, (f"{margin}case 1:", f"{margin}    pass"), "split-align", line + 2)


@operator
def id_broader(site: Site, text: Lines) -> Iterator[Fault]:
    """R12: an index of units that the code does not have."""
    if site.code != GRID:
        yield from insert(site, "id", 0, f"zz: int @ thread[1] = id({broader(site.code)})")


@operator
def id_misfit(site: Site, text: Lines) -> Iterator[Fault]:
    """R12: an index of units that are not guaranteed."""
    if site.bound.thread is not None and site.code.level > Level.THREAD:
        yield from insert(site, "id", 0, f"zz: int @ thread[1] = id(thread[{misfit(site.bound.thread)}])")
