"""Certificates: what the compiler claims of a kernel's barriers, written down, with what the checker says of it.

`make` reads the skeleton off the lowered program, `pointers` says what its pointers name, `jumps` makes conditions of its jumps,
`premises` has what the prover says of two accesses, `claims` says it again, for a checker that is proved. A fact is written
where the rules of the checker (`prism.lang.certify`) ask for one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prism.lang import tree
from prism.lang.certify import ACCEPTED, Finding, check, run
from prism.lang.certify.arguments import spell
from prism.lang.certify.checker import SAME, Checker
from prism.lang.certify.machine import Claim
from prism.lang.certify.places import ISSUED, events
from prism.lang.certify.steps import Argument
from prism.lang.certify.text import Certificate, Statement, Unit
from prism.lang.facts.budget import most_threads
from prism.lang.keep.memo import memoize
from prism.lang.pipeline import lower
from prism.lang.skeleton.claims import argue, is_owner
from prism.lang.skeleton.clusters import is_near
from prism.lang.skeleton.frames import Object, parting
from prism.lang.skeleton.groups import join_parts
from prism.lang.skeleton.jumps import Body, breaks_off, straight, without_registers
from prism.lang.skeleton.last_trips import LastTrips
from prism.lang.skeleton.make import Beyond, Maker
from prism.lang.skeleton.premises import premise
from prism.lang.skeleton.stages import count_loads, set_stages
from prism.lang.skeleton.turns import hoist
from prism.lang.tree.plan import Lowered, Program
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import BLOCK, GRID, Level, Perspective

MOST = 20_000
"""Facts of one certificate: some two seconds, and a megabyte of text."""
WORDS = ("proved", "inferred", "assumed", "believed")
Arguments = dict[tuple[int, int, int | str], tuple[Claim, Argument]]
SHOWN = 5
"""Facts that nothing proves, so many are told in words."""


@dataclass(frozen=True)
class Certified:
    """A certificate, whose text is its `str`, and what the checker says of it.

    It is for blocks of the most threads that a launch may have. Where it is accepted, it is so for the `fewest` too.
    """

    certificate: Certificate
    finding: Finding
    fewest: int
    arguments: Arguments = field(default_factory=dict)
    """Of the facts that are proved, unless an object's owner says so: what is claimed of the two accesses, and why."""

    @property
    def origins(self) -> dict[str, int]:
        """How many facts of each origin it has."""
        found: dict[str, int] = {}
        for facts in self.certificate.facts.values():
            for _, origin, _ in facts:
                found[origin] = found.get(origin, 0) + 1
        return found

    @property
    def is_narrow(self) -> bool:
        """Whether it is rejected by a rule that is narrower than what the compiler knows: those of rings and of engines."""
        if self.finding.rule not in ("rings", "race", "registers"):
            return False
        return bool(self.certificate.mbarriers) or any(e[0] in ISSUED for e in events(self.certificate.body))

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is said of it in a safety report, as JSON takes it."""
        finding, text = self.finding, str(self.certificate)
        found: dict[str, Any] = {"status": finding.status, "threads": sorted({self.fewest, self.certificate.threads})}
        found |= {"rule": finding.rule} if finding.rule else {}
        found |= {"reason": finding.reason} if finding.reason else {}
        found |= {"facts": self.origins} if finding.status == ACCEPTED else {}
        return {**found, "sha256": hashlib.sha256(text.encode()).hexdigest()}

    @property
    def argued(self) -> str:
        """The arguments of the facts that are proved, as text that both checkers read."""
        return "".join(spell(f"{i} {j} {part}", *said) for (i, j, part), said in self.arguments.items())

    def __str__(self) -> str:
        return str(self.certificate)


def describe(found: Certified) -> str:
    """Return what the checker says of a certificate, for people: one line, and one for each fact that nothing proves."""
    finding, origins = found.finding, found.origins
    if finding.status != ACCEPTED:
        return f"certificate: {finding.status}: {finding.reason}"
    parts = ", ".join(f"{origins[origin]} {origin}" for origin in WORDS if origins.get(origin))
    number = origins.get("runs", 0)
    if not number:
        return f"certificate: accepted{', given facts: ' if parts else ''}{parts}"
    open_facts = list(_unproved(found.certificate))
    shown = (
        open_facts
        if number <= SHOWN + 1
        else [*open_facts[:SHOWN], f"and {number - SHOWN} more, `runs` in --certificate"]
    )
    some = "1 fact holds" if number == 1 else f"{number} facts hold"
    lines = (
        f"certificate: accepted, if {some} that nothing proves, of pairs of accesses that touch one byte:",
        *(f"  {line}" for line in shown),
        "  runs on the reference machine look for races, but test no fact; given other facts: " + (parts or "none"),
    )
    return "\n".join(lines)


def _unproved(certificate: Certificate) -> Iterator[str]:
    """Yield each fact that nothing proves, in words."""
    for (one, two, part), facts in certificate.facts.items():
        for found, origin, _ in facts:
            if origin == "runs":
                left, right = (certificate.accesses[number][2] for number in (one, two))
                pair = f"{left}, by two threads" if one == two else f"{left} and {right}"
                trips = "" if part == SAME else ", in different trips of a loop"
                yield f"{pair}{trips}: {'there are none' if found == 'never' else f'only inside one {_spelled(found)}'}"


def _spelled(found: Unit) -> str:
    return found if isinstance(found, str) else f"{found[0]}[{found[1]}]"


def certify(lowered: Lowered, program: Program | None = None) -> Certified:
    """Return the certificate of a lowered program, with what the checker says.

    `program`: the one that was lowered. Where each role has a body of its own, the certificate is of the text before: a role's
    body does what the whole says of its threads.
    """
    entry = lowered.program.entry
    found = Certificate(entry.name, most_threads(entry) // (entry.bound.thread or 1) * (entry.bound.thread or 1))
    try:
        return _certify(lowered, _whole(lowered.program, program), found)
    except Beyond as beyond:
        found.beyond = beyond.stage, beyond.reason
    except RecursionError:
        found.beyond = 1, "its text is nested too deeply"
    found.facts.clear()
    return Certified(found, check(found), found.threads)


def _whole(emitted: Program, program: Program | None) -> Program:
    """Return the program whose text a certificate is of."""
    if program is None or not any(isinstance(s, tree.Specialise) for s in statements(emitted.entry.body)):
        return emitted
    if any(plan.skews for plan in program.plans.values()):
        raise Beyond(4, "fills that are issued ahead")
    return program


def _certify(lowered: Lowered, program: Program, found: Certificate, peel: bool = False) -> Certified:
    entry = program.entry
    least = entry.bound.thread or 1
    if entry.kind != "global":
        raise Beyond(1, "a device function: it is part of the certificates of kernels that call it")
    maker = Maker(lowered, program)
    text = without_registers(maker.body(), maker.lent)
    if peel:
        text = LastTrips(maker.made, maker.loops, maker.endless).peel(text)
    body = hoist(straight(text))
    if maker.rings.parts and maker.rings.pending:
        raise Beyond(3, "groups of what several statements issue, of which some may be under way behind a wait")
    _describe(found, maker)
    if least < found.threads and any(row.mbarrier and row.mbarrier.per for row in maker.rings.rows.values()):
        raise Beyond(2, "a ring at which as many arrive as a launch has threads")
    found.body = join_parts(_sequence(body), found.threads)
    count_loads(found)
    set_stages(found)
    asking = _Asking(found, maker)
    finding = run(asking)
    if finding.rule == "race" and not peel and breaks_off(text):
        return _certify(lowered, program, Certificate(found.kernel, found.threads), peel=True)
    if finding.rule == "race" and (maker.vague or breaks_off(text)):
        raise Beyond(4, maker.vague or "a jump out of a loop from where not all threads of its code come")
    if finding.status == ACCEPTED and least < found.threads:
        found.threads, most = least, found.threads
        finding = check(found)
        found.threads = most if finding.status == ACCEPTED else least
    return Certified(found, finding, least, asking.arguments)


class _Asking(Checker):
    """The checker as it is while the certificate is written: it asks the prover for each fact that it needs."""

    def __init__(self, certificate: Certificate, maker: Maker) -> None:
        super().__init__(certificate)
        self.maker = maker
        self.arguments: Arguments = {}

    def facts(self, i: int, j: int, part: int | str) -> Iterator[Unit]:
        known = self.certificate.facts
        if (i, j, part) not in known:
            if len(known) >= MOST:
                raise Beyond(1, f"more than {MOST} facts")
            one, two = self.maker.made[i], self.maker.made[j]
            loop = parting(one, two) if part == SAME else self.maker.loops[int(part)]
            found, origin, why = premise(one, two, loop)
            if origin == "proved" and not is_owner(one, two, found):
                argued = argue(one, two, loop, found)
                origin = "inferred" if argued is None else origin
                if argued is not None:
                    self.arguments[i, j, part] = argued
            known[i, j, part] = [(("never" if found is None else unit(found)), origin, why)]
        yield from super().facts(i, j, part)


def _describe(found: Certificate, maker: Maker) -> None:
    """Write the spaces, the objects and the accesses."""
    entry = maker.program.entry
    objects = sorted(maker.objects.values(), key=lambda one: one.number)
    spaces: dict[Perspective, int] = {}
    for one in objects:
        if not one.symbol.parameter:
            owner = _owner(one, objects)
            space = spaces.setdefault(owner, len(objects) + len(spaces) if spaces else 0)
            found.spaces[space] = unit(owner)
            found.objects[one.number] = (space, one.start, one.end, one.name)
            if one.filled is not None:
                found.rings[one.number] = one.filled
            continue
        aliases = (
            found.objects[other.number][0]
            for other in objects[: one.number]
            if other.symbol.parameter and any({one.name, other.name} <= names for names in entry.may_alias)
        )
        space = next(aliases, one.number + 1)
        found.spaces[space] = unit(one.owner)
        found.objects[one.number] = (space, 0, 1, one.name)
    for number, row in enumerate(maker.rings.rows.values()):
        need = maker.rings.need(row)
        found.mbarriers[number] = (
            row.cycle,
            row.copies,
            0 if row.free else 1,
            row.late or 0,
            need,
            row.name,
        )
    for made in maker.made:
        found.accesses[made.number] = (made.object, made.kind, made.words)
        space = found.spaces[found.objects[made.object][0]]
        if space not in ("block", "grid") and space[0] == "cluster" and is_near(made, entry.bound.block or 1):
            found.near.add(made.number)


def _owner(one: Object, objects: list[Object]) -> Perspective:
    """Return whose the bytes of a shared object are: those of a block are its own, unless a cluster's object lies there too."""
    near = [
        other for other in objects if not other.symbol.parameter and other.start < one.end and one.start < other.end
    ]
    return max(BLOCK, one.owner, *(other.owner for other in near), key=lambda p: p.size)


def unit(found: Perspective) -> Unit:
    """Return a perspective as certificates write it."""
    if found.level == Level.THREAD:
        return ("thread", found.size)
    if found == GRID or found.level == Level.GRID:
        return "grid"
    return "block" if found == BLOCK else ("cluster", found.size)


def _sequence(body: Body) -> Statement:
    return ("seq", *map(_statement, body))


def _statement(s: Any) -> Statement:
    match s:
        case ("bar", by, hw):
            return ("bar", unit(by), hw)
        case ("if", by, then, otherwise):
            return ("if", unit(by), _sequence(then), _sequence(otherwise))
        case ("loop" | "loop1" as kind, number, by, inner):
            return (kind, number, unit(by), _sequence(inner))
        case ("round", number, inner):
            return ("round", number, _sequence(inner))
        case ("only", n, lo, hi, inner):
            return ("only", n, lo, hi, _sequence(inner))
        case _:
            return tuple(s)


@memoize
def certificate_of(program: Program) -> Certified:
    """Return the certificate of a program, made once. A fault in the making stops nobody's compile: then nothing is covered.

    The rules of rings are of two directions, filled and free, that are waited for in each round, and they order accesses to rings
    alone; what engines do elsewhere must be apart. The compiler knows more. So what fails them is not covered, and no fault.
    """
    lowered = lower(program)
    try:
        found = certify(lowered, program)
    except Exception as error:
        return _without(program, 1, f"no certificate could be made ({type(error).__name__}: {error})")
    if found.is_narrow:
        what = "a ring" if found.certificate.mbarriers else "an engine"
        return _without(program, 3, f"{what}: {found.finding.reason}")
    return found


def _without(program: Program, stage: int, reason: str) -> Certified:
    found = Certificate(program.entry.name, most_threads(program.entry))
    found.beyond = stage, reason
    return Certified(found, check(found), found.threads)


__all__ = ["Certified", "certificate_of", "certify", "describe", "unit"]
