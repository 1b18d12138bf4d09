"""The rule of blocks of a cluster: where a thread reaches into another block, that block has begun, and has not ended.

It is as if all blocks touched a place of the cluster when they begin and when they end, and as if who reaches into another block
read that place: then rule `race` says the same. Who sends to the others is waited for by all: it is as if it read what they
touch when they begin alone. Names are those of theory/proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prism.lang.certify.places import ISSUED, SENT, Rejected, accesses_of, events
from prism.lang.certify.text import HEADS, Certificate, Statement

LIVES, BEGINS, SENDS = -1, -2, -3
"""Numbers of what is not there: what all blocks touch where they begin and end, where they begin; who sends."""
KEPT = frozenset({"seq", "bar", "if", "loop", "loop1", "only", "round"})


def check_there(checker: Any, make: Callable[[Certificate], Any]) -> None:
    """Rule `there`, of a checker's certificate; `make`: a checker of another one. Raises Rejected."""
    every = list(events(checker.body))
    spaces = [checker.space(i) for s in every for i in accesses_of(s)]
    sizes = {space[1] for space in spaces if space[0] == "cluster"}
    sizes |= {s[1][1] for s in every if s[0] == "bar" and s[2] in SENT}
    for c in sorted(sizes):
        far = {i for s in every for i in accesses_of(s) if reaches(checker, c, i)}
        if any(s[0] in ISSUED and not far.isdisjoint(accesses_of(s)) for s in every):
            raise Rejected("there", "an engine reaches into another block")
        found = make(surround(checker, c, far))
        found.form()
        try:
            found.check(found.body, frozenset(), ())
        except Rejected as rejected:
            raise Rejected("there", f"a block may be missing yet, or gone: {rejected.what}") from None


def reaches(checker: Any, c: int, i: int) -> bool:
    """Whether an access may be to another block's memory, of a cluster of c blocks."""
    return bool(checker.space(i) == ("cluster", c)) and i not in checker.certificate.near


def surround(checker: Any, c: int, far: set[int]) -> Certificate:
    """Return a certificate in which blocks touch a place where they begin and end, and who reaches into others reads it."""
    rows = {i: (LIVES, "read", checker.accesses[i][2]) for i in far} | {
        SENDS: (BEGINS, "read", "that sends to other blocks"),
        LIVES: (LIVES, "atomic", "of all blocks where they begin and end"),
        BEGINS: (BEGINS, "atomic", "of all blocks where they begin"),
    }
    objects = {o: (o, 0, 1, "") for o in (LIVES, BEGINS)}
    body = ("seq", ("acc", LIVES), ("acc", BEGINS), shadow(checker, c, checker.body), ("acc", LIVES))
    spaces = {o: ("cluster", c) for o in objects}
    return Certificate("", checker.threads, spaces, objects, accesses=rows, body=body)


def shadow(checker: Any, c: int, s: Statement) -> Statement:
    """Return a statement with its barriers, and the accesses that reach into other blocks of a cluster."""
    match s:
        case ("acc", i) if reaches(checker, c, i):
            return s
        case ("bar", ("cluster", size), "sent") if size == c:
            return ("acc", SENDS)
        case _ if s[0] not in KEPT:
            return ("seq",)
        case _:
            return tuple(shadow(checker, c, p) if isinstance(p, tuple) and p and p[0] in HEADS else p for p in s)
