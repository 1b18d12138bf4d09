"""Ill-typed neighbours of a well-typed program, and what becomes of them when they run all the same.

API
    mutant(program, shape, rng) -> (Program, rule) | None     one change; the rule whose premise then fails
    fate(program, shape, rng) -> str                          what a run showed, the first that applies of FATES
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from random import Random
from typing import Any

from theory.bundl import syntax as x
from theory.bundl.generate_terms import perspectives_within
from theory.bundl.perspectives import ONE_GRID, Shape
from theory.bundl.soundness import Judge
from theory.bundl.substitute import substitute
from theory.bundl.syntax import Kind, Node, Program, Var
from theory.bundl.typing import corrected, why_not

FATES = ("stuck", "memory", "bounds", "race", "deadlock", "parted", "results", "cut", "lucky")


def mutant(program: Program, shape: Shape, rng: Random, tries: int = 12) -> tuple[Program, str] | None:
    """Return a program that differs in one place and has no type, with the rule that says so."""
    places = [place for place, term in enumerate(x.walk(program.body)) if type(term) in CHANGES]
    for _ in range(tries):
        if rng.random() < 0.03 and program.budget:
            made = replace(program, budget=program.budget - 1)
        elif places:
            body, _ = change(program.body, rng.choice(places), lambda term: CHANGES[type(term)](term, shape, rng))
            made = replace(program, body=body)
        else:
            return None
        why = why_not(corrected, made, shape)
        if why is not None:
            return made, why[0]
    return None


def change(term: Any, place: int, by: Callable[[Any], Node]) -> tuple[Any, int]:
    """Return the term with the one at `place`, counted as `walk` does, changed; and how many there are before what follows."""
    if place == 0:
        return by(term), -1
    place -= 1
    made = {}
    for field in fields(term):
        value = getattr(term, field.name)
        if isinstance(value, tuple):
            items = []
            for item in value:
                if isinstance(item, Node) and place >= 0:
                    item, place = change(item, place, by)
                items.append(item)
            made[field.name] = tuple(items)
        elif isinstance(value, Node) and place >= 0:
            made[field.name], place = change(value, place, by)
    return replace(term, **made), place


def fate(program: Program, shape: Shape, rng: Random, schedules: int = 2, limit: int = 1500) -> str:
    """Run a program that has no type under some schedules, and return what came of it."""
    judge = Judge(program, shape, rules=None)
    most = 0
    for _ in range(schedules):
        judge.sample(rng, limit)
    report = judge.report
    most = report.most_used
    signs = {
        "stuck": bool(report.stuck),
        "memory": most > program.budget,
        "bounds": "bounds" in report.ends,
        "race": report.race,
        "deadlock": "deadlock" in report.ends,
        "parted": bool(report.parted),
        "results": len(report.outcomes) > 1,
        "cut": "cut" in report.ends,
    }
    return next((sign for sign in FATES if signs.get(sign)), "lucky")


# One change for each form. -----------------------------------------------------------------------------------------


def _var(e: Var, shape: Shape, rng: Random) -> Node:
    return rng.choice((Var(e.name[0] + str(rng.randrange(3))), x.Id(), x.Int(1), x.Bool(True)))


def _value(e: Any, shape: Shape, rng: Random) -> Node:
    return rng.choice((x.Id(), x.Int(1), x.Bool(False), x.Float(1.0), Var(f"v{rng.randrange(2)}"), Var("a0")))


def _split(s: x.Split, shape: Shape, rng: Random) -> Node:
    return replace(s, left=rng.randint(0, shape.threads), right=rng.randint(0, shape.threads))


def _destruct(s: x.Destruct, shape: Shape, rng: Random) -> Node:
    return rng.choice((s.body, x.Destruct(s)))


def _group(s: x.Group, shape: Shape, rng: Random) -> Node:
    return rng.choice((s.body, replace(s, parts=rng.randint(0, shape.threads + 1))))


def _assign(s: x.Assign, shape: Shape, rng: Random) -> Node:
    return replace(s, name=rng.choice(("v0", "v1", "i0", "m0")))


def _store(s: x.Store, shape: Shape, rng: Random) -> Node:
    return replace(s, array=Var(rng.choice(("a0", "y0", "y1", "m0"))))


def _declare(s: x.Declare, shape: Shape, rng: Random) -> Node:
    if rng.random() < 0.3:
        return replace(s, type=rng.choice(list(x.Base)))
    return replace(s, at=rng.choice(perspectives_within(ONE_GRID, shape)))


def _alloc(s: x.Alloc, shape: Shape, rng: Random) -> Node:
    return replace(s, kind=rng.choice(list(Kind)))


def _partition(s: x.Partition, shape: Shape, rng: Random) -> Node:
    if rng.random() < 0.4:
        return replace(s, parts=rng.randint(0, 2 * shape.threads))
    return _unwrap(s, shape, rng)


def _claim(s: x.Claim, shape: Shape, rng: Random) -> Node:
    if rng.random() < 0.7:
        return replace(s, size=rng.randint(0, shape.threads), arm=rng.randrange(shape.threads))
    return _unwrap(s, shape, rng)


def _unwrap(s: x.Partition | x.Claim | x.Lower, shape: Shape, rng: Random) -> Node:
    """Drop the change of perspective, or go on with the name that it hides."""
    if rng.random() < 0.5:
        return substitute(s.body, s.name, Var(s.source))
    return replace(s, body=substitute(s.body, s.name, Var(s.source)))


def _if(s: x.If, shape: Shape, rng: Random) -> Node:
    return replace(s, test=x.Cmp("==", rng.choice((Var("v0"), Var("v1"), x.Id())), x.Int(0)))


def _call(s: x.Call, shape: Shape, rng: Random) -> Node:
    return replace(s, args=tuple(rng.sample(s.args, len(s.args))))


def _copy(s: x.Memcpy | x.AsyncMemcpy, shape: Shape, rng: Random) -> Node:
    return replace(s, target=s.source, source=s.target) if rng.random() < 0.5 else replace(s, source="y0")


CHANGES: dict[type, Callable[[Any, Shape, Random], Node]] = {
    Var: _var, x.Int: _value, x.Bool: _value, x.Index: _value, x.Split: _split, x.Destruct: _destruct, x.Group: _group,
    x.Assign: _assign, x.Store: _store, x.Declare: _declare, x.Alloc: _alloc, x.Partition: _partition, x.Claim: _claim,
    x.Lower: _unwrap, x.If: _if, x.Call: _call, x.Memcpy: _copy, x.AsyncMemcpy: _copy,
}  # fmt: skip
