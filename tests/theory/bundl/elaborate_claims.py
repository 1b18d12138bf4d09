"""Claims of Prism's, for the elaboration: which arm has a claimed name, and how Bundl gives it the memory.

    with claim(s, thread[1]) as y:            let o = .. {                        -- an offset is evaluated where the claim is
        match split(thread):                    split(2, 0) { .. }
            case 2: ..                          claim p: s as y1 at 2 arm 1 {     -- an arm on the way: it claims for itself
            case 2:                               claim q: y1 as y2 at 1 arm 0 {  -- the arm that has y
                match split(thread):                partition r: y2 as y by 1 at (o, 1, ..) { .. y[0] .. } };
                    case 1: .. y[0] ..            split(1, 1) { skip } { .. } } }
                    case 1: ..

A second claimed name that the same arm has cannot be claimed too, as the code is narrower by then; nor can a name for an arm
that does not divide its code. They become a partition whose parts are all the same, of which the arm uses one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from prism.lang.parse import syntax as s
from tests.theory.bundl.elaborate_code import Code, NoWord, mentions
from theory.bundl import syntax as x
from theory.bundl.syntax import Expr, Stmt, View

LONG = 64  # a view's length, where Prism knows none


class Pending(NamedTuple):
    """A claimed name that no arm has got yet: what it is claimed of, for how many threads, from where on."""

    name: str
    source: str
    unit: int
    offset: str | None

    @property
    def view(self) -> View:
        """The part that is claimed."""
        start: Expr = x.Int(0) if self.offset is None else x.Var(self.offset)
        return View(start, x.Int(1), x.Int(LONG))


def owners(body: s.Body, name: str, unit: int) -> Iterator[s.Case]:
    """R23: yield the arms of that size, outermost on their way, that use the name; NoWord where it is used outside of one."""
    for statement in body:
        if not mentions(statement, name):
            continue
        match statement:
            case s.Split(arms=arms):
                for arm in arms:
                    if isinstance(arm.size, s.Literal) and arm.size.value == unit and mentions(arm.body, name):
                        yield arm
                    else:
                        yield from owners(arm.body, name, unit)
            case s.If(condition=head, then=then, otherwise=otherwise) if not mentions(head, name):
                yield from owners((*then, *otherwise), name, unit)
            case s.While(condition=head, body=inner) if not mentions(head, name):
                yield from owners(inner, name, unit)
            case s.For(body=inner) if not mentions((statement.start, statement.stop, statement.step), name):
                yield from owners(inner, name, unit)
            case s.Partition(body=inner) | s.Claim(body=inner) if not mentions(
                (statement.source, statement.offset), name
            ):
                yield from owners(inner, name, unit)
            case _:
                raise NoWord(f"{name} is used where nobody has it")


def own(claim: Pending, psi: str, fresh: str, number: int, size: int, body: Stmt, psi_too: str) -> Stmt:
    """Return Bundl's claim by that arm: for the name itself where the arm is the claim's unit, else for `fresh`."""
    if size != claim.unit:
        return x.Claim(psi, claim.source, fresh, size, body, number)
    if claim.offset is None:
        return x.Claim(psi, claim.source, claim.name, size, body, number)
    shifted = x.Partition(psi_too, fresh, claim.name, 1, body, claim.view)
    return x.Claim(psi, claim.source, fresh, size, shifted, number)


def part(claim: Pending, psi: str, code: Code, body: Stmt) -> Stmt:
    """Return a partition of which each part is what is claimed."""
    if code.size % claim.unit:
        raise NoWord(f"{claim.unit} of {code.size} threads")
    return x.Partition(psi, claim.source, claim.name, code.size // claim.unit, body, claim.view)
