"""Groups of `wgmma` in parts: a certificate has a group for each part, and so more groups than the hardware counts.

That is no matter to a wait for all groups. A wait that leaves the newest n under way means the same for both if each of these has
one part. A part that is no group of the hardware's yet is waited for by nobody.
"""

from __future__ import annotations

from typing import NamedTuple

from prism.lang.certify.registers import classes_of
from prism.lang.certify.text import HEADS, Statement
from prism.lang.skeleton.rings import PART, Unsaid

PRODUCTS = "wgmma"


class State(NamedTuple):
    """Where a thread is: whether each of its newest groups has one part, the newest first; and whether a part stands alone."""

    single: tuple[bool, ...] = ()
    alone: bool = False


def join_parts(body: Statement, threads: int) -> Statement:
    """Return a body without the marks of parts. Raises Unsaid where a wait would not mean what it does on the hardware."""
    if not has_parts(body):
        return body
    for who in classes_of(body, threads):
        walk(who, body, State())
    return without_marks(body)


def has_parts(s: Statement) -> bool:
    """Whether parts of groups stand in a statement."""
    return s == PART or any(has_parts(p) for p in s if isinstance(p, tuple) and p and p[0] in (*HEADS, PART[0]))


def without_marks(s: Statement) -> Statement:
    """Return a statement without the marks of parts."""
    return tuple(without_marks(p) if isinstance(p, tuple) and p and p[0] in HEADS else p for p in s if p != PART)


def walk(who: frozenset[tuple[int, int, int]], s: Statement, state: State) -> State:  # noqa: C901
    """Return where threads are behind a statement who satisfy these constraints alone."""
    match s:
        case ("seq", *parts):
            for part in parts:
                state = walk(who, part, state)
            return state
        case ("if", _, then, otherwise):
            one, two = walk(who, then, state), walk(who, otherwise, state)
            if one.alone != two.alone:
                raise Unsaid(3, "a part of a group of `wgmma` under a condition")
            same = next((k for k, (a, b) in enumerate(zip(one.single, two.single, strict=False)) if a != b), None)
            return one if one == two else State(one.single[:same][: len(two.single)], one.alone)
        case ("loop" | "loop1", _, _, inner):
            if state.alone or walk(who, inner, State()).alone:
                raise Unsaid(3, "a group of `wgmma` with parts in a loop and around it")
            return State()
        case ("only", n, lo, hi, inner):
            return walk(who, inner, state) if (n, lo, hi) in who else state
        case ("round", _, inner):
            return walk(who, inner, state)
        case ("group", kind, *_) if kind == PRODUCTS:
            return State((not state.alone, *state.single), alone=False)
        case ("settle", kind, pending) if kind == PRODUCTS:
            newest = state.single[:pending]
            if state.alone or not all(newest) or len(newest) < pending:
                raise Unsaid(3, "a wait for groups of `wgmma` of which some have parts")
            return state
        case _ if s == PART:
            return State(state.single[1:], alone=True)
        case _:
            return state
