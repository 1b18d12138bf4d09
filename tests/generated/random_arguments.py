"""Claims made by chance over types of few bits, arguments for them, and mutants: the checker is compared with brute force.

An argument that the checker accepts is of a claim that no values refute, all of which are tried. A claim, a bound or a step is
then changed; the argument as it was is offered for it. With `--folder` all are written, for both checkers to judge.

python -m tests.generated.random_arguments --count 2000 [--seed 0] [--folder arguments]
make -C theory/proofs compare CERTIFICATES=arguments
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from prism.lang.arguments import find
from prism.lang.certify.arguments import spell
from prism.lang.certify.machine import Claim, Rule, meetings
from prism.lang.certify.steps import OPERATORS, Argument, proves

TYPES = ("u3", "u4", "i4", "u5", "i5", "i6", "u6", "i8")
MOST_PAIRS = 6000
"""Pairs of values that are tried of one claim."""
MUTANTS, TRIED = 20, 3
"""Mutants of an argument; so many of them are compared with brute force."""
LEFT = 8
"""Of claims for which no argument is found, each so many-th is tried by brute force."""


class Drawn:
    """One claim, by its seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def claim(self) -> Claim:
        """Return a claim of few enough values to try all of them."""
        while True:
            found = self._claim()
            if count_pairs(found) <= MOST_PAIRS:
                return found

    def _claim(self) -> Claim:
        draw = self.draw
        vars_ = [(False, 0, draw.choice((3, 5, 7, 7, 15)))]
        for _ in range(draw.randint(0, 2)):
            low = draw.choice((0, 0, 0, 1, -2))
            vars_.append((draw.random() < 0.6, low, low + draw.choice((1, 2, 3, 4))))
        self.vars = vars_
        self.promise = draw.random() < 0.3
        e = self.index()
        second = e if draw.random() < 0.85 else self.index()
        where = [tuple(self.condition() for _ in range(draw.choice((0, 0, 1, 2)))) for _ in (0, 1)]
        if draw.random() < 0.7:
            where[1] = where[0]
        goal: tuple[Any, ...] | None = (("var", 0),)
        agree: tuple[Any, ...] = ()
        kind = draw.random()
        if kind < 0.15:
            goal = (("quo", ("var", 0), draw.choice((2, 4, 3))),)
        elif kind < 0.2:
            goal = None
        if draw.random() < 0.2:
            agree = (("quo", ("var", 0), draw.choice((2, 4))),)
        told: tuple[Rule, ...] = ()
        if draw.random() < 0.15:
            same = self.part(1)
            asked = tuple(self.condition() for _ in range(draw.randrange(2)))
            told = (Rule((asked, asked), ((same, same),), ((("var", 0), ("var", 0)),)),)
        return Claim(tuple(vars_), agree, (where[0], where[1]), ((e, second),), goal, told)

    def condition(self) -> Any:
        """Return a comparison."""
        return self.draw.choice(("less", "atmost", "atmost", "equal")), self.part(1), self.part(1)

    def index(self) -> Any:
        """Return an index: mostly a sum of multiples of parts of the first number and of others, in types."""
        draw = self.draw
        if draw.random() < 0.25:
            return self.part(3)
        by = draw.choice((2, 4, 8))
        t = ("var", 0)
        high, low = ("quo", t, by), ("rem", t, by)
        if draw.random() < 0.3:
            low = (draw.choice(("xor", "xor", "or", "and")), *draw.sample((low, self.part(1), draw.randrange(8)), 2))
        terms = [self.times(high), self.times(low)] if draw.random() < 0.5 else [self.times(t)]
        terms += [self.times(("var", draw.randrange(len(self.vars)))) for _ in range(draw.randint(0, 2))]
        draw.shuffle(terms)
        total = terms[0]
        for term in terms[1:]:
            total = self.fit(("add", total, term))
        return total

    def times(self, e: Any) -> Any:
        """Return a multiple, by a number or by another of the claim's."""
        others = [("var", v) for v, (shared, _, _) in enumerate(self.vars) if shared]
        by = self.draw.choice((1, 1, 2, 3, 4, 5, 8, *others))
        return e if by == 1 else self.fit(("mul", e, by))

    def fit(self, e: Any) -> Any:
        """Return a result as a machine has it: wrapped, said to fit, or as it is."""
        kind = self.draw.random()
        if kind < 0.35:
            return e
        return ("fits" if self.promise and kind < 0.7 else "as", self.draw.choice(TYPES), e)

    def part(self, depth: int) -> Any:
        """Return any expression."""
        draw = self.draw
        if depth == 0 or draw.random() < 0.3:
            return ("var", draw.randrange(len(self.vars))) if draw.random() < 0.7 else draw.randrange(9)
        op = draw.choice(sorted(OPERATORS))
        a = self.part(depth - 1)
        b = draw.choice((1, 2, 3, 4)) if op == "shr" or draw.random() < 0.3 else self.part(depth - 1)
        return self.fit((op, a, b))


def count_pairs(claim: Claim) -> int:
    """Return how many pairs of values two accesses may have."""
    found = 1
    for shared, low, high in claim.vars:
        assert low is not None and high is not None
        found *= (high - low + 1) ** (1 if shared else 2)
    return found


def pairs(claim: Claim) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield all pairs of values that two accesses may have."""
    spans = [range(low, high + 1) for _, low, high in claim.vars]  # type: ignore[arg-type, operator]
    own = [k for k, (shared, _, _) in enumerate(claim.vars) if not shared]
    for one in product(*spans):
        for values in product(*(spans[k] for k in own)):
            two = [*one]
            for k, value in zip(own, values, strict=True):
                two[k] = value
            yield one, tuple(two)


def is_refuted(claim: Claim) -> bool:
    """Whether some values show that a claim is false."""
    return next(meetings(claim, pairs(claim)), None) is not None


def change(draw: random.Random, part: Any) -> Any:
    """Return an expression with a number in it changed, or a type, or an operator."""
    if isinstance(part, int):
        return part + draw.choice((-1, 1, 2)) if draw.random() < 0.7 else part * 2
    head, *rest = part
    if head == "var":
        return part
    k = draw.randrange(len(rest))
    if isinstance(rest[k], str):
        rest[k] = draw.choice(TYPES)
    elif head in OPERATORS and draw.random() < 0.1:
        head = draw.choice(sorted(OPERATORS))
    else:
        rest[k] = change(draw, rest[k])
    return (head, *rest)


def mutant(draw: random.Random, claim: Claim, argument: Argument) -> tuple[Claim, Argument]:
    """Return a claim, or an argument, with something changed."""
    kind = draw.random()
    if kind < 0.3:
        vars_ = [*claim.vars]
        k = draw.randrange(len(vars_))
        shared, low, high = vars_[k]
        assert low is not None and high is not None
        vars_[k] = draw.choice(
            ((shared, low, high + 1), (shared, low - 1, high), (not shared, low, high), (shared, low, 3 * high + 4))
        )
        return replace(claim, vars=tuple(vars_)), argument
    if kind < 0.65:
        (one, two), *others = claim.index
        changed = change(draw, one)
        for _ in range(draw.randrange(3)):
            changed = change(draw, changed)
        return replace(claim, index=((changed, changed if one == two else two), *others)), argument
    if kind < 0.8 and (claim.where[0] or claim.where[1]):
        side = 0 if claim.where[0] else 1
        gone = claim.where[side][1:]
        where = (gone, claim.where[1]) if side == 0 else (claim.where[0], gone)
        return replace(claim, where=where), argument
    steps = [*argument.steps]
    if not steps:
        return replace(claim, goal=None), argument
    k = draw.randrange(len(steps))
    steps[k] = tuple(
        max(0, part + draw.choice((-1, 1))) if isinstance(part, int) and draw.random() < 0.5 else part
        for part in steps[k]
    )
    if steps[k][0] in ("range", "where", "promised"):
        steps[k] = (steps[k][0], steps[k][1] % 2, *steps[k][2:])
    if draw.random() < 0.2:
        del steps[k]
    return claim, replace(argument, steps=tuple(steps))


def judge(seed: int, most: int = MUTANTS) -> Iterator[tuple[str, Claim, Argument]]:
    """Yield what becomes of a claim and of its mutants. A word with `wrong` in it is a fault of the checker."""
    draw = random.Random(seed)
    claim = Drawn(seed).claim()
    argument = find(claim)
    if argument is None:
        word = "left" if seed % LEFT else "left, false" if is_refuted(claim) else "left, though true"
        yield word, claim, Argument((), ())
        return
    yield ("wrong: accepted, false" if is_refuted(claim) else "accepted"), claim, argument
    for number in range(most):
        other, said = mutant(draw, claim, argument)
        if count_pairs(other) > 3 * MOST_PAIRS:
            continue
        accepted = proves(other, said)
        if number >= TRIED:
            yield ("mutant accepted" if accepted else "mutant rejected"), other, said
        elif accepted:
            yield ("wrong: mutant accepted, false" if is_refuted(other) else "mutant accepted, true"), other, said
        else:
            yield ("mutant rejected, false" if is_refuted(other) else "mutant rejected, true"), other, said


def main() -> None:
    """Print how many of each there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mutants", type=int, default=MUTANTS, help="of each argument")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    found: Counter[str] = Counter()
    texts = []
    for seed in range(given.seed, given.seed + given.count):
        for place, (word, claim, argument) in enumerate(judge(seed, given.mutants)):
            found[word] += 1
            if "wrong" in word:
                print(seed, place, word, claim)
            texts.append(spell(f"{seed}.{place}", claim, argument))
    if given.folder is not None:
        given.folder.mkdir(exist_ok=True)
        (given.folder / f"random-{given.seed}.apart").write_text("".join(texts), encoding="utf-8")
    for word, number in found.most_common():
        print(f"{number:8} {word}")


if __name__ == "__main__":
    main()
