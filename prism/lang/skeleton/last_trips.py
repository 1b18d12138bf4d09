"""Loops that are left in their middle, as loops whose trips all go on, and a last trip behind them.

loop: A; if c: B; break     loop: A; C
      C                     if: A; B

What stands in the last trip is written once more: its accesses and loops have numbers of their own, and it is known that it is
another trip than those before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from prism.lang.skeleton.frames import Loop, Made
from prism.lang.types.perspective import GRID, Perspective, meet

Body = tuple[Any, ...]
JUMPS = ("break", "leave")
LOOPS = ("loop", "loop1")


class Unclear(Exception):
    """A jump where it is not said which threads make it."""


@dataclass(slots=True)
class LastTrips:
    """Writes last trips. `made`, `loops`: the kernel's accesses and loops, which grow; `endless`: those that only jumps end."""

    made: list[Made]
    loops: list[Loop]
    endless: set[int]

    def peel(self, body: Body) -> Body:
        """Return a body whose loops are not left in their middle."""
        found: Body = ()
        for s in body:
            inner = tuple(self.peel(p) if is_body(p) else p for p in s)
            found += self.part(inner) if s[0] in LOOPS else (inner,)
        return found

    def part(self, s: Body) -> Body:
        """Return a loop in its parts, if there is a jump out of it."""
        kind, number, by, body = s
        try:
            by = meet(by, *deciders(body))
            last = end_trip(body, by)
        except Unclear:
            return (s,)
        if last is None:
            return (s,)
        go, again = go_on(body), self.copy(last, self.loops[number], {})
        loop = (("loop", number, by, go),) if go else ()
        return (*loop, *again) if number in self.endless else (*loop, ("if", by, again, ()))

    def copy(self, body: Body, ended: Loop, numbers: dict[int, int]) -> Body:
        """Return what stands in the last trip of a loop."""
        return tuple(self.rewrite(s, ended, numbers) for s in body)

    def rewrite(self, s: Any, ended: Loop, numbers: dict[int, int]) -> Any:
        """Return one statement of a last trip."""
        match s:
            case ("acc", i):
                return ("acc", self.access(i, ended, numbers))
            case ("load", m, told, come, *inner):
                return ("load", m, told, come, *(self.access(i, ended, numbers) for i in inner))
            case ("group", kind, *inner):
                return ("group", kind, *(self.access(i, ended, numbers) for i in inner))
            case ("copy", *inner):
                return ("copy", *(self.access(i, ended, numbers) for i in inner))
            case ("loop" | "loop1" as kind, number, by, inner):
                self.loops.append(self.loops[number])
                if number in self.endless:
                    self.endless.add(len(self.loops) - 1)
                return (kind, len(self.loops) - 1, by, self.copy(inner, ended, numbers))
            case _:
                return tuple(self.copy(p, ended, numbers) if is_body(p) else p for p in s)

    def access(self, i: int, ended: Loop, numbers: dict[int, int]) -> int:
        """Return the number of an access in the last trip."""
        if i not in numbers:
            numbers[i] = len(self.made)
            one = self.made[i]
            self.made.append(replace(one, number=numbers[i], ended=one.ended | {ended}))
        return numbers[i]


def is_body(part: object) -> bool:
    """Whether a part of a statement is a list of statements."""
    return isinstance(part, tuple) and (not part or isinstance(part[0], tuple))


def leaves(s: Body, kinds: tuple[str, ...]) -> bool:
    """Whether a statement has a jump that leaves it."""
    if s[0] in kinds or s[0] == "scope":
        return s[0] in kinds
    out = tuple(kind for kind in kinds if kind == "leave") if s[0] in (*LOOPS, "once") else kinds
    return any(leaves(one, out) for part in s if is_body(part) for one in part)


def may_jump(s: Body, kinds: tuple[str, ...] = JUMPS) -> bool:
    """Whether a statement may be a jump of some kinds. Raises Unclear."""
    if s[0] == "if":
        return any(may_jump(one, kinds) for one in (*s[2], *s[3]))
    if s[0] not in kinds and leaves(s, kinds):
        raise Unclear
    return s[0] in kinds


def deciders(body: Body) -> Iterator[Perspective]:
    """Yield who decides on jumps."""
    yield GRID
    for s in body:
        if s[0] == "if" and may_jump(s):
            yield s[1]
            yield from deciders(s[2])
            yield from deciders(s[3])


def go_on(body: Body, kinds: tuple[str, ...] = JUMPS) -> Body | None:
    """Return what is done by who makes no jump of some kinds; None: all do."""
    found: Body = ()
    for s in body:
        if not may_jump(s, kinds):
            found += (s,)
            continue
        if s[0] != "if":
            return None
        then, otherwise = go_on(s[2], kinds), go_on(s[3], kinds)
        if then is None and otherwise is None:
            return None
        if then is None or otherwise is None:
            found += (otherwise if then is None else then) or ()
        elif then or otherwise:
            found += (("if", s[1], then, otherwise),)
    return found


def end_trip(body: Body, by: Perspective) -> Body | None:
    """Return what is done in the last trip, which a jump ends (`leave` ends the function, too); None: there is no jump."""
    found: Body = ()
    for at, s in enumerate(body):
        on = go_on((s,), (*JUMPS, "continue"))
        here = jump(s, by) if may_jump(s) else None
        if here is not None:
            rest = end_trip(body[at + 1 :], by) if on is not None else None
            return (*found, *here) if rest is None or on is None else (*found, ("if", by, here, (*on, *rest)))
        if on is None:
            return None
        found += on
    return None


def jump(s: Body, by: Perspective) -> Body | None:
    """Return what is done on the ways through a statement that end in a jump; None: there is none."""
    if s[0] != "if":
        return (s,) if s[0] == "leave" else ()
    then, otherwise = end_trip(s[2], by), end_trip(s[3], by)
    if then is None or otherwise is None:
        return otherwise if then is None else then
    return (("if", s[1], then, otherwise),)
