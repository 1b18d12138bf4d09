"""Jumps of a skeleton as conditions: what stands behind one is for those who have not jumped.

if c: A; break                  if c: A
B                               else: B
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from prism.lang.types.perspective import GRID, Perspective, meet

Body = tuple[Any, ...]
REGISTERS = ("own", "lend", "order")
JUMPS = ("break", "continue", "leave")


def without_registers(body: Body, lent: Collection[int]) -> Body:
    """Return a body without what is done with fragments that products do not touch, and without what is done twice in a row."""
    found: list[Any] = []
    for s in body:
        if s[0] in REGISTERS:
            if lent and (s[0] == "order" or s[2] in lent) and (not found or found[-1] != s):
                found.append(s)
            continue
        inner = tuple(
            without_registers(p, lent) if isinstance(p, tuple) and p and isinstance(p[0], tuple) else p for p in s
        )
        if any(isinstance(part, tuple) and part and isinstance(part[0], tuple) for part in inner) or inner == s:
            found.append(inner)
    return tuple(found)


def breaks_off(body: Body, once: bool = False) -> bool:
    """Whether some loop is left in its middle: as conditions, jumps do not tell that such a trip is the last one.

    `once`: the loop around has one trip.
    """
    for s in body:
        if s[0] == "break" and not once:
            return True
        inside = s[0] == "once" or (once and s[0] not in ("loop", "loop1", "scope"))
        inner = (part for part in s if isinstance(part, tuple) and part and isinstance(part[0], tuple))
        if any(breaks_off(part, inside) for part in inner):
            return True
    return False


def straight(body: Body) -> Body:
    """Return a body without jumps."""
    return _straight(body)[0]


def _straight(body: Body) -> tuple[Body, dict[str, Perspective], bool]:
    """Return a body without jumps; by kind of jump, who decides on it; and whether the end is never reached."""
    found: list[Any] = []
    jumps: dict[str, Perspective] = {}
    for place, s in enumerate(body):
        if s[0] in JUMPS:
            return tuple(found), _with(jumps, s[0], GRID), True
        inner, own, ends = _statement(s)
        for kind, by in own.items():
            _with(jumps, kind, by)
        if not own:
            found += inner
            continue
        rest, more, last = _straight(body[place + 1 :])
        decided = meet(*own.values())
        for kind, by in more.items():
            _with(jumps, kind, meet(by, decided))
        if ends:
            return (*found, *inner), jumps, True
        if s[0] == "if" and len(inner) == 1 and (sides := _sides(s)) != (False, False):
            # One side jumps, and always: the other goes on.
            (_, by, then, otherwise), (left, _) = inner[0], sides
            joined = ("if", by, then, (*otherwise, *rest)) if left else ("if", by, (*then, *rest), otherwise)
            return (*found, *_clean(joined)), jumps, last
        return (*found, *inner, *_clean(("if", decided, rest, ()))), jumps, False
    return tuple(found), jumps, False


def _with(jumps: dict[str, Perspective], kind: str, by: Perspective) -> dict[str, Perspective]:
    jumps[kind] = meet(jumps.get(kind, by), by)
    return jumps


def _sides(s: Body) -> tuple[bool, bool]:
    """Return which one side of a condition always jumps, where the other never does."""
    _, own, ends = _straight(s[2])
    _, others, end = _straight(s[3])
    return (ends and not others, end and not own)


def _clean(s: Body) -> Body:
    return (s,) if s[2] or s[3] else ()


def _statement(s: Body) -> tuple[Body, dict[str, Perspective], bool]:
    match s[0]:
        case "if":
            then, own, ends = _straight(s[2])
            otherwise, more, end = _straight(s[3])
            jumps: dict[str, Perspective] = {}
            for kind, by in (*own.items(), *more.items()):
                _with(jumps, kind, meet(by, s[1]))
            whole = ("if", s[1], then, otherwise)
            return ((whole,) if jumps else _clean(whole)), jumps, ends and end
        case "loop" | "loop1":
            inner, own, _ = _straight(s[3])
            by = meet(s[2], *(by for kind, by in own.items() if kind != "continue"))
            out = {"leave": own["leave"]} if "leave" in own else {}
            out = {kind: meet(unit, by) for kind, unit in out.items()}
            return ((s[0], s[1], by, inner),) if inner else (), out, False
        case "only":
            inner, own, _ = _straight(s[4])
            return ((*s[:4], inner),) if inner else (), own, False
        case "round":
            return (("round", s[1], _straight(s[2])[0]),), {}, False
        case "once":  # a loop of one trip: its jumps go to its end
            inner, own, ends = _straight(s[1])
            out = {"leave": own["leave"]} if "leave" in own else {}
            return inner, out, ends and set(own) == {"leave"}
        case "scope":
            return _straight(s[1])[0], {}, False
        case _:
            return (s,), {}, False
