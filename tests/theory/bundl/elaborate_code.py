"""What the elaboration of Prism's core is written in: who runs a piece of code, and how its threads are reached."""

from __future__ import annotations

from dataclasses import fields
from math import gcd
from typing import NamedTuple

from prism.lang.parse import syntax as s
from prism.lang.types.perspective import Perspective
from theory.bundl.perspectives import THREAD, align_corrected
from theory.bundl.syntax import SKIP, Split, Stmt


class NoWord(Exception):
    """Not in the core, or not to be said in Bundl."""


class Code(NamedTuple):
    """Threads of the code's unit, and what its start is known to be a multiple of (0: it is 0)."""

    size: int
    base: int

    def arm(self, start: int, size: int) -> Code:
        """Return the code of an arm that starts there."""
        return Code(size, gcd(self.base, start))


def narrower(part: Perspective, code: Code) -> tuple[Code, int]:
    """Return the code of a part, and how many there are."""
    if part.level != THREAD or code.size % part.size:
        raise NoWord(f"{part} of {code.size} threads")
    base = code.base if part.size == code.size else gcd(code.base, part.size)
    return Code(part.size, base), code.size // part.size


def mentions(term: object, name: str) -> bool:
    """Whether the name stands anywhere in a piece of Prism's syntax."""
    if isinstance(term, s.Name):
        return term.name == name
    if isinstance(term, tuple):
        return any(mentions(part, name) for part in term)
    if isinstance(term, s.Node):
        return any(mentions(getattr(term, field.name), name) for field in fields(term))
    return False


def reach(code: Code, start: int, size: int, body: Stmt) -> Stmt:
    """Return `body` as what `size` threads from `start` run, by splits that align; the others skip."""
    if start == 0 and size == code.size:
        return body
    for left in range(code.size, 0, -1):
        for right in range(code.size - left + 1):
            if not align_corrected(left, right, code.size, code.base):
                continue
            try:
                if start + size <= left and (left, right) != (code.size, 0):
                    return Split(left, 0, reach(Code(left, code.base), start, size, body), SKIP)
                if left <= start and start + size <= left + right:
                    inner = Code(right, gcd(code.base, left))
                    return Split(left, right, SKIP, reach(inner, start - left, size, body))
            except NoWord:
                continue
    raise NoWord(f"no split reaches {size} threads from {start} of {code.size}")
