"""Turns in a skeleton: a passage is as a ring of one copy with a station for each unit.

The units' ways through it stand one behind the other, each under the constraint that a thread is of that unit: so its threads go
through the text as it is emitted, and what comes later in a round stands later. Unit i waits until all threads of the one before
it have arrived. The first unit's first round waits for nothing: for that the last unit arrives when the kernel begins. That the
unit meets as well, as it does at the hardware's barrier, is not said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prism.lang import tree
from prism.lang.skeleton.pointers import Names
from prism.lang.skeleton.rings import Frame, Rings

Body = tuple[Any, ...]


def passage(rings: Rings, frame: Frame, s: tree.Turns, walks: Names, walk: Callable[[], Body]) -> Body:
    """Return a passage; `walk`: what its body does, `walks`: what its pointers name."""
    if s.number == 1:
        return walk()
    cycle, rows = rings.passage(frame, s)
    found: Body = ()
    for i, way in enumerate(walks.either(*[walk] * s.number)):
        low = s.first + i * s.unit.size
        inner = (("wait", rows[i]), *way, ("tell", rows[(i + 1) % s.number]))
        found = (*found, ("only", 0, low, low + s.unit.size, inner))
    return (("round", cycle, found),)


def hoist(body: Body) -> Body:
    """Return a list in which no round that stands directly under a constraint does: the constraint stands in the round."""
    found: Body = ()
    for s in body:
        if s[0] != "only":
            lists = (isinstance(part, tuple) and bool(part) and isinstance(part[0], tuple) for part in s)
            found = (*found, tuple(hoist(part) if is_list else part for part, is_list in zip(s, lists, strict=True)))
            continue
        head: Body = s[:4]
        kept: Body = ()
        for part in hoist(s[4]):
            if part[0] == "round":
                found = (*found, *_under(head, kept), ("round", part[1], ((*head, part[2]),)))
            kept = () if part[0] == "round" else (*kept, part)
        found = (*found, *_under(head, kept))
    return found


def _under(head: Body, inner: Body) -> Body:
    return ((*head, inner),) if inner else ()


__all__ = ["hoist", "passage"]
