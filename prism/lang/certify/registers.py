"""The rules of registers: what the tensor cores read of a thread's fragments, and add to them, until it has waited.

Products add to the fragments that they write in order. Everything else waits: a thread that reads a fragment waits for the
products that write it, and one that writes it also for those that read it; behind what a thread has done with its registers, and
behind products whose result others read, an `order` comes before the next products. Names are those of theory/proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prism.lang.certify.text import HEADS, Statement

Constraint = tuple[int, int, int]
PRODUCTS = "wgmma"


class Registers(NamedTuple):
    """Of one fragment, what may be so where a thread is.

    `adds`, `reads`: how many groups of products are newer than the newest under way that writes it, or reads it (None: none is).
    `to_add`, `to_read`: the next group does. Since the thread's last `order`: it has written it, looked at it; products have
    added to it, used it.
    """

    adds: int | None = None
    reads: int | None = None
    to_add: bool = False
    to_read: bool = False
    wrote: bool = False
    looked: bool = False
    added: bool = False
    used: bool = False


State = tuple[Registers, bool]


def worse(one: int | None, two: int | None) -> int | None:
    """Return the newer of two groups."""
    return two if one is None else one if two is None else min(one, two)


def either(one: Registers, two: Registers) -> Registers:
    """Return what may be so where two ways meet."""
    if one == two:
        return one
    flags = (a or b for a, b in zip(one[2:], two[2:], strict=True))
    return Registers(worse(one.adds, two.adds), worse(one.reads, two.reads), *flags)


def settle(pending: int, age: int | None) -> int | None:
    """Return what is under way of a group, once a thread has waited."""
    return None if age is None or pending <= age else age


def add_age(now: bool, age: int | None) -> int | None:
    """Return what is under way of a group, once one more is issued."""
    return 0 if now else None if age is None else age + 1


def do_registers(f: int, s: Statement, r: Registers) -> State:
    """Return what a thing that is done makes of a fragment, and whether it may be done."""
    match s:
        case ("own", "read", g) if f == g:
            return r._replace(looked=True), r.adds is None
        case ("own", "write", g) if f == g:
            return r._replace(wrote=True), r.adds is None and r.reads is None
        case ("lend", "write", g) if f == g:
            clean = not (r.wrote or r.looked or r.used)
            return r._replace(to_add=True, added=True), clean and r.reads is None
        case ("lend", "read", g) if f == g:
            return r._replace(to_read=True, used=True), not (r.wrote or r.added) and r.adds is None
        case ("order",):
            added, used = r.added and r.adds is not None, r.used and r.reads is not None
            return r._replace(wrote=False, looked=False, added=added, used=used), True
        case ("group", kind, *_) if kind == PRODUCTS:
            adds, reads = add_age(r.to_add, r.adds), add_age(r.to_read, r.reads)
            return r._replace(adds=adds, reads=reads, to_add=False, to_read=False), True
        case ("settle", kind, pending) if kind == PRODUCTS:
            return r._replace(adds=settle(pending, r.adds), reads=settle(pending, r.reads)), True
        case _:
            return r, True


def walk(who: frozenset[Constraint], f: int, s: Statement, r: Registers) -> State:
    """Return what threads that satisfy these constraints alone have of a fragment behind a statement, and whether it may be done.

    A second walk of a loop says that the first one has what any number of trips may leave.
    """
    match s:
        case ("seq", *inner):
            fine = True
            for part in inner:
                r, good = walk(who, f, part, r)
                fine = fine and good
            return r, fine
        case ("round", _, inner):
            return walk(who, f, inner, r)
        case ("if", _, then, otherwise):
            (one, good), (two, fine) = walk(who, f, then, r), walk(who, f, otherwise, r)
            return either(one, two), good and fine
        case ("loop" | "loop1", _, _, inner):
            again = either(r, walk(who, f, inner, r)[0])
            last, fine = walk(who, f, inner, again)
            return again, fine and either(again, last) == again
        case ("only", n, lo, hi, inner):
            return walk(who, f, inner, r) if (n, lo, hi) in who else (r, True)
        case _:
            return do_registers(f, s, r)


def faults(body: Statement, deeds: Iterable[Statement], threads: int) -> list[int]:
    """Return the fragments that threads touch while products may do so. `deeds`: all that is done."""
    asked = dict.fromkeys(deed[2] for deed in deeds if deed[0] in ("own", "lend"))
    if not asked:
        return []
    classes = classes_of(body, threads)
    return [f for f in asked if not all(walk(who, f, body, Registers())[1] for who in classes)]


def classes_of(body: Statement, threads: int) -> set[frozenset[Constraint]]:
    """Return which of a body's constraints the threads satisfy, once for all who satisfy the same."""
    every = frozenset(constraints(body))
    return {frozenset((n, lo, hi) for n, lo, hi in every if lo <= (t % n if n else t) < hi) for t in range(threads)}


def constraints(s: Statement) -> Iterator[Constraint]:
    """Yield the constraints anywhere in a statement."""
    if s[0] == "only":
        yield s[1], s[2], s[3]
    for part in s[1:]:
        if isinstance(part, tuple) and part and part[0] in HEADS:
            yield from constraints(part)
